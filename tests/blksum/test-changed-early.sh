#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A change of an image is detected while blksum inspects it, and between that
# and the start of qemu-nbd.

. "$(dirname "$0")/../functions.sh"
requires_qemu

# A qemu-nbd that runs $EVENT first.
qemu_nbd=$(command -v qemu-nbd)
cat > "$dir/bin/qemu-nbd" << END
#!/bin/sh
eval "\$EVENT"
exec $qemu_nbd "\$@"
END
chmod +x "$dir/bin/qemu-nbd"

make_image "$dir/image"
sum=$(reference "$dir/image")
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/good"
rm -f "$dir/other"
write_data "$dir/other" 0 8388608
qemu-img convert -f raw -O qcow2 "$dir/other" "$dir/other.qcow2"

# with_event EVENT COMMAND: runs COMMAND with that qemu-nbd.
with_event () {
  EVENT=$1
  export EVENT
  shift
  cp "$dir/good" "$dir/qcow2"
  "$@"
}

prints_sum "$sum" with_event : blksum "$dir/qcow2"
for options in "" "-f qcow2"; do
  refuses "$dir/qcow2: .*changed" with_event "touch $dir/qcow2" \
          blksum $options "$dir/qcow2"
  refuses "$dir/qcow2: .*changed" with_event "echo >> $dir/qcow2" \
          blksum $options "$dir/qcow2"
  refuses "$dir/qcow2: .*changed" \
          with_event "cat $dir/other.qcow2 > $dir/qcow2" \
          blksum $options "$dir/qcow2"
done

# An image that is replaced by another file is still the one that was probed.
prints_sum "$sum" with_event "rm $dir/qcow2; cp $dir/other.qcow2 $dir/qcow2" \
           blksum "$dir/qcow2"

# With -U the user accepts changes.
prints_sum "$sum" with_event "touch $dir/qcow2" blksum -U "$dir/qcow2"

# The same for an event after blksum has read the first bytes.  A sanitizer must
# be the first library.
rm "$dir/bin/qemu-nbd"
[ "$SANITIZE" = no ] || exit 0
: "${CC:=cc}"
requires $CC --version
cat > "$dir/preload.c" << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void
after (void)
{
  char *event = getenv ("AT_READ");

  unsetenv ("LD_PRELOAD");
  unsetenv ("AT_READ");
  if (event && system (event) != 0)
    abort ();
}

ssize_t
pread (int fd, void *buf, size_t len, off_t offset)
{
  ssize_t (*real) (int, void *, size_t, off_t) = dlsym (RTLD_NEXT, "pread");
  ssize_t r = real (fd, buf, len, offset);

  after ();
  return r;
}

ssize_t
pread64 (int fd, void *buf, size_t len, off64_t offset)
{
  ssize_t (*real) (int, void *, size_t, off64_t) =
    dlsym (RTLD_NEXT, "pread64");
  ssize_t r = real (fd, buf, len, offset);

  after ();
  return r;
}
END
requires $CC -shared -fPIC -o "$dir/preload.so" "$dir/preload.c" -ldl

# at_read EVENT COMMAND: runs EVENT at the first read.
at_read () {
  AT_READ="$1; : > $dir/happened"
  export AT_READ
  shift
  cp "$dir/good" "$dir/qcow2"
  rm -f "$dir/happened"
  LD_PRELOAD=$dir/preload.so "$@"
}

prints_sum "$sum" at_read : blksum "$dir/qcow2"
[ -e "$dir/happened" ] || skip "no call of pread read the beginning"
for options in "" "-f qcow2"; do
  refuses "$dir/qcow2: .*changed" at_read "touch $dir/qcow2" \
          blksum $options "$dir/qcow2"
  refuses "$dir/qcow2: .*changed" at_read "echo >> $dir/qcow2" \
          blksum $options "$dir/qcow2"
done
cp "$dir/image" "$dir/raw"
refuses "$dir/raw: .*changed" at_read "touch $dir/raw" blksum "$dir/raw"
