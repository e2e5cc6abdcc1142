#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash-v2v writes the sum of each disk that virt-v2v copies, with the name of
# the file that it was copied to, and a manifest; blksum --check verifies the
# disks by these sums.

. "$(dirname "$0")/functions.sh"

wanted=$(reference "$dir/src")
cd "$dir"

# One disk.  FILE had another sum before.
empty dst
printf '%s\nblk-sha256/64k (old) = 00\n' "$sums_header" > sums
mkdir manifests
run 0 blkhash-v2v --sums sums --manifest-dir manifests \
      fake-v2v "$dir/src" "$dir/dst"
cmp src dst || fail "not copied"
echo "blk-sha256/64k ($dir/dst) = $wanted" | sums_are sums ||
  fail "the sums differ"
grep -q "verified: blk-sha256/64k ($dir/dst) = $wanted" stderr ||
  fail "no message has the sum"
blksum --manifest - src | cmp - manifests/dst.blkm ||
  fail "the manifest differs"
[ "$(ls manifests)" = dst.blkm ] || fail "more than the manifest"
nothing_left
# nbdcopy gets the arguments of virt-v2v, except the destination.
sed -n '3,$p' nbdcopy-arguments | tr '\n' ' ' > stdout
[ "$(cat stdout)" = "--requests=64 --flush " ] ||
  fail "the arguments of nbdcopy differ"

# Options before and after the operands, with and without values; another
# digest.
for OPTIONS in "-p -R 16 -C2" "--allocated --progress --threads 2 -S 0"; do
  empty dst
  run 0 blkhash-v2v --digest=sha512/4k --sums=sums -- \
        fake-v2v "$dir/src" "$dir/dst"
  wanted_512=$(reference -d sha512 -b 4096 "$dir/src")
  echo "blk-sha512/4k ($dir/dst) = $wanted_512" | sums_are sums ||
    fail "the sums with sha512 differ"
done
OPTIONS=

# Any names, two disks at once; lines are sorted by name.
odd="it's \"b\" \$(id) *.raw"
newline='a
b'
empty "$odd" "$newline"
run 0 blkhash-v2v --sums "sums $odd" --manifest-dir . \
      fake-v2v "$dir/src" "$dir/$odd" "$dir/src" "$dir/$newline"
[ "$(wc -l < "sums $odd")" = 3 ] || fail "not a line for each disk"
tail -n +2 "sums $odd" | LC_ALL=C sort -c || fail "not sorted"
run 0 blksum --check --strict "sums $odd"
for name in "$odd" "$newline"; do
  blksum --manifest - src | cmp - "$name.blkm" ||
    fail "the manifest of $name differs"
done

# Two runs at the same time.
empty one two
blkhash-v2v --sums sums.1 fake-v2v "$dir/src" "$dir/one" 2> stderr.1 &
first=$!
run 0 blkhash-v2v --sums sums.2 fake-v2v "$dir/src" "$dir/two"
wait $first || fail "$(cat stderr.1)"
run 0 blksum --check --strict sums.1 sums.2

# One run inside another: both hash.
empty dst
run 0 blkhash-v2v --sums sums.1 blkhash-v2v -d sha1 --sums sums.2 \
      fake-v2v "$dir/src" "$dir/dst"
grep -q "^blk-sha256/64k (.*) = $wanted\$" sums.1 ||
  fail "the sum of the outer run"
grep -q "^blk-sha1/64k ($dir/dst) = $(reference -d sha1 src)\$" sums.2 ||
  fail "the sum of the inner run"

# serving-v2v EXPORT SERVER OPTION ARGUMENT...: starts a server, whose OPTION is
# the socket, and copies $source to it.
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

# One server for all disks, each as an export with its name.
mkdir images
empty "images/$odd"
start_nbdkit -r file "$dir/src"
source=$uri
export source
name=$("$PYTHON" -c 'import sys, urllib.parse
print (urllib.parse.quote (sys.argv[1]))' "$odd")
(cd images && run 0 blkhash-v2v --sums ../sums \
  serving-v2v "$name" nbdkit --unix --foreground file dir=.)
blksum --tag "$dir/images/$odd" | sed 's,images/,images/./,' | sums_are sums ||
  fail "the sums of an export differ"
rm -f out

# nbdcopy without virt-v2v, to a server that runs elsewhere: the disk has no
# file name.
empty dst
start_nbdkit file "$dir/dst"
run 0 blkhash-v2v --sums sums nbdcopy "$source" "$uri"
echo "blk-sha256/64k ($uri) = $wanted" | sums_are sums ||
  fail "the sums of a URI differ"

# Without a guest, to qcow2 as virt-v2v creates it, also with -oo compressed.
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
    echo "blk-sha256/64k ($dir/$name) = $wanted" | sums_are sums ||
      fail "the sums of $name differ"
    run 0 blksum --check --strict sums
    nothing_left
  done
fi

# The destination is larger: the sum is that of the disk that was copied.
empty dst
truncate -s 1g dst
write_data dst 100000000 100000
run 0 blkhash-v2v --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | sums_are sums ||
  fail "the sums of a larger disk differ"
run 0 blksum --check --size "$(wc -c < src)" sums

# Also if the source is a file, by nbdcopy alone, and ends within a block.
for size in 100m 10000001; do
  cp src odd.raw
  truncate -s $size odd.raw
  empty dst
  truncate -s 1g dst
  start_nbdkit file "$dir/dst"
  run 0 blkhash-v2v --sums sums nbdcopy odd.raw "$uri"
  echo "blk-sha256/64k ($uri) = $(reference odd.raw)" | sums_are sums ||
    fail "the sums of a larger disk than the file differ"
done
# The size of a pipe is not known.
mkfifo pipe
run 2 blkhash-v2v nbdcopy pipe "$uri"
complains "pipe: is no file"

# The destination keeps no data: only the copy itself can be hashed.
PLUGIN='null size=7E'
run 0 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" none
PLUGIN=
grep -q "^blk-sha256/64k (nbd+unix:.*/out0) = $wanted\$" sums ||
  fail "the sum of data that is not kept differs"

# The command gets its arguments and standard input unchanged.
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
  fail "arguments or standard input differ"

# The version is that of the other programs.
for option in -V --version; do
  run 0 blkhash-v2v $option
  blksum --version | sed 's/^blksum/blkhash-v2v/' | cmp - stdout ||
    fail "$option prints another version"
done
for option in -h --help; do
  run 0 blkhash-v2v $option
  grep -q '^Usage: blkhash-v2v' stdout || fail "$option prints no usage"
done
