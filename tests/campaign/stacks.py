# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random stacks for the campaign: a plugin of nbdkit, filters below and above
the blkhash filter, and their traits.

A trait is a property that changes what can be expected:

    volatile   the image does not have the content of the disk after the end
    maps       the disk is not the image byte for byte
    opaque     clients do not read what is at blkhash's place in the stack
    hides      a change can be acknowledged before blkhash gets the request
    reopens    a connection of a client is several of blkhash's
    fails      requests of a correct client can fail
    lossy      there may be no sum even if the client behaves well
    readonly   clients do not write
    slow       a request starts programs
    late       changes can reach the disk in .close, after blkhash's last
               callback: no connection may be opened meanwhile (see "What is not
               seen" in the manual), and they are lost when the server ends
    lone       one connection at a time
    fua-kills  nbdkit 1.32 can abort by itself at a request with FUA

Some stacks are never made, because no filter can detect what they do (see "What
is not seen" in the manual):

- a plugin that loses writes (null), or has a disk for each connection
  (tmpdisk);
- a plugin with views per connection that advertises multi-conn, by itself or by
  multi-conn-mode=unsafe, or whose flush does not update a view;
- such a plugin below multi-conn-track-dirty=conn or fast, which drop flushes;
  or, between it and blkhash, fuamode=discard, which drops them too, or
  multi-conn-exportname=true, by which a flush counts for one name of the disk;
- cow-on-read: nbdkit 1.32 loses a write if that block is read meanwhile;
- cache, cow and cacheextents over names that are different disks: they have one
  state for all;
- cache-max-size: data that was trimmed below the cache comes back when the
  cache reclaims its blocks, and no request shows that.

Others are never made because they fail by themselves, at least in nbdkit 1.32:
the protect filter, which crashes in zero or trim requests; the scan filter,
whose thread outlives a client that breaks off in the handshake; writes to the
split plugin and through swab-bits=8, which write wrong data.  More are listed
where they are made.
"""

import functools
import gzip
import lzma
import os
import re
import shutil
import struct
import subprocess

import nbd
from filters import ABOVE, BELOW, KB, PLAIN_FILTERS, WEIGHTS, Part, chance


# A disk in a file, by a program for each request: without multi-conn and flush;
# its extents are right but coarse.  Trimmed data is not zero.
SCRIPTS = {
    "get_size": "stat -c %s $IMAGE",
    "pread": "dd if=$IMAGE skip=$4 count=$3 iflag=skip_bytes,count_bytes "
             "status=none",
    "pwrite": "dd of=$IMAGE seek=$4 oflag=seek_bytes conv=notrunc status=none",
    "can_write": "exit 0", "can_trim": "exit 0", "can_zero": "exit 0",
    "can_extents": "exit 0",
    "trim": "printf gone | dd of=$IMAGE seek=$4 oflag=seek_bytes "
            "count=$(($3 < 4 ? $3 : 4)) iflag=count_bytes conv=notrunc "
            "status=none",
    "zero": "dd if=/dev/zero of=$IMAGE seek=$4 count=$3 iflag=count_bytes "
            "oflag=seek_bytes conv=notrunc status=none",
    "extents": "echo $4 $3",
}
MODELS = ("serialize_all_requests", "serialize_requests", "parallel")


class Place:
    """The place of a filter in the stack."""
    above = own_views = has_partition = has_directory = False
    can_flush = True
    content = None              # of the disk when the server starts

    def __init__(self, directory, size):
        self.directory, self.size = directory, size
        self.trigger = os.path.join(directory, "trigger")


class Stack:
    def __init__(self, rng, directory, modules):
        self.rng, self.directory, self.modules = rng, directory, modules
        self.image = os.path.join(directory, "image")
        self.below_server = None        # its arguments, if there is one
        self.names, self.distinct = [""], False
        self.threads = 1                # of a server without clients
        self.size = rng.choice((rng.randrange(1, 1 << 20), 1 << 20,
                                rng.randrange(1 << 20, 3 << 20)))
        self.place = Place(directory, self.size)
        self.plugin = rng.choices(
            [getattr(self, name) for name in PLUGINS],
            [weight if self.works(name) else 0
             for name, weight in PLUGINS.items()])[0]()
        self.below = self.filters(BELOW, (0, 0, 1, 1, 1, 2, 2, 3))
        self.place.above = True
        self.above = self.filters(ABOVE, (0, 0, 0, 0, 1, 1, 2))
        if not self.distinct and chance(rng, 40):
            self.names = ["", "other"]
        self.tls = self.has_tls()
        self.rarely_fail()
        self.traits = set().union(*(part.traits for part in self.parts()))

    def has_tls(self):
        """Clients connect with TLS or without.  With tls-fallback those without
        TLS get another disk: none of ours, or one that does not count."""
        if "--filter=tls-fallback" not in self.modules or \
           not self.modules["tls"] or not chance(self.rng, 5):
            return None
        # Filters above it with one state for all disks would mix the two.
        where = self.rng.choice(([], self.above, self.below))
        if where is self.below and self.above:
            return None
        where.insert(0, Part("tls-fallback", traits="fails"))
        psk = os.path.join(self.directory, "psk")
        with open(psk, "w") as f:
            f.write("alice:0123456789abcdef0123456789abcdef\n")
        return psk

    def rarely_fail(self):
        """Requests that fail are retried a second later."""
        if any(part.name.startswith("retry") for part in self.parts()):
            for part in self.parts():
                part.params = [re.sub(r"rate=\d+%", "rate=1%", param)
                               for param in part.params]

    def works(self, plugin):
        needs = {"compressed": ["--filter=gzip", "--filter=xz"],
                 "pattern": ["pattern"], "directory_of_files": ["file"]}
        return all(name in self.modules
                   for name in needs.get(plugin, [plugin]))

    def parts(self):
        return self.above + self.below + [self.plugin]

    def __getattr__(self, name):
        if name in ("volatile", "maps", "opaque", "hides", "reopens", "fails",
                    "lossy", "readonly", "slow", "late", "lone"):
            return name in self.traits
        raise AttributeError(name)

    def filters(self, choices, numbers):
        rng, chosen = self.rng, []
        used = {part.name for part in getattr(self, "below", [])}
        used |= {x[len("--filter="):] for x in self.plugin_arguments()}
        for _ in range(rng.choice(numbers)):
            make, = rng.choices(choices, [WEIGHTS.get(f, 1) for f in choices])
            parts = make(rng, self.place)
            names = {part.name for part in parts or ()}
            # In nbdkit 1.32 delay finalizes what is below it twice, at which
            # multi-conn aborts; luks crashes when limit refuses a client; and
            # cache aborts if it writes in a flush that retry repeats.
            if not names or names & used or \
               {"delay", "multi-conn"} <= names | used or \
               {"cache", "retry"} <= names | used or \
               {"limit", "luks"} <= names | used:
                continue
            # The list describes the image, and blkhash trusts it.
            if "extentlist" in names | used and \
               any("maps" in part.traits for part in chosen + parts):
                continue
            used |= names
            chosen += parts
        # A filter that fails is below one that retries.
        chosen.sort(key=lambda part: part.name == "error")
        return [p for p in chosen if "--filter=" + p.name in self.modules]

    # ---- Images ----

    def random_content(self, size):
        rng = self.rng
        content = bytearray(size)
        for _ in range(rng.randrange(4)):
            start = rng.randrange(size)
            end = start + rng.randrange(size - start) // 2 + 1
            content[start:end] = rng.randbytes(end - start)
        return content

    def make_image(self, path=None, size=None):
        content = self.random_content(size or self.size)
        if not path and len(content) >= 128 * KB and chance(self.rng, 30):
            self.place.has_partition = True
            start, sectors = 64, len(content) // 512 - 64
            content[446:512] = struct.pack(
                "<B3sB3sII", 0, b"\0\2\0", 0x83, b"\0\2\0", start,
                sectors) + bytes(48) + b"\x55\xaa"
        with open(path or self.image, "wb") as f:
            f.write(content)
        if not path:
            self.place.content = bytes(content)

    # ---- Plugins ----

    def file(self):
        self.make_image()
        return Part("file", self.image)

    def memory(self):
        return Part("memory", str(self.size), traits="volatile")

    def directory_of_files(self):
        """The names are different disks."""
        self.names, self.distinct = ["a", "b"], True
        self.place.has_directory = True
        where = os.path.join(self.directory, "images")
        os.mkdir(where)
        for name in self.names:
            self.make_image(os.path.join(where, name))
        return Part("file", "dir=" + where, traits="maps")

    def split(self):
        paths = [os.path.join(self.directory, "part%d" % i) for i in (0, 1)]
        first = self.rng.randrange(1, self.size + 1)
        self.make_image(paths[0], first)
        self.make_image(paths[1], self.size)
        self.place.size = self.size = first + self.size
        # In nbdkit 1.32 it can crash by itself at a request for extents.
        return Part("--filter=noextents", "split", *paths,
                    traits="readonly maps")

    def nbd(self):
        """The disk is on another server."""
        rng = self.rng
        self.make_image()
        self.below_server = rng.choice((
            ["file", self.image], ["file", self.image],
            ["memory", str(self.size)],
            ["--filter=cache", "file", self.image],
            ["--filter=multi-conn", self.modules["snapshot"],
             "file=" + self.image, "views=own", "model=serialize_requests",
             "multi-conn-track-dirty=off"],
            [self.modules["snapshot"], "file=" + self.image, "views=back",
             "model=serialize_requests"]))
        shared = chance(rng, 50)
        self.threads += shared
        own_views = self.modules["snapshot"] in self.below_server
        self.place.own_views = own_views
        traits = ""
        if self.below_server != ["file", self.image]:
            self.place.content, traits = None, "maps"
        return Part("nbd", "socket=" + os.path.join(self.directory,
                                                    "below.sock"),
                    "shared=" + ("true" if shared else "false"),
                    traits=traits)

    def eval(self):
        self.make_image()
        model = self.rng.choice(MODELS)
        scripts = dict(SCRIPTS, thread_model="echo " + model)
        self.place.can_flush = chance(self.rng, 30)
        if self.place.can_flush:
            scripts.update(can_flush="exit 0", flush="sync -d $IMAGE")
        return Part("eval", *["%s=%s" % item for item in scripts.items()],
                    traits="slow")

    def sh(self):
        self.make_image()
        self.place.can_flush = False
        script = os.path.join(self.directory, "disk.sh")
        model = self.rng.choice(MODELS)
        with open(script, "w") as f:
            f.write("#!/bin/sh\ncase $1 in\n")
            for method, command in dict(SCRIPTS,
                                        thread_model="echo " + model).items():
                f.write("  %s) %s ;;\n" % (method, command))
            f.write("  *) exit 2 ;;\nesac\n")
        os.chmod(script, 0o700)
        return Part("sh", script, traits="slow")

    def snapshot(self):
        """Connections with their own views, or without."""
        rng = self.rng
        self.make_image()
        views = rng.choice(("shared", "own", "own", "back", "back", "back"))
        flush = rng.choice(("fresh", "fresh", "fresh", "none", "refused",
                            "eio"))
        model = rng.choice(("serialize_connections", "serialize_all_requests",
                            "serialize_requests", "serialize_requests",
                            "parallel" if views == "shared"
                            else "serialize_requests"))
        self.place.own_views = views != "shared"
        traits = set()
        self.place.can_flush = flush != "none"
        if flush != "fresh":
            traits.add("fails")
            if views != "shared":
                traits.add("lossy")
        if flush in ("none", "refused"):
            traits.add("fua-kills")
        if views == "back" and flush in ("none", "refused"):
            traits.add("late")
        if model == "serialize_connections":
            traits.add("lone")
        params = ["file=" + self.image, "views=" + views, "flush=" + flush,
                  "model=" + model,
                  "fast-zero=" + rng.choice(("true", "false", "half")),
                  "extents=" + rng.choice(("true", "true", "false"))]
        if views == "shared" and chance(rng, 30):
            params.append("multi-conn=false")
        return Part(self.modules["snapshot"], *params,
                    traits=" ".join(traits))

    def compressed(self):
        """Read-only, decompressed by a filter."""
        self.make_image()
        kind = self.rng.choice(("gzip", "xz"))
        compress = gzip.compress if kind == "gzip" else lzma.compress
        with open(self.image, "wb") as f:
            f.write(compress(self.place.content))
        part = Part("--filter=" + kind, "file", self.image,
                    traits="readonly maps")
        return part

    def luks(self):
        """A disk whose content is encrypted."""
        master = self.modules["luks"]()
        if not master:
            return self.file()
        shutil.copyfile(master, self.image)
        self.size = self.place.size = LUKS_SIZE
        return Part("--filter=blocksize", "--filter=luks", "file", self.image,
                    "minblock=512", "passphrase=secret", traits="maps")

    def pattern(self):
        # Not sparse-random, whose content depends on how it is read.
        return Part("pattern", str(self.size), traits="readonly maps")

    # ---- Arguments of nbdkit ----

    def plugin_arguments(self):
        return [self.plugin.name, *self.plugin.params]

    def arguments(self, blkhash, parameters):
        """Arguments with the blkhash filter; the plugin's own filters come
        directly above it."""
        tls = ["--tls=on", "--tls-psk=" + self.tls] if self.tls else []
        return ([*tls, *("--filter=" + p.name for p in self.above),
                 "--filter=" + blkhash] + self.arguments_below(self.below) +
                parameters + [x for p in self.above for x in p.params])

    def arguments_below(self, below):
        return (["--filter=" + p.name for p in below] +
                self.plugin_arguments() + [x for p in below for x in p.params])

    def arguments_again(self):
        """Arguments for a server that shows, afterwards, what is at blkhash's
        place."""
        return ["-r"] + self.arguments_below(
            [p for p in self.below if "maps" in p.traits])

    def is_plain(self):
        """No part of the stack should make a sum be lost."""
        return self.plugin.name in ("file", "memory", "eval", "sh", "nbd") and \
            not self.below_has_views() and not self.distinct and \
            not self.tls and \
            {p.name for p in self.above + self.below} <= PLAIN_FILTERS

    def below_has_views(self):
        return self.below_server and len(self.below_server) > 2

    def __str__(self):
        def say(part):
            name = os.path.basename(part.name)
            if "eval" in name:
                return "eval"
            return " ".join([name] + [p.replace(self.directory + "/", "")
                                      for p in part.params])
        return " | ".join([say(p) for p in self.above] + ["BLKHASH"] +
                          [say(p) for p in self.below + [self.plugin]])


PLUGINS = {"file": 6, "memory": 4, "directory_of_files": 1, "split": 1,
           "nbd": 3, "eval": 1, "sh": 1, "snapshot": 10, "compressed": 0.5,
           "luks": 0.5, "pattern": 0.5}

LUKS_SIZE = 1 << 20


def make_luks_image(directory):
    """This takes seconds.  Returns None if qemu-img fails, which it does at
    times because it measures the speed of the CPU."""
    image = os.path.join(directory, "luks")
    done = subprocess.run(
        ["qemu-img", "create", "-q", "-f", "luks", "--object",
         "secret,id=s,data=secret", "-o", "key-secret=s,iter-time=10",
         image, str(LUKS_SIZE)], stderr=subprocess.DEVNULL)
    return image if done.returncode == 0 else None


def find_modules(directory, snapshot, scripts):
    """The modules of nbdkit that are installed, and what the plugins above
    need."""
    config = subprocess.check_output(["nbdkit", "--dump-config"], text=True)
    config = dict(line.split("=", 1) for line in config.splitlines())
    modules = {"--filter=" + name[len("nbdkit-"):-len("-filter.so")]: True
               for name in os.listdir(config["filterdir"])}
    for name in os.listdir(config["plugindir"]):
        modules[name[len("nbdkit-"):-len("-plugin.so")]] = True
    modules["snapshot"] = snapshot
    modules["tls"] = config["tls"] == "yes" and nbd.NBD().supports_tls()
    if not scripts:
        modules.pop("eval", None)
        modules.pop("sh", None)
    if "--filter=luks" in modules and shutil.which("qemu-img"):
        modules["luks"] = functools.cache(lambda: make_luks_image(directory))
    return modules
