# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plugin for nbdkit that reads a backup of KubeVirt in pull mode.

    rm -f changed.json &&
    nbdkit -U - python kubevirt-pull.py map=URL data=URL cacert=FILE \\
           token-file=FILE changed=changed.json \\
           --run 'blkhash update --changed changed.json --manifest new.blkm \\
                                 old.blkm "$uri"'

map, data    the endpoints of a volume, and cacert the certificate, in the
             status of the VirtualMachineBackup
token-file   a file with the token in its tokenSecretRef: never an argument,
             which others can see, and never in a message
changed      a file to create, with what an incremental backup changed, as
             nbdinfo prints it.  old.blkm is the manifest of the backup that it
             is based on.  Without it, also for a full backup:
             size=BYTES --run 'blksum --manifest old.blkm "$uri"'
size         of the volume, required without "changed": a map that ends early
             looks like that of a smaller disk ("blkhash update" compares the
             size with that of old.blkm)
timeout      seconds without a byte from the server; default 60

The map has pages, each with the offset of the next one.  nbdkit runs nothing,
and exits with status 1, if a page is missing or cut off, or if ranges overlap or
have gaps.  A full map has the same form, in which type 1 is a hole instead of
changed data: only the descriptions tell.  So each range must have the type of
its description, and with "changed" a full map is refused, and one that can be
either.  Unknown members are ignored.

A read that fails is an I/O error for the client; see nbdkit-retry-filter(1).

The format is known from the source of KubeVirt only (virt-exportserver, in
2026), in which it is not stable yet.  No cluster was run.
"""

import bisect
import builtins
import http.client
import json
import re
import ssl
import sys
import urllib.parse
from typing import Any, Optional

import nbdkit  # type: ignore

API_VERSION = 2
# An error is a message to the user.
sys.tracebacklimit = 0

TOKEN_HEADER = "x-kubevirt-export-token"
PAGE_BYTES = 64 * 1024 ** 2     # the longest page
DIRTY, ZERO = 1, 2              # bits of a type
INCREMENTAL = {"clean": 0, "dirty": DIRTY, "zero": ZERO,
               "dirty,zero": DIRTY | ZERO}
FULL = {"data": 0, "hole": 1, "zero": ZERO, "hole,zero": 1 | ZERO}

settings = {"timeout": "60"}
token = ""
starts: list[int] = []          # of the ranges of the map
ranges: list[tuple[int, int, int]] = []     # start, length, type
size = 0


class Failure(Exception):
    """A reply that cannot be used."""


class Endpoint:
    """A connection for the requests of one URL, by one thread at a time."""

    def __init__(self, name: str) -> None:
        parts = urllib.parse.urlsplit(settings[name])
        if parts.scheme != "https" or not parts.hostname \
           or "@" in parts.netloc or parts.query or parts.fragment:
            raise Failure(f"{name} is not https://HOST[:PORT]/PATH")
        self.name = name
        self.path = parts.path
        self.connection = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=float(settings["timeout"]),
            context=ssl.create_default_context(cafile=settings.get("cacert")))

    def get(self, **query: int) -> http.client.HTTPResponse:
        """The reply to a request; no redirection is followed.

        The connection is used again if all of the reply is read.
        """
        is_new = self.connection.sock is None
        try:
            self.connection.request(
                "GET", f"{self.path}?{urllib.parse.urlencode(query)}",
                headers={TOKEN_HEADER: token})
            reply = self.connection.getresponse()
        except ConnectionError:
            # A server can close a connection that was idle.
            self.connection.close()
            if is_new:
                raise
            return self.get(**query)
        if reply.status != http.HTTPStatus.OK:
            raise Failure(f"{self.name} at {query['offset']}: the server says "
                          f"{reply.status}")
        return reply

    def get_page(self, offset: int) -> Any:
        text = self.get(offset=offset).read(PAGE_BYTES)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise Failure(f"map at {offset}: not JSON") from None

    def read(self, buffer: memoryview, offset: int) -> None:
        reply = self.get(offset=offset, length=len(buffer))
        done = 0
        while done < len(buffer):
            count = reply.readinto(buffer[done:])
            if count == 0:
                raise Failure(f"data at {offset}: {done} bytes instead of "
                              f"{len(buffer)}")
            done += count
        if reply.read(1):
            raise Failure(f"data at {offset}: more than {done} bytes")


def number(extent: Any, key: str) -> int:
    value = extent.get(key) if isinstance(extent, dict) else None
    if type(value) is not int or value < 0:
        raise Failure(f"map at {size}: a range without the number '{key}'")
    return value


def read_map(endpoint: Endpoint) -> bool:
    """Sets starts, ranges and size; returns whether it is incremental."""
    global size
    in_full = in_incremental = True
    next_offset: Optional[int] = 0
    while next_offset is not None:
        page = endpoint.get_page(size)
        if not isinstance(page, dict) or "next_offset" not in page \
           or not isinstance(page.get("extents"), list) or not page["extents"]:
            raise Failure(f"map at {size}: it has no page that begins there")
        for extent in page["extents"]:
            start = number(extent, "offset")
            length = number(extent, "length")
            kind = number(extent, "type")
            if start != size or length == 0:
                raise Failure(f"map at {size}: it has no range that begins "
                              "there")
            description = extent.get("description")
            in_full &= FULL.get(description) == kind
            in_incremental &= INCREMENTAL.get(description) == kind
            starts.append(start)
            ranges.append((start, length, kind))
            size += length
        next_offset = page["next_offset"]
        if next_offset is not None and next_offset != size:
            raise Failure(f"map at {size}: the next page begins at "
                          f"{next_offset}")
    if not in_full and not in_incremental:
        raise Failure("the map has types that are unknown")
    return in_incremental and not in_full


def thread_model() -> int:
    # An endpoint for each connection of the client.
    return int(nbdkit.THREAD_MODEL_SERIALIZE_REQUESTS)


def config(key: str, value: str) -> None:
    if key not in ("map", "data", "token-file", "cacert", "changed", "size",
                   "timeout"):
        raise Failure(f"unknown parameter '{key}'")
    settings[key] = value


def config_complete() -> None:
    global token
    last = "size" if "changed" not in settings else "map"
    for key in "map", "data", "token-file", last:
        if key not in settings:
            raise Failure(f"the parameter '{key}' is missing")
    with builtins.open(settings["token-file"]) as file:
        token = file.read().strip()
    # http.client would show another one in its message.
    if not re.fullmatch("[!-~]+", token):
        raise Failure("token-file has no token")


def get_ready() -> None:
    is_incremental = read_map(Endpoint("map"))
    if "size" in settings and nbdkit.parse_size(settings["size"]) != size:
        raise Failure(f"the map ends at {size}, and not at "
                      f"{settings['size']}")
    if "changed" in settings:
        if not is_incremental:
            raise Failure("the map is not that of an incremental backup, so "
                          "it does not show what has changed")
        # An older list is never replaced: it could be taken for this one.
        with builtins.open(settings["changed"], "x") as file:
            json.dump([{"offset": start, "length": length, "type": kind & DIRTY,
                        "description": "dirty" if kind & DIRTY else "clean"}
                       for start, length, kind in ranges], file)


def open(readonly: bool) -> Endpoint:
    return Endpoint("data")


def close(endpoint: Endpoint) -> None:
    endpoint.connection.close()


def get_size(endpoint: Endpoint) -> int:
    return size


def can_multi_conn(endpoint: Endpoint) -> bool:
    return True


def extents(endpoint: Endpoint, count: int, offset: int,
            flags: int) -> list[tuple[int, int, int]]:
    """Ranges that read as zeros: a hole alone can have any content."""
    first = bisect.bisect_right(starts, offset) - 1
    last = bisect.bisect_left(starts, offset + count)
    return [(start, length, nbdkit.EXTENT_ZERO if kind & ZERO else 0)
            for start, length, kind in ranges[first:last]]


def pread(endpoint: Endpoint, buffer: memoryview, offset: int,
          flags: int) -> None:
    try:
        endpoint.read(buffer, offset)
    except Exception:
        # What is left of the reply must not be taken for the next one.
        endpoint.connection.close()
        raise
