#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Runs a shell script as root in a virtual machine, with disks, and prints its output.

machine.py [OPTION]... SCRIPT [DISK]...

The disks, which are raw files, are /dev/vda, /dev/vdb and so on, and what the script
writes to them stays.  The machine has a kernel of Debian with an initramfs that is
made here: busybox, the shell of this host, the programs of --program, and the modules of
--module with those that they need, which are loaded before the script runs.  There is no
KVM, no network, no udev, and nothing of this host but the disks.

The exit status is that of the script; 77 if there is no kernel; 125 if the machine did
not run the script to its end: then its console is printed to stderr.
"""

import argparse, glob, gzip, lzma, os, re, shutil, signal, subprocess, sys, tempfile

# A machine boots in 5 to 10 seconds.
LIMIT = 600

INIT = r"""#!/bin/busybox sh
/bin/busybox --install -s /bin 2> /dev/null
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
# Options of modules are on the kernel's command line, as NAME.OPTION=VALUE.
for module in /modules/*; do
  options=$(tr ' ' '\n' < /proc/cmdline | sed -n "s/^${module#*-}[.]//p")
  insmod $module $options || echo "insmod $module failed"
done
# The second serial port has only what the script prints: messages of the kernel
# are on the first.
stty -F /dev/ttyS1 -opost
{
  /bin/sh /script
  echo "status $?"
} > /dev/ttyS1 2>&1 < /dev/null
sync
poweroff -f
"""

def find_kernel(roots):
    """The kernel to boot and the directory of its modules, or None."""
    for root in roots:
        for modules in sorted(glob.glob(f"{root}/usr/lib/modules/*")
                              + glob.glob(f"{root}/lib/modules/*")):
            for kernel in (f"{modules}/vmlinuz",
                           f"{root}/boot/vmlinuz-{os.path.basename(modules)}"):
                if os.path.exists(kernel) and os.path.isdir(f"{modules}/kernel"):
                    return kernel, modules
    return None

def read_module(path):
    with open(path, "rb") as f:
        content = f.read()
    return lzma.decompress(content) if path.endswith(".xz") else content

def load_order(directory, wanted):
    """Modules as (name, content), each after those that it needs.  What has no file is
    built into the kernel."""
    paths = {re.sub(r"\.ko(\.xz)?$", "", os.path.basename(path)).replace("-", "_"): path
             for path in glob.glob(f"{directory}/kernel/**/*.ko*", recursive=True)}
    order = {}
    def add(name):
        name = name.replace("-", "_")
        if name in order or name not in paths:
            return
        content = read_module(paths[name])
        needed = re.search(rb"\0depends=([^\0]*)\0", content)[1].decode()
        for other in filter(None, needed.split(",")):
            add(other)
        order[name] = content
    for name in wanted:
        add(name)
    return order.items()

def libraries(program):
    """The files that the dynamic linker loads for a program."""
    result = subprocess.run(["ldd", program], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    return re.findall(r"(/\S+) \(0x", result.stdout)

class Initramfs:
    """An archive in the format newc of cpio."""
    def __init__(self):
        self.archive = bytearray()
        self.names = set()

    def add(self, name, content=b"", mode=0o100755):
        name = name.strip("/")
        parent = os.path.dirname(name)
        if parent:
            self.add(parent, mode=0o040755)
        if name in self.names:
            return
        self.names.add(name)
        fields = (len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0,
                  len(name) + 1, 0)
        self.archive += b"070701" + b"".join(b"%08X" % field for field in fields)
        for part in name.encode() + b"\0", content:
            self.archive += part
            self.archive += bytes(-len(self.archive) % 4)

    def add_program(self, program, to):
        with open(program, "rb") as f:
            self.add(to, f.read())
        for library in libraries(program):
            with open(library, "rb") as f:
                self.add(library, f.read())

def initramfs(args, modules):
    files = Initramfs()
    files.add("init", INIT.encode())
    with open(args.script, "rb") as f:
        files.add("script", f.read())
    for directory in "dev", "proc", "sys", "mnt", "run", "tmp":
        files.add(directory, mode=0o040755)
    files.add_program(shutil.which("busybox"), "/bin/busybox")
    # busybox as a shell would prefer itself to programs.
    files.add_program(shutil.which("sh"), "/bin/sh")
    for program in args.program:
        files.add_program(shutil.which(program), f"/usr/sbin/{program}")
    for n, (name, content) in enumerate(load_order(modules, args.module)):
        files.add(f"/modules/{n:03}-{name}", content)
    files.add("TRAILER!!!", mode=0)
    return gzip.compress(files.archive, 1)

def run(args, kernel, modules, tmp):
    console, output = f"{tmp}/console", f"{tmp}/output"
    with open(f"{tmp}/initramfs", "wb") as f:
        f.write(initramfs(args, modules))
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "512",
               "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
               "-kernel", kernel, "-initrd", f"{tmp}/initramfs",
               "-append", "console=ttyS0 panic=-1 " + args.append,
               "-serial", f"file:{console}", "-serial", f"file:{output}"]
    for disk in args.disk:
        command += ["-drive", "if=virtio,format=raw,cache=unsafe,file="
                    + disk.replace(",", ",,")]
    problem = None
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=LIMIT,
                                stderr=subprocess.PIPE, text=True)
        if result.returncode:
            problem = f"qemu: {result.stderr}"
    except subprocess.TimeoutExpired:
        problem = f"stopped after {LIMIT} seconds"
    text = ""
    if os.path.exists(output):
        with open(output, encoding="utf-8", errors="replace") as f:
            text = f.read()
    text, end, status = text.rpartition("status ")
    sys.stdout.write(text)
    if problem or not end:
        if os.path.exists(console):
            with open(console, encoding="utf-8", errors="replace") as f:
                sys.stderr.write(f.read())
        sys.exit(f"machine.py: {problem or 'the script did not end'}")
    return int(status)

def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", action="append", default=[],
                        help="search the kernel here, before /")
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--module", action="append", default=[])
    parser.add_argument("--append", default="", help="to the kernel's command line")
    parser.add_argument("script")
    parser.add_argument("disk", nargs="*")
    args = parser.parse_args()

    found = find_kernel(args.root + [""])
    if not found:
        print("no kernel of Debian with its modules")
        return 77
    # qemu ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as tmp:
        try:
            return run(args, *found, tmp)
        except SystemExit as e:
            if isinstance(e.code, str):
                print(e.code, file=sys.stderr)
                return 125
            raise

if __name__ == "__main__":
    sys.exit(main())
