#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash-v2v leaves the sum of each disk that virt-v2v copies, by the name of
# the file that it was copied to, and a manifest; blksum --check finds the
# disks by it.

. "$(dirname "$0")/v2v-functions.sh"

wanted=$(reference "$dir/src")
cd "$dir"

# One disk.  A sum that was in FILE before is gone.
empty dst
echo "blk-sha256/64k (old) = 00" > sums
mkdir manifests
run 0 blkhash-v2v --sums sums --manifest-dir manifests \
      fake-v2v "$dir/src" "$dir/dst"
cmp src dst || fail "not copied"
echo "blk-sha256/64k ($dir/dst) = $wanted" | diff - sums || fail "the sums"
grep -q "verified: blk-sha256/64k ($dir/dst) = $wanted" stderr ||
  fail "it says no sum"
blksum --manifest - src | cmp - manifests/dst.blkm || fail "the manifest"
[ "$(ls manifests)" = dst.blkm ] || fail "more than the manifest"
nothing_left
# nbdcopy gets what it was given, but for the destination.
sed -n '3,$p' nbdcopy-arguments | tr '\n' ' ' > stdout
[ "$(cat stdout)" = "--requests=64 --flush " ] || fail "arguments of nbdcopy"

# Options before and behind, with their values or not, and another digest.
for OPTIONS in "-p -R 16 -C2" "--allocated --progress --threads 2 -S 0"; do
  empty dst
  run 0 blkhash-v2v --digest=sha512/4k --sums=sums -- \
        fake-v2v "$dir/src" "$dir/dst"
  wanted_512=$(reference -d sha512 -b 4096 "$dir/src")
  echo "blk-sha512/4k ($dir/dst) = $wanted_512" | diff - sums ||
    fail "the sums with sha512"
done
OPTIONS=

# Names of any kind, two disks at once, lines in the order of names.
odd="it's \"b\" \$(id) *.raw"
newline='a
b'
empty "$odd" "$newline"
run 0 blkhash-v2v --sums "sums $odd" --manifest-dir . \
      fake-v2v "$dir/src" "$dir/$odd" "$dir/src" "$dir/$newline"
[ "$(wc -l < "sums $odd")" = 2 ] || fail "not a line for each disk"
LC_ALL=C sort -c "sums $odd" || fail "not sorted"
run 0 blksum --check --strict "sums $odd"
for name in "$odd" "$newline"; do
  blksum --manifest - src | cmp - "$name.blkm" || fail "manifest of $name"
done

# Two at the same time.
empty one two
blkhash-v2v --sums sums.1 fake-v2v "$dir/src" "$dir/one" 2> stderr.1 &
first=$!
run 0 blkhash-v2v --sums sums.2 fake-v2v "$dir/src" "$dir/two"
wait $first || fail "$(cat stderr.1)"
run 0 blksum --check --strict sums.1 sums.2

# One in the other: both hash.
empty dst
run 0 blkhash-v2v --sums sums.1 blkhash-v2v -d sha1 --sums sums.2 \
      fake-v2v "$dir/src" "$dir/dst"
grep -q "^blk-sha256/64k (.*) = $wanted\$" sums.1 || fail "the outer one"
grep -q "^blk-sha1/64k ($dir/dst) = $(reference -d sha1 src)\$" sums.2 ||
  fail "the inner one"

# serving-v2v EXPORT SERVER OPTION ARGUMENT...: copies $source to a server that it
# runs, which OPTION tells its socket.
cat > bin/serving-v2v << END
#!/bin/sh
export=\$1 server=\$2 option=\$3
shift 3
"\$server" "\$option" "$dir/out" --pid-file "$dir/pid" "\$@" &
server=\$!
trap 'kill \$server; wait; rm -f "$dir/pid"' EXIT
trap 'exit 1' HUP INT TERM
until [ -s "$dir/pid" ]; do
  kill -0 \$server || exit
  sleep 0.05
done
nbdcopy "\$source" "nbd+unix:///\$export?socket=$dir/out" --flush
END
chmod +x bin/serving-v2v

# One server for all disks, which are exports by their names.
mkdir images
empty "images/$odd"
start_nbdkit -r file "$dir/src"
source=$uri
export source
name=$("$PYTHON" -c 'import sys, urllib.parse
print (urllib.parse.quote (sys.argv[1]))' "$odd")
(cd images && run 0 blkhash-v2v --sums ../sums \
  serving-v2v "$name" nbdkit --unix --foreground file dir=.)
blksum --tag "$dir/images/$odd" | sed 's,images/,images/./,' | diff - sums ||
  fail "the sums of an export"
rm -f out

# nbdcopy itself, to a server that it does not run, whose disk has no name here.
empty dst
start_nbdkit file "$dir/dst"
run 0 blkhash-v2v --sums sums nbdcopy "$source" "$uri"
echo "blk-sha256/64k ($uri) = $wanted" | diff - sums ||
  fail "the sums of a URI"

# From the server of a disk without a guest to qcow2, as virt-v2v has it written,
# and with -oo compressed.
if command -v qemu-nbd > /dev/null && command -v qemu-img > /dev/null; then
  for name in 'a, b' 'driver=c'; do
    qemu-img create -q -f qcow2 "$name" 8m
    doubled=$(echo "$dir/$name" | sed 's/,/,,/g')
    case $name in
      a*)
        image="driver=compress,file.driver=qcow2,file.file.driver=file"
        set -- --image-opts "$image,file.file.filename=$doubled"
        ;;
      *) set -- --format qcow2 "$dir/$name" ;;
    esac
    run 0 blkhash-v2v --sums sums \
        serving-v2v '' qemu-nbd --socket -t --shared=0 --discard=unmap "$@"
    echo "blk-sha256/64k ($dir/$name) = $wanted" | diff - sums ||
      fail "the sums of $name"
    run 0 blksum --check --strict sums
    nothing_left
  done
fi

# A destination that is larger: the sum is that of the disk that was copied.
empty dst
truncate -s 1g dst
write_data dst 100000000 100000
run 0 blkhash-v2v --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | diff - sums ||
  fail "the sums of a larger disk"

# Nothing is kept of what is written: only the copy can be hashed.
PLUGIN='null size=7E'
run 0 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" none
PLUGIN=
grep -q "^blk-sha256/64k (nbd+unix:.*/out0) = $wanted\$" sums ||
  fail "the sum of what is not kept"

# What it runs gets its arguments and its standard input as they are.
empty dst
cat > bin/other-v2v << 'END'
#!/bin/sh
printf '%s|' "$@"
cat
exec fake-v2v "$SOURCE" "$DESTINATION"
END
chmod +x bin/other-v2v
echo input > input
SOURCE=$dir/src DESTINATION=$dir/dst
export SOURCE DESTINATION
run 0 blkhash-v2v other-v2v 'two words' "it's" '' "$newline" < input
printf '%s|' 'two words' "it's" '' "$newline" | cat - input | cmp - stdout ||
  fail "arguments or standard input"
