#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A user with write access to an image replaces its header, after blksum has
# inspected it, with one that names a file of the host.  The sum of that file is
# not printed, even with -U.

. "$(dirname "$0")/../functions.sh"
requires_qemu

: > "$dir/secret.raw"
write_data "$dir/secret.raw" 0 8388608
secret=$(reference "$dir/secret.raw")
rm -f "$dir/image"
write_data "$dir/image" 0 4000000
truncate -s 8m "$dir/image"
plain=$(reference "$dir/image")
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/plain"

# A header that names the file as raw external data, at the offsets of the disk.
qemu-img create -q -f qcow2 -o data_file="$dir/data",data_file_raw=on \
         "$dir/naming" 8m
qemu-img convert -n -f raw -O qcow2 "$dir/secret.raw" "$dir/naming"
rm "$dir/data"
ln "$dir/secret.raw" "$dir/data"
run 0 blksum -f qcow2 "$dir/naming"
grep -q "^$secret " "$dir/stdout" || fail "the header does not name the file"
refuses "data file" blksum "$dir/naming"

# A header that names it as backing file.
qemu-img create -q -f qcow2 -F raw -b "$dir/secret.raw" "$dir/backed"
run 0 blksum -f qcow2 "$dir/backed"
grep -q "^$secret " "$dir/stdout" || fail "the header does not name the file"

# not_the_secret COMMAND: COMMAND does not print the sum of the file.
not_the_secret () {
  echo "+ $*"
  "$@" > "$dir/stdout" 2> "$dir/stderr" || :
  if grep -q "$secret" "$dir/stdout"; then
    fail "printed the sum of the secret file"
  fi
}

# The header is replaced between inspection and the start of qemu-nbd.
qemu_nbd=$(command -v qemu-nbd)
cat > "$dir/bin/qemu-nbd" << END
#!/bin/sh
cat "\$INSTEAD" > "$dir/image.qcow2"
exec $qemu_nbd "\$@"
END
chmod +x "$dir/bin/qemu-nbd"
for instead in naming backed; do
  INSTEAD=$dir/$instead
  export INSTEAD
  for options in "-U" "-U --cache" ""; do
    cp "$dir/plain" "$dir/image.qcow2"
    not_the_secret blksum $options "$dir/image.qcow2"
    [ $instead = backed ] || [ ! -s "$dir/stdout" ] || fail "printed a sum"
    [ $instead = backed ] || says_once "qemu opened another file"
  done
done
rm "$dir/bin/qemu-nbd"

# The header is replaced at random moments.
cp "$dir/plain" "$dir/image.qcow2"
"$PYTHON" - "$dir/image.qcow2" "$dir/plain" "$dir/naming" << 'END' &
import os, sys, time
image = os.open(sys.argv[1], os.O_RDWR)
size = os.stat(sys.argv[3]).st_size     # only metadata
contents = [open(name, "rb").read(size) for name in sys.argv[2:]]
while os.getppid() != 1:
    for content in contents:
        os.pwrite(image, content, 0)
        time.sleep(0.005)
END
kill_at_exit $!
sums=0
for round in $(seq 60); do
  not_the_secret blksum -U "$dir/image.qcow2"
  [ ! -s "$dir/stdout" ] || sums=$((sums + 1))
done
echo "$sums sums"
