#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file that is truncated or changed while it is read has no sum.

. "$(dirname "$0")/../functions.sh"

# Without holes, so that all parts are read.
new_image () {
  rm -f "$dir/image"
  : > "$dir/image"
  write_data "$dir/image" 0 33554432
}
from_stdin () { midway "$@" < "$dir/image"; }

new_image
refuses "$dir/image: .*truncated" midway "truncate -s 16m $dir/image" \
        "$dir/image"
new_image
refuses "$dir/image: .*truncated" midway ": > $dir/image" "$dir/image"
new_image
refuses "$dir/image: .*truncated" midway "truncate -s -1 $dir/image" \
        -t 1 "$dir/image"
new_image
refuses "-: .*truncated" from_stdin "truncate -s 16m $dir/image"

new_image
refuses "$dir/image: .*changed" midway "touch $dir/image" "$dir/image"
refuses "$dir/image: .*changed" midway "echo x >> $dir/image" "$dir/image"
refuses "-: .*changed" from_stdin "touch $dir/image"

# The next operand is still hashed.
printf hello > "$dir/b"
run 2 midway "truncate -s 16m $dir/image" "$dir/image" "$dir/b"
[ "$(cat "$dir/stdout")" = "$(reference "$dir/b")  $dir/b" ] ||
  fail "the next operand was not hashed"

# With -U the user accepts changes.
new_image
sum=$(reference "$dir/image")
prints_sum "$sum" midway "touch $dir/image" -U "$dir/image"

# If the file is replaced, blksum hashes the one that it opened.
new_image
prints_sum "$sum" midway "mv $dir/image $dir/old; echo > $dir/image" \
           "$dir/image"

# Other names and attributes, which change the ctime, leave the content as it is.
cat > "$dir/setxattr.py" << 'END'
import os, sys
os.setxattr(sys.argv[1], "user.comment", b"x")
END
setxattr="'$PYTHON' '$dir/setxattr.py'"
new_image
for event in "chmod 600 $dir/image" "ln $dir/image $dir/link" \
             "$setxattr $dir/image" "mv $dir/image $dir/moved"; do
  case $event in
  "$setxattr"*) eval "$setxattr $dir/b" 2> "$dir/stderr" || continue ;;
  esac
  prints_sum "$sum" midway "$event" "$dir/image"
done

requires_qemu
new_image
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
prints_sum "$sum" midway "chmod 600 $dir/qcow2" "$dir/qcow2"
refuses "$dir/qcow2: .*changed" midway "touch $dir/qcow2" "$dir/qcow2"
refuses "$dir/qcow2: " midway "truncate -s 16m $dir/qcow2" "$dir/qcow2"
