#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Many operands on one command line: several small files are hashed in parallel,
# and the results on stdout and stderr are in the order of the operands, and the
# same as for each operand alone.

. "$(dirname "$0")/functions.sh"
cd "$dir"

# each ARGUMENT... -- OPERAND...: blksum with one operand after the other, into
# wanted, wanted.err and wanted_status.
each () {
  arguments=
  while [ "$1" != -- ]; do
    arguments="$arguments $1"
    shift
  done
  shift
  : > wanted
  : > wanted.err
  wanted_status=0
  for operand in "$@"; do
    status=0
    blksum $arguments "$operand" >> wanted 2>> wanted.err < /dev/null ||
      status=$?
    [ $status = 0 ] || wanted_status=$status
  done
}

# same ARGUMENT... -- OPERAND...: all at once it is the same.
same () {
  each "$@"
  arguments=
  while [ "$1" != -- ]; do
    arguments="$arguments $1"
    shift
  done
  shift
  run $wanted_status blksum $arguments "$@" < /dev/null
  diff "$dir/stdout" wanted || fail "stdout is another: blksum $arguments"
  diff "$dir/stderr" wanted.err || fail "stderr is another: blksum $arguments"
}

# Sizes around those of a read, a block, and of what is small; the same file twice.
mkdir i
"$PYTHON" - << 'END'
import random
r = random.Random(7)
sizes = [0, 1, 511, 512, 4095, 65535, 65536, 65537, 1 << 20, 2 << 20,
         (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 5 << 20]
for i in range(40):
    size = sizes[i] if i < len(sizes) else r.randrange(200000)
    with open("i/%02d" % i, "wb") as f:
        if i % 7 == 3:
            f.truncate(size)
        else:
            f.write(r.randbytes(size))
END
same -- i/*
same -b 4k --tag -t 1 -- i/* i/05 i/05
same -d sha512 -c --no-names -- i/3*
same -b 1m -- i/*
same -b 16m -- i/1*

# With a sum that was computed independently.
run 0 blksum --no-names i/05 i/08 i/14
for file in i/05 i/08 i/14; do
  reference $file
done > wanted
diff "$dir/stdout" wanted || fail "not the reference's sums"

# Errors are where they belong: files that are missing, unreadable, of another
# kind; manifests; standard input.
mkdir i/15a
blksum --manifest m i/20 > /dev/null
printf 'QFI\373' > i/16a
same -- i/15 i/16 i/15a i/missing i/16a i/17 manifest:m - manifest:i/17 i/18 \
  i/19 - i/20

# Standard input is read by one operand at a time, even if a small file has the
# name of that operand.
head -c 8M /dev/urandom > stream
cp i/05 ./-
for file in stream i/00 i/05; do
  reference $file
done > wanted
dd if=stream bs=4k status=none | run 0 blksum --no-names - - ./-
diff "$dir/stdout" wanted || fail "two operands have read standard input"
cp m manifest:-
reference i/20 > wanted
run 2 blksum --no-names manifest:- manifest:- < m
diff "$dir/stdout" wanted || fail "two operands have read standard input"
rm ./- manifest:-

# Formats of qemu are read directly, and by qemu.
if (requires_qemu) > /dev/null; then
  for n in 21 22 23 24 25; do
    truncate -s %512 i/$n
    qemu-img convert -f raw -O qcow2 i/$n i/$n.qcow2
    qemu-img convert -f raw -O qcow2 -c i/$n i/$n.compressed
    qemu-img convert -f raw -O vmdk i/$n i/$n.vmdk
  done
  head -c 100000 i/21.qcow2 > i/21.qcow2.cut
  same -- i/2*
  same -f qcow2 -- i/*.qcow2

  # qemu-nbd loads the bitmaps of a qcow2, which can take much more memory than
  # the file: images with bitmaps are open one at a time.
  if (requires qemu-img bitmap --help) > /dev/null &&
     cat /proc/$$/task/*/children > /dev/null 2>&1; then
    for n in 21 22 23 24 25; do
      qemu-img bitmap --add -f qcow2 i/$n.qcow2 b
      reference i/$n
    done > wanted
    cat > bin/qemu-nbd << END
#!/bin/sh
cat /proc/\$PPID/task/*/children 2> /dev/null | wc -w >> "$dir/children"
exec $(command -v qemu-nbd) "\$@"
END
    chmod +x bin/qemu-nbd
    run 0 blksum --no-names i/*.qcow2
    diff "$dir/stdout" wanted || fail "other sums with bitmaps"
    rm bin/qemu-nbd
    [ "$(sort -u children)" = 1 ] || fail "several images with bitmaps at once"
  fi
fi

# As JSON, but for the time.
run 0 blksum --output json i/0*
grep -c '"checksum"' "$dir/stdout" > count
[ "$(cat count)" = 10 ] || fail "$(cat count) results"

# Progress is of one image at a time.
run 0 blksum --progress=3 i/0[1-9] 3> percents
[ "$(grep -cx 100/100 percents)" = 9 ] || fail "other progress"

# Where a result cannot be written it ends, and does not hash what is left.
if [ -w /dev/full ]; then
  status=0
  blksum i/* > /dev/full 2> "$dir/stderr" || status=$?
  [ $status = 2 ] || fail "exit status $status with a full disk"
  says_once "No space left"
fi

# ---- At the same time ----

# threads OPTION...: how many threads blksum OPTION... starts for 20 small files.
threads () {
  strace -f -qq -o "$dir/trace" -e trace=clone,clone3 \
    "$(real_program "$abs_top_builddir/tools/blksum")" "$@" i/2? i/3? \
    > "$dir/stdout" 2> "$dir/stderr" || fail "strace"
  grep -c 'clone.*CLONE_THREAD' "$dir/trace" || :
}

# What strace does not see in valgrind, and sanitizers start threads of their own.
if [ -z "$wrapper" ] && [ "$SANITIZE" = no ] && command -v strace > /dev/null
then
  rm -f i/2*.*
  few=$(threads --progress=3 3> /dev/null)
  many=$(threads)
  # Of 16 items in flight, and the one that waits for SIGUSR1.
  [ "$many" -ge 17 ] || fail "$many threads"
  [ "$many" -gt "$few" ] || fail "$few threads with progress, $many without"

  # The first sum is printed before more than 16 operands are looked at.
  strace -f -qq -o "$dir/trace" -e trace=%%stat,write \
    "$(real_program "$abs_top_builddir/tools/blksum")" i/2? i/3? > /dev/null
  grep -e 'stat.*"i/39"' -e 'write(1, ' "$dir/trace" | head -n 1 > first
  grep 'write(1, ' first || fail "no sum before $(cat first)"
fi
