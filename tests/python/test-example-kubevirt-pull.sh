#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# examples/python/kubevirt-pull.py: the manifest of a disk is updated from an
# incremental backup of KubeVirt, and is that of the disk.  What a map can hide is
# refused, no reply is taken for more than it is, and the token is nowhere.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit python
requires_program openssl
requires nbdkit python "$abs_top_srcdir/examples/python/kubevirt-pull.py" \
         --dump-plugin

server=$dir/server
mkdir "$server"
printf 'zy37.Kq=/secret' > "$server/token"
echo "$(cat "$server/token")" > "$dir/token" # with a newline, as from an editor
run 0 openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
  -subj /CN=blkhash -addext subjectAltName=IP:127.0.0.1 -days 2 \
  -keyout "$server/key.pem" -out "$server/cert.pem"

make_image "$dir/old"
cp "$dir/old" "$server/disk"
write_data "$server/disk" 3000000 70000
write_zeros "$server/disk" 1048576 131072
write_data "$server/disk" 8388000 100
blksum --manifest "$dir/old.blkm" "$dir/old" > "$dir/old.sum"
blksum --manifest "$dir/expected.blkm" "$server/disk" > "$dir/expected.sum"
cmp -s "$dir/old.blkm" "$dir/expected.blkm" && fail "nothing has changed"

# What a dirty bitmap of 64 KiB has, and which ranges are zeros.
"$PYTHON" - "$dir/old" "$server/disk" > "$server/map" <<'END'
import json
import sys

UNIT = 65536
NAMES = "clean", "dirty", "zero", "dirty,zero"
old, new = (open(name, "rb").read() for name in sys.argv[1:])
extents = []
for start in range(0, len(new), UNIT):
    data = new[start:start + UNIT]
    kind = (data != old[start:start + UNIT]) + 2 * (not any(data))
    if extents and extents[-1]["type"] == kind:
        extents[-1]["length"] += UNIT
    else:
        extents.append({"offset": start, "length": UNIT, "type": kind,
                        "description": NAMES[kind]})
json.dump(extents, sys.stdout)
END
grep -q dirty,zero "$server/map" || fail "no range was changed to zeros"

# serve_backup [FAULT]: sets $web.
backend=
serve_backup () {
  [ -z "$backend" ] || kill "$backend"
  rm -f "$server/port"
  "$PYTHON" "$abs_top_srcdir/tests/python/kubevirt-server.py" "$server" $1 &
  backend=$!
  kill_at_exit $backend
  wait_until test -s "$server/port"
  web=https://127.0.0.1:$(cat "$server/port")
}

# pull STATUS COMMAND [PARAMETER]...: runs COMMAND on a fresh plugin, whose
# parameters can be given again.
pull () {
  wanted=$1 command=$2
  shift 2
  rm -f "$dir/new.blkm" "$dir/pull.sock"
  : > "$server/requests"
  # If nbdkit does not start, it leaves the directory of -U - in /tmp.
  run "$wanted" nbdkit -v -U "$dir/pull.sock" python \
    "$abs_top_srcdir/examples/python/kubevirt-pull.py" map="$web/map" \
    data="$web/data" cacert="$server/cert.pem" token-file="$dir/token" \
    size="$(stat -c %s "$server/disk")" "$@" \
    --run "$command"
  ! grep -qF "$(cat "$server/token")" "$dir/stdout" "$dir/stderr" \
    "$server/requests" || fail "the token is in a message, or in a URL"
}

# requested: prints how many bytes of data were requested.
requested () {
  echo $(($(sed -n 's/^.data.*length=//p' "$server/requests" | paste -s -d +)))
}

# has_error REGEX: in the message of an exception.  Versions of nbdkit print it on a
# line of its own.
has_error () {
  grep -q "^\(nbdkit: .*error:\)\? *[A-Za-z._]*: .*$1" "$dir/stderr" ||
    fail "does not say '$1'"
}

update="blkhash update --audit 100% --changed $dir/changed \
  --manifest $dir/new.blkm $dir/old.blkm \"\$uri\""

# updates: an incremental backup updates the manifest.
updates () {
  rm -f "$dir/changed"
  pull 0 "$update" changed="$dir/changed" "$@"
  cmp "$dir/expected.blkm" "$dir/new.blkm" || fail "another manifest"
}

# refuses_map REGEX [PARAMETER]...: nbdkit says so, makes no list, and runs nothing.
refuses_map () {
  regex=$1
  shift
  rm -f "$dir/changed"
  pull 1 "touch $dir/has-run" changed="$dir/changed" "$@"
  has_error "$regex"
  [ ! -e "$dir/changed" ] || fail "made a list of changes"
  [ ! -e "$dir/has-run" ] || fail "ran a command"
}

# refuses_data REGEX [PARAMETER]...: there is no sum.
refuses_data () {
  regex=$1
  shift
  pull 2 'blksum "$uri"' "$@"
  [ ! -s "$dir/stdout" ] || fail "printed a sum"
  has_error "$regex"
}

serve_backup
updates
[ "$(grep -c '^/map' "$server/requests")" -gt 3 ] || fail "not several pages"
[ "$(stat -c %s "$dir/changed")" -gt 100 ] || fail "no list of changes"
# An older list stays, and is not used.
pull 1 "touch $dir/has-run" changed="$dir/changed"
[ ! -e "$dir/has-run" ] || fail "ran a command with an older list"
# Only what has changed is read; the rest for the audit.
rm "$dir/changed"
pull 0 "$(echo "$update" | sed 's/100%/0%/')" changed="$dir/changed"
cmp "$dir/expected.blkm" "$dir/new.blkm" || fail "another manifest"
[ "$(requested)" -le 400000 ] || fail "read what has not changed"

# A change that is missing in the map is found by the audit: the list is used.
cp "$server/map" "$dir/map"
sed 's/"type": 1, "description": "dirty"/"type": 0, "description": "clean"/' \
    "$dir/map" > "$server/map"
rm -f "$dir/changed"
pull 1 "$update" changed="$dir/changed"
grep -q 'differ from .*old.blkm' "$dir/stderr" || fail "not found by the audit"
cp "$dir/map" "$server/map"

# A map that ends early looks like that of a smaller disk.
refuses_map 'the map ends at 8388608, and not at 16M' size=16M

echo wrong > "$dir/wrong"
refuses_map 'map at 0: the server says 401' token-file="$dir/wrong"
printf 'two\nlines' > "$dir/wrong"
refuses_map 'token-file has no token' token-file="$dir/wrong"
run 0 openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
  -subj /CN=other -days 2 -keyout "$dir/key.pem" -out "$dir/other.pem"
refuses_map 'certificate verify failed' cacert="$dir/other.pem"
refuses_map 'map is not https:' map="http://${web#https://}/map"
refuses_map 'map is not https:' map="$web/map?x-kubevirt-export-token=12"
refuses_map "unknown parameter 'token'" token=12
refuses_map 'map at 0: the server says 404' map="$web/other"

serve_backup full
refuses_map 'not that of an incremental backup'
# Its disk can be read, and its holes are not.
pull 0 'blksum "$uri"'
[ "$(cut -d ' ' -f 1 "$dir/stdout")" = "$(reference "$server/disk")" ] ||
  fail "another sum"
[ "$(requested)" -lt 4000000 ] || fail "read zeros"

serve_backup zero
refuses_map 'not that of an incremental backup'
for fault in two-kinds unknown wrong-type; do
  serve_backup $fault
  refuses_map 'the map has types that are unknown'
done
serve_backup missing-page
refuses_map 'map at [1-9][0-9]*: the next page begins at'
for fault in no-page empty-page; do
  serve_backup $fault
  refuses_map 'map at [1-9][0-9]*: it has no page that begins there'
done
serve_backup no-next
refuses_map 'map at 0: it has no page that begins there'
serve_backup same-page
refuses_map 'map at [1-9][0-9]*: it has no range that begins there'
for fault in gap overlap; do
  serve_backup $fault
  refuses_map 'map at [1-9][0-9]*: it has no range that begins there'
done
serve_backup empty
refuses_map 'map at 0: it has no range that begins there'
serve_backup cut-page
refuses_map 'map at 0: not JSON'
serve_backup hang-map
refuses_map 'timed out' timeout=1
serve_backup forbidden
refuses_map 'map at 0: the server says 403$'
serve_backup redirect
refuses_map 'map at 0: the server says 302'
serve_backup more-members
updates

for fault in slow closes; do
  serve_backup $fault
  updates
done
serve_backup short
refuses_data 'data at [0-9]*: [0-9]* bytes instead of'
serve_backup long
refuses_data 'data at [0-9]*: more than'
serve_backup no-range
refuses_data 'data at [0-9]*: more than'
serve_backup cut
refuses_data 'IncompleteRead'
# On a busy machine the map can be late too.
serve_backup hang
pull 1 'blksum "$uri" && exit 2; exit 1' timeout=1
[ ! -s "$dir/stdout" ] || fail "printed a sum"
has_error 'timed out'
