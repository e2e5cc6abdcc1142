# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions that the benchmark scripts share.

A result is a JSON file: the machine, the parameters, and a list of results,
each of which is a case (what was run) with all its runs and their medians.

All cases are run once, then all again: if the speed of the machine changes, it
changes for all cases, and each round has its own ratio to the yardstick of the
same round.  Scripts print medians.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GB = 1e9


def die(message):
    sys.exit("%s: %s" % (os.path.basename(sys.argv[0]), message))


def say(message):
    print(message, file=sys.stderr, flush=True)


# ---- Arguments and programs -----------------------------------------------

def parser(doc):
    """An argument parser with the options that all benchmarks have."""
    p = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(TOP, "build"),
                   metavar="DIR", help="where blkhash was built, default: "
                   "build in the source directory")
    p.add_argument("--output", default="bench-results", metavar="DIR",
                   help="where the result goes, default: %(default)s")
    p.add_argument("--runs", type=int, default=5, metavar="N",
                   help="of each case, default: %(default)s")
    p.add_argument("--all", action="store_true",
                   help="all cases; without it, those that matter most")
    return p


def parse(p):
    """The arguments, after checks."""
    args = p.parse_args()
    if args.runs < 1:
        p.error("--runs must be 1 or more")
    args.build = os.path.abspath(args.build)
    # Programs that are not installed need the library of the build.
    os.environ["LD_LIBRARY_PATH"] = ":".join(
        filter(None, (os.path.join(args.build, "lib", ".libs"),
                      os.environ.get("LD_LIBRARY_PATH"))))
    return args


def names(known=None):
    """A type for arguments: a comma-separated list of names."""
    def parse_names(text):
        result = text.split(",")
        for name in result:
            if known and name not in known:
                raise argparse.ArgumentTypeError(
                    "%r is none of %s" % (name, ", ".join(known)))
        return result
    return parse_names


def built(args, path):
    """The program itself: libtool's script would be measured too.  A program in
    .libs may be of an earlier build."""
    directory, name = os.path.split(path)
    program = os.path.join(args.build, path)
    if os.path.exists(program):
        with open(program, "rb") as f:
            if f.read(2) != b"#!":
                return program
    real = os.path.join(args.build, directory, ".libs", name)
    if os.path.exists(real):
        return real
    die("%s is missing in %s; build it, or say --build DIR"
        % (path, args.build))


def installed(program):
    return shutil.which(program) is not None


def require(program, package=None):
    if not installed(program):
        die("%s is missing (package %s)" % (program, package or program))


# ---- Results --------------------------------------------------------------

def output_of(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                              stderr=subprocess.DEVNULL, text=True,
                              cwd=TOP).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def cpu_name():
    """With family and model on x86, which virtual machines do not hide."""
    facts = {}
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                key, _, value = line.partition(":")
                facts.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = facts.get("model name", platform.processor() or platform.machine())
    if "cpu family" in facts:
        name += " (family %s, model %s)" % (facts["cpu family"], facts["model"])
    return name


def cpus():
    """The number of CPUs that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count()


def machine():
    return {
        "cpu": cpu_name(),
        "cores": cpus(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": "%s %s %s" % (platform.system(), platform.release(),
                                platform.machine()),
        "date": datetime.datetime.now(datetime.timezone.utc)
                .strftime("%Y-%m-%d %H:%M UTC"),
        "commit": output_of("git", "describe", "--always", "--dirty"),
        "openssl": output_of("openssl", "version"),
        "BLKHASH_CPU": os.environ.get("BLKHASH_CPU"),
        "load": round(os.getloadavg()[0], 2),
    }


def save(args, benchmark, results, **parameters):
    os.makedirs(args.output, exist_ok=True)
    path = os.path.join(args.output, benchmark + ".json")
    parameters["runs"] = args.runs
    with open(path, "w") as f:
        json.dump({"benchmark": benchmark, "machine": machine(),
                   "parameters": parameters, "results": results}, f, indent=1)
        f.write("\n")
    say("written: " + path)


def load(path):
    try:
        with open(path) as f:
            result = json.load(f)
        return result["benchmark"], result
    except (OSError, ValueError, KeyError, TypeError) as e:
        die("%s is no result of a benchmark: %r" % (path, e))


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def show(result):
    """Print a line about a new result."""
    case = ", ".join("%s %s" % item for item in result["case"].items())
    ratio = result.get("ratio")
    say("%10.2f GB/s %s  %s" % (
        result["throughput"] / GB,
        "%7.2f x" % ratio if ratio is not None else " " * 9, case))


# ---- The programs that print JSON -----------------------------------------

def run_json(*command):
    """The JSON that the command prints, with the CPU seconds of the process if
    there are none in it."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
    except OSError as e:
        die(str(e))
    if status != 0:
        die("failed: " + " ".join(command))
    result = json.loads(out)
    result.setdefault("cpu-seconds", usage.ru_utime + usage.ru_stime)
    return result


def peak_memory(argv):
    """The peak memory of a command, in MiB.  A new process starts with the peak
    of the process that forked it, so a small process forks it."""
    return int(subprocess.run(
        [sys.executable, "-c", """if True:
            import os, resource, sys
            if os.fork() == 0:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.execvp(sys.argv[1], sys.argv[1:])
            os.wait()
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        """, *argv], stdout=subprocess.PIPE, check=True).stdout) / 1024


def rounds(args, cases, measure):
    """Measure each case once per round; returns a list of runs for each."""
    runs = [[] for _ in cases]
    for _ in range(args.runs):
        for i, case in enumerate(cases):
            runs[i].append(measure(case))
    return runs


def options(case):
    """{"digest-name": "sha256", "aio": True} as command-line arguments."""
    for key, value in case.items():
        if value is True:
            yield "--" + key
        elif value is not False:
            yield "--%s=%s" % (key, value)


def write_changes(path, size, ranges):
    """Write a list for blkhash update --changed, as blkhash compare prints it for
    images of SIZE bytes that differ in RANGES, pairs of start and length."""
    with open(path, "w") as f:
        json.dump({"ranges": [{"start": start, "length": length,
                               "result": "differs"} for start, length in ranges],
                   "images": [], "compared-bytes": size, "result": "differs"}, f)


def digests(args):
    return subprocess.run([built(args, "tools/blksum"), "--list-digests"],
                          stdout=subprocess.PIPE, check=True,
                          text=True).stdout.split()


def bench_blkhash(name, args, cases, yardstick, factor=1):
    """Run blkhash-bench for each case, and save the result.

    The ratio of a case is its throughput divided by FACTOR times that of
    OpenSSL's SHA-256, which digest-bench measures with the options YARDSTICK.
    The ratio of CPU times, of all threads, shows what remains if the machine
    runs other programs too.
    """
    blkhash_bench = built(args, "tests/bench/blkhash-bench")
    digest_bench = built(args, "tests/bench/digest-bench")

    def measure(case):
        seconds = "--timeout-seconds=%g" % args.seconds
        if case is yardstick:
            return run_json(digest_bench, seconds, *options(case))
        return run_json(blkhash_bench, seconds, *options(case))

    *ours, reference = rounds(args, [*cases, yardstick], measure)
    results = []
    for case, runs in zip(cases, ours):
        results.append({
            "case": case,
            "runs": runs,
            "throughput": median(r["throughput"] for r in runs),
            "ratio": median(
                r["throughput"] / (factor * y["openssl-throughput"])
                for r, y in zip(runs, reference)),
            "cpu-ratio": median(
                r["total-size"] / r["cpu-seconds"]
                / (factor * y["total-size"] / y["openssl-cpu-seconds"])
                for r, y in zip(runs, reference)),
        })
        show(results[-1])
    save(args, name, results, seconds=args.seconds, factor=factor,
         yardstick=reference)


def blkhash_parser(doc):
    p = parser(doc)
    p.add_argument("--seconds", type=float, default=0.5, metavar="N",
                   help="of each run, default: %(default)s")
    return p


def thread_counts(args):
    """1, 2, 4 and so on up to the number of CPUs; without --all only both
    ends."""
    last = min(cpus(), 128)
    if not args.all:
        return sorted({1, last})
    return sorted({1 << i for i in range(last.bit_length())
                   if 1 << i < last} | {last})


# ---- hyperfine ------------------------------------------------------------

def only_run(result):
    """The seconds of the only run in a result of hyperfine, of version 2 or
    older."""
    if "measurements" in result:
        run = result["measurements"][0]
        return {"time": run["time_wall_clock"]["value"],
                "user": run["time_user"]["value"],
                "system": run["time_system"]["value"]}
    return {"time": result["times"][0], "user": result["user"],
            "system": result["system"]}


def hyperfine(args, commands, prepare=()):
    """Times of {name: command line}, which are run alternately in this order.

    PREPARE is a list of command lines that are run before: one for all, or one
    for each.  They are split as by a shell, but run without one.
    """
    require("hyperfine")
    runs = {name: [] for name in commands}
    export = os.path.join(args.output, "hyperfine.json")
    os.makedirs(args.output, exist_ok=True)
    extra = ["--prepare=" + line for line in prepare]
    for i in range(args.runs):
        command = ["hyperfine", "--style=none", "--shell=none", "--runs=1",
                   "--warmup=%d" % (i == 0 and not prepare),
                   "--export-json", export, *extra, *commands.values()]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            die("%s\n%s" % (" ".join(command), done.stdout))
        with open(export) as f:
            for name, result in zip(commands, json.load(f)["results"]):
                runs[name].append(only_run(result))
    os.unlink(export)
    return runs


def summary(runs):
    return {key: median(run[key] for run in runs)
            for key in ("time", "user", "system")}
