# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The filters of nbdkit that the campaign puts below and above blkhash, with
random parameters.  stacks.py describes the traits, and what is left out.

Each is a function of (rng, place), where PLACE describes its place in the
stack.  It returns parts, ordered from the client to the plugin, or None if it
makes no sense there."""

import os

KB = 1024


class Part:
    """A plugin or filter, its parameters and traits."""

    def __init__(self, name, *params, traits=""):
        self.name, self.params = name, list(params)
        self.traits = set(traits.split())


def chance(rng, percent):
    return rng.randrange(100) < percent


def maybe(rng, *params):
    return [p for p in params if chance(rng, 50)]


def simple(name, *choices, traits="", above=""):
    """A filter with one of these lists of parameters; ABOVE are its traits if
    it is above blkhash."""
    def make(rng, place):
        params = rng.choice(choices) if choices else ()
        return [Part(name, *params, traits=above if place.above else traits)]
    make.__name__ = name
    return make


def cache(rng, place):
    if place.has_directory:
        return None
    modes = ["writeback", "unsafe"]
    if place.can_flush:         # otherwise nbdkit 1.32 aborts
        modes.append("writethrough")
    return [Part("cache", "cache=" + rng.choice(modes),
                 "cache-on-read=" + rng.choice(("true", "false")),
                 "cache-min-block-size=" + rng.choice(("4k", "64k")),
                 traits="fua-kills " + ("opaque hides" if place.above
                                        else "volatile"))]


def cow(rng, place):
    if place.has_directory:
        return None
    return [Part("cow", *maybe(rng, "cow-on-cache=true",
                               "cow-block-size=4k"),
                 traits="opaque hides" if place.above else "volatile")]


def error(rng, place):
    rate = "%d%%" % rng.choice((2, 10, 40))
    # Not for .cache: the filter crashes by itself if readahead calls that.
    kinds = rng.choice((("-pread",), ("-pwrite",), ("-zero", "-trim"),
                        ("-extents",), ("-pwrite", "-zero", "-trim")))
    return [Part("error", "error-file=" + place.trigger,
                 *["error%s-rate=%s" % (kind, rate) for kind in kinds],
                 traits="fails")]


def retry(rng, place):
    return [Part("retry", "retries=%d" % rng.randrange(1, 3), "retry-delay=1",
                 "retry-exponential=no",
                 traits="fails fua-kills reopens" if place.above
                 else "fails fua-kills")]


def retry_request(rng, place):
    return [Part("retry-request",
                 "retry-request-retries=%d" % rng.randrange(1, 3),
                 "retry-request-delay=1", traits="fails")]


def delay(rng, place):
    params = ["wdelay=%dms" % rng.randrange(5),
              "delay-open=%dms" % rng.randrange(5)]
    if place.above:             # below, it fails after a disconnect
        params.append("rdelay=%dms" % rng.randrange(3))
    else:
        params.append("delay-close=%dms" % rng.randrange(20))
    return [Part("delay", *params, traits="fails")]


def offset(rng, place):
    if place.size < 2 * KB:
        return None
    start = rng.choice((1, 512, 4096, 65536, rng.randrange(1, place.size)))
    start = min(start, place.size - 1)
    params = ["offset=%d" % start]
    if chance(rng, 50):
        params.append("range=%d" % rng.randrange(1, place.size - start + 1))
    return [Part("offset", *params, traits="maps opaque" if place.above
                 else "maps")]


def partition(rng, place):
    if not place.has_partition:
        return None
    return [Part("partition", "partition=1",
                 traits="maps opaque" if place.above else "maps")]


def truncate(rng, place):
    param = rng.choice(("truncate=%d" % rng.randrange(1, 2 * place.size),
                        "round-up=64k", "round-up=512", "round-down=512"))
    if param.startswith("round-down") and place.size < 512:
        return None
    # Zeros beyond the end are discarded.
    return [Part("truncate", param, traits="fails maps opaque hides"
                 if place.above else "fails maps")]


def swab(rng, place):
    if place.size < 8:
        return None
    # As for blocksize below.
    return [Part("blocksize", "minblock=512",
                 traits="maps hides" if place.above else "maps"),
            Part("swab", "swab-bits=%d" % rng.choice((16, 32, 64)),
                 traits="maps opaque" if place.above else "maps")]


def blocksize(rng, place):
    return [Part("blocksize",
                 "minblock=%d" % rng.choice((1, 512, 4096, 65536)),
                 "maxdata=%d" % rng.choice((65536, 1 << 20, 64 << 20)),
                 "maxlen=%d" % rng.choice((65536, 1 << 30)),
                 # It rounds the size down, and drops small trims.
                 traits="maps opaque hides" if place.above else "maps")]


def blocksize_policy(rng, place):
    # The blocksize filter rounds the size down to the minimum request.
    smallest, policy = rng.choice(((1, "allow"), (1, "error"), (512, "allow")))
    if place.size % smallest != 0:
        smallest = 1
    return [Part("blocksize-policy", "blocksize-minimum=%d" % smallest,
                 "blocksize-preferred=4096", "blocksize-maximum=1M",
                 "blocksize-error-policy=" + policy, traits="fails")]


def extentlist(rng, place):
    """The list is right when the server starts, and wrong where clients
    write."""
    if not place.content:
        return None
    path = os.path.join(place.directory, "extents")
    unit = rng.choice((512, 4096, 65536))
    with open(path, "w") as f:
        for i in range(0, len(place.content), unit):
            part = place.content[i:i + unit]
            if not any(part):
                f.write("%d %d hole,zero\n" % (i, len(part)))
            else:
                f.write("%d %d\n" % (i, len(part)))
    return [Part("extentlist", "extentlist=" + path, traits="readonly")]


def ddrescue(rng, place):
    if not place.content:
        return None
    path = os.path.join(place.directory, "map")
    bad = rng.choice((0, 0, min(512, place.size - 1)))
    with open(path, "w") as f:
        f.write("# Mapfile\n0x0 +\n")
        if bad:
            f.write("0x0 0x%x -\n" % bad)
        f.write("0x%x 0x%x +\n" % (bad, place.size - bad))
    # It reports data that cannot be read as zero.
    return [Part("noextents"), Part("ddrescue", "ddrescue-mapfile=" + path,
                                    traits="fails maps readonly lossy")]


def checkwrite(rng, place):
    """In nbdkit 1.32 it can free foreign memory in a zero request."""
    return [Part("nozero", "zeromode=emulate"),
            Part("checkwrite", traits="fails")]


def log(rng, place):
    return [Part("log", "logfile=" + os.path.join(place.directory, "log"))]


def stats(rng, place):
    return [Part("stats", "statsfile=" + os.path.join(place.directory,
                                                      "stats"))]


def multi_conn(rng, place):
    modes, tracks = ["auto", "emulate", "disable"], ["off"]
    if not place.own_views:
        modes += ["plugin", "unsafe"]
        tracks += ["conn", "fast"]
    return [Part("multi-conn", "multi-conn-mode=" + rng.choice(modes),
                 "multi-conn-track-dirty=" + rng.choice(tracks),
                 *(maybe(rng, "multi-conn-exportname=true")
                   if place.above else ()))]


def cacheextents(rng, place):
    return None if place.has_directory else [Part("cacheextents")]


def noparallel(rng, place):
    kind = rng.choice(("requests", "all-requests", "connections"))
    return [Part("noparallel", "serialize=" + kind,
                 traits="lone" if kind == "connections" else "")]


def fua(rng, place):
    # nbdkit 1.32 can abort with fuamode=force.
    modes = ["fuamode=none", "fuamode=emulate", "fuamode=pass"]
    if place.above or not place.own_views:
        modes.append("fuamode=discard")
    return [Part("fua", rng.choice(modes))]


EITHER = [
    cache, cow, error, retry, retry_request, delay, offset, partition,
    truncate, swab, blocksize, blocksize_policy, log, stats,
    multi_conn, noparallel,
    fua,
    simple("nozero", ("zeromode=none",), ("zeromode=emulate",),
           ("zeromode=notrim",), ("zeromode=plugin", "fastzeromode=none"),
           ("zeromode=emulate", "fastzeromode=slow"),
           ("zeromode=emulate", "fastzeromode=ignore")),
    simple("nocache", ("cachemode=none",), ("cachemode=emulate",),
           ("cachemode=nop",)),
    cacheextents, simple("noextents"), simple("nofilter"),
    simple("readahead"),
    simple("limit", ("limit=3",), ("limit=1",), traits="fails",
           above="fails"),
    # It waits, and cannot after the client has disconnected.
    simple("rate", ("rate=400M",), ("connection-rate=200M",),
           traits="lossy fails", above="fails"),
]
BELOW = EITHER + [extentlist, ddrescue,
                  checkwrite]
ABOVE = EITHER + [simple("exportname", ("default-export=canonical",))]

# Filters with views, caches or other state are chosen more often, some of the
# others less often.
WEIGHTS = {cache: 4, cow: 3, multi_conn: 3, error: 2, delay: 2, blocksize: 2,
           ddrescue: 0.3, retry: 0.5, retry_request: 0.5}


# With these filters no sum should be lost.
PLAIN_FILTERS = {"log", "stats", "nofilter", "nocache", "noextents",
                 "readahead"}
