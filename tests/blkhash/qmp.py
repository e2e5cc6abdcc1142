#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""qmp.py SOCKET < COMMANDS: run commands of QMP, which are JSON objects one
after the other.  Fails at the first error.

Commands that end something wait for its event.
"""

import json
import socket
import sys

EVENTS = {"block-export-del": "BLOCK_EXPORT_DELETED",
          "block-job-cancel": "BLOCK_JOB_CANCELLED"}


def documents(text):
    decoder, text = json.JSONDecoder(), text.lstrip()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].lstrip()


def main():
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.settimeout(300)
        monitor.connect(sys.argv[1])
        stream = monitor.makefile("rw")
        stream.readline()       # the greeting
        commands = [{"execute": "qmp_capabilities"},
                    *documents(sys.stdin.read())]
        for command in commands:
            stream.write(json.dumps(command) + "\n")
            stream.flush()
            wanted = {"return", EVENTS.get(command["execute"], "return")}
            while wanted:
                reply = json.loads(stream.readline())
                if "error" in reply:
                    sys.exit("%s: %s" % (command, reply["error"]["desc"]))
                wanted.discard(reply.get("event", "return"))


main()
