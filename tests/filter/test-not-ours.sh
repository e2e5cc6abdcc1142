#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A mistyped path: an existing file that is not a result of the filter, such as
# the disk, is not emptied, and nothing is changed.  Files that the filter wrote
# are replaced.  The same if another program puts a file there while nbdkit runs.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

make_image "$dir/image"
cp "$dir/image" "$dir/copy"
cd "$dir"
wanted=$(reference image)

# keeps FILE REGEX ARGUMENT...: nbdkit does not start, FILE is unchanged, and no
# file is left beside it.
keeps () {
  file=$1
  shift
  cp -a "$file" kept
  refuses_to_start "$@"
  cmp "$file" kept || fail "$file was changed"
  ! ls "$dir" | grep -v '^sums\.blkhash-' | grep 'blkhash-\(lock\|new\)$' ||
    fail "left behind"
}

# ---- The disk, and other files in parameters ----

for parameter in blkhash-file blkhash-manifest; do
  keeps image "$parameter and file are the same file" file image $parameter=image
  keeps image "" file file="$dir/image" $parameter=image
done
cmp image copy

: > empty
ln -s empty symbolic
ln empty hard
for parameter in blkhash-file blkhash-manifest; do
  for disk in empty "$dir/empty" file=empty; do
    for name in empty "$dir/empty" symbolic hard; do
      keeps empty "$parameter and file are the same file" file $disk $parameter=$name
      keeps empty "$parameter and file are the same file" file $parameter=$name file=$name
    done
  done
  # A parameter of a filter below, whose file may not exist yet.
  refuses_to_start "are the same file" --filter=log null logfile=log $parameter=log
  rm -f log
done
# The same for files that the filter creates beside its results.
for beside in new old lock; do
  : > "sums.blkhash-$beside"
  keeps "sums.blkhash-$beside" "are the same file" \
        file "sums.blkhash-$beside" blkhash-file=sums
  rm "sums.blkhash-$beside"
done
: > m.blkhash-saving
keeps m.blkhash-saving "are the same file" file m.blkhash-saving blkhash-manifest=m
rm -f m.blkhash-saving sums m

# A digest is not a file name, so a result file may have the same name.
: > sha512
run 0 nbdkit -U - --filter="$filter" null 1M blkhash-digest=sha512 \
    blkhash-file=sha512 --run 'nbdcopy "$uri" null:'
rm sha512

# ---- Files that the filter did not write ----

blksum --manifest good.blkm image > list
blksum copy >> list
blksum --tag image > tagged
blksum -d md5 - < image > md5
head -c 200 good.blkm > cut.blkm
cp good.blkm more.blkm
echo >> more.blkm
echo notes > text
printf '\n' > newline
head -c 1000 /dev/zero > zeros
printf '%s  -' "$wanted" > no-end
printf '%s  -\n%s  -\n' "$wanted" "$wanted" > twice
printf '%s\n%s  a\nnotes\n' "$result_header" "$wanted" > appended
printf '%s\n# unknown a: why\nnotes\n' "$result_header" > appended-2
printf '# unknown a: why\n' > headless
printf '%s\n# differs a: 5 bytes\n' "$result_header" > of-verify
printf '%s\n%s  a\n# notes\n' "$result_header" "$wanted" > commented
printf '%s\n%s  a' "$result_header" "$wanted" > no-end-2
{ printf '# incomplete a: '; head -c 600000 /dev/zero | tr '\0' x; } > long

not_ours='exists and is not .*: it is not replaced; remove it'
for file in list tagged md5 good.blkm cut.blkm text newline zeros no-end twice \
            appended appended-2 headless of-verify commented no-end-2 long; do
  keeps $file "blkhash-file: .*/$file $not_ours" null 1M blkhash-file=$file
done
keeps tagged "$not_ours" null blkhash-file=tagged blkhash-name=copy
for file in list text cut.blkm more.blkm zeros; do
  keeps $file "blkhash-manifest: .*/$file $not_ours" null 1M \
        blkhash-manifest=$file
done

# Both files are checked before either is changed.
echo "$wanted  -" > sums
cp good.blkm manifest
keeps sums "$not_ours" null blkhash-file=sums blkhash-manifest=text
keeps manifest "$not_ours" null blkhash-file=text blkhash-manifest=manifest
keeps text "$not_ours" null blkhash-file=fresh blkhash-manifest=text
keeps text "$not_ours" null blkhash-manifest=fresh blkhash-file=text
refuses_to_start 'are the same file' null blkhash-file=fresh blkhash-manifest=fresh
refuses_to_start 'No such file' null blkhash-file=fresh blkhash-manifest=none/m
! ls | grep fresh || fail "created although nbdkit did not start"

# Something else has the name of a file that the filter creates temporarily.
mkdir directory
for beside in sums.blkhash-new sums.blkhash-old sums.blkhash-lock \
              manifest.blkhash-new manifest.blkhash-old manifest.blkhash-lock \
              manifest.blkhash-saving; do
  for make in 'mkdir' 'mkfifo' 'ln -s text' 'ln -s nothing'; do
    $make $beside
    for file in sums manifest; do
      cp -a $file kept
      refuses_to_start "cannot c.*$beside\\|$beside \(is not an empty file\|exists and is not\)" \
                       null blkhash-file=sums blkhash-manifest=manifest
      cmp $file kept || fail "$file was changed"
    done
    [ -L $beside ] || [ -d $beside ] || [ -p $beside ] ||
      fail "$beside was removed"
    rm -r $beside
  done
done
[ ! -e nothing ] || fail "created through a link"

# A file of a user that could not be put back: see replace.c.
for old in sums.blkhash-old manifest.blkhash-old; do
  cp text $old
  keeps $old "$old $not_ours" null 1M blkhash-file=sums blkhash-manifest=manifest
  rm $old
done

# ---- Files that the filter wrote ----

# again PARAMETER...: runs the same command twice.
again () {
  for i in 1 2 3; do
    run 0 nbdkit -U - --filter="$filter" file image blkhash-file=ours \
        blkhash-manifest=ours.blkm "$@" --run "$client"
    [ "$(ls ours*)" = "ours
ours.blkm" ] || fail "left behind: $(ls ours*)"
  done
  cat ours
  rm -f ours ours.blkm
}
client='nbdcopy "$uri" null:'
again
again blkhash-name=image
again blkhash-name=
again blkhash-name='a\b  c) = (d'
again blkhash-tag=false
again blkhash-tag=false blkhash-name='a\b  c) = (d'
again blkhash-digest=sha512/4k/s3

# A result of another spec.
for spec in sha256/64k md5/4k sha512/64k/s64; do
  run 0 nbdkit -U - --filter="$filter" file image blkhash-file=ours \
      blkhash-digest=$spec --run "$client"
  [ "$(without_header ours)" = "$(blksum --tag -d $spec - < image)" ] ||
    fail "$(cat ours)"
done
rm ours
again blkhash-digest=null/64k/linear
client='nbdinfo --size "$uri"'
again
again blkhash-name=image
client='for name in "" a b%20%20c; do
  nbdcopy "nbd+unix:///$name?socket=$unixsocket" null:
  nbdinfo "nbd+unix:///x$name?socket=$unixsocket"
done'
again
again blkhash-tag=false

# Results of old filters, with another name of the default export, and with the
# same one; the files that a killed nbdkit left.
for line in "$wanted  -" "$wanted  image" "blk-sha256/64k (-) = $wanted" \
            "# incomplete other: why"; do
  echo "$line" > sums
  for file in sums manifest; do
    echo left > $file.blkhash-new
    : > $file.blkhash-lock
  done
  echo "$line" > sums.blkhash-old
  cp good.blkm manifest.blkhash-old
  head -c 10 good.blkm > manifest.blkhash-saving
  run 0 nbdkit -U - --filter="$filter" file image blkhash-file=sums \
      blkhash-name=image blkhash-manifest=manifest \
      --run 'test ! -s sums && test ! -s manifest && nbdcopy "$uri" null:'
  [ "$(without_header sums)" = "$(sum_line "$wanted" image)" ] ||
    fail "$(cat sums)"
  [ "$(ls sums* manifest*)" = "manifest
sums" ] || fail "left behind: $(ls sums* manifest*)"
done
cmp image copy

# ---- Files that others put there while nbdkit runs ----

# theirs FILE: another program replaces FILE by text, in some way.  FILE.blkhash-old
# never has their file afterwards.
theirs () {
  case $how in
    rename) cp text put && mv put "$1" ;;
    # The file system may use the inode number of the removed file again.
    remove) rm "$1" && cp text "$1" ;;
    link) ln -sf text "$1" ;;
    same) cp "$1" put && mv put "$1" ;;
  esac
}

for how in rename remove link same; do
  for file in sums manifest; do
    rm -f sums manifest
    serve file copy blkhash-file=sums blkhash-manifest=manifest
    copy "$uri" null:
    wait_for_sum copy
    theirs $file
    cp -a $file put
    # The sum is withdrawn, and then there is a new one.
    client "" 'h.pwrite(b"x", 0)'
    wait_until all_disconnected
    if [ $how = same ]; then
      ! grep "error: blkhash-" "$log" || fail "a copy of ours was refused"
    else
      grep -q "error: blkhash-.*/$file $not_ours" "$log" || fail "not in the log"
      diff --no-dereference put $file || fail "$file was changed"
      grep -qx notes text || fail "changed through a link"
      # There is no sum without the file of the other one.
      [ $file = sums ] || wait_for_sum copy
      rm $file
      client "" 'h.pwrite(b"y", 0)'
    fi
    wait_for_sum copy
    manifest_is copy
    only_lock_beside sums
    only_lock_beside manifest
    stop
    rm put
  done
done
