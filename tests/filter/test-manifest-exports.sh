#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A manifest describes one disk, for all its export names.  If names are
# different disks there is no manifest, because it would not be clear which disk
# it describes.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"

# Any name, including that of the default export.
cp "$dir/image" "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
for name in a b ""; do
  client "$name" 'h.pread(h.get_size(), 0)'
  wait_for_sum "$dir/disk" "${name:--}"
  manifest_is "$dir/disk"
done

# A change by one name invalidates the manifest, whatever its name was.
for name in a b ""; do
  client "$name" "h.pwrite(b'1', 1000000 + len('$name'))
assert content('$manifest') == b''"
  wait_for_sum "$dir/disk" "${name:--}"
  manifest_is "$dir/disk"
done
client "" "h2 = connect('a')
h3 = connect('b')
h.pwrite(b'2' * 100000, 0)
h2.pwrite(b'3' * 100000, 50000)
h3.pwrite(b'4' * 100000, 5000000)
h2.shutdown()
h3.shutdown()"
wait_for_sum "$dir/disk"
stop
manifest_is "$dir/disk"

# Many names get their sums at once.
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
for round in 1 2 3; do
  client "" "names = [str(i) for i in range(20)]
h.pwrite(b'$round', 70000)
clients = [connect(name) for name in names]
for h2 in clients: h2.pread(h2.get_size(), 0)
for h2 in clients: h2.shutdown()
h.pread(1, 0)"
  wait_for_sum "$dir/disk"
  wait_until all_disconnected
  manifest_is "$dir/disk"
done
stop
manifest_is "$dir/disk"

# Exports are different disks: the user says so, or the filter detects it.
mkdir "$dir/disks"
cp "$dir/image" "$dir/disks/a"
cp "$dir/image" "$dir/disks/same"
head -c 1000000 "$dir/image" > "$dir/disks/b"
serve file dir="$dir/disks" blkhash-file="$sums" blkhash-manifest="$manifest"
client a 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disks/a" a
manifest_is "$dir/disks/a"
client same 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disks/same" same
manifest_is "$dir/disks/a"
client b 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disks/b" b
no_manifest
wait_until grep -q 'blkhash: the sums of export names differ' "$log"
stop
has_line "$(sum_line "$(reference "$dir/disks/a")" a)" || fail "the sum of a is missing"
no_manifest
