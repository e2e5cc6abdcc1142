#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A directory in which the result file cannot be replaced is an error at the
# start, for any user that nbdkit runs as.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

mkdir "$dir/closed"
touch "$dir/closed/sums"
chmod 666 "$dir/closed/sums"
chmod 555 "$dir/closed"
if [ "$(id -u)" = 0 ]; then
  requires_program setpriv
  chmod 755 "$dir"
  as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
  cp "$filter" "$dir/nbdkit-blkhash-filter.so"
  filter=$dir/nbdkit-blkhash-filter.so
  mkdir "$dir/home"
  chmod 777 "$dir/home"
  export TMPDIR="$dir/home"
fi
requires $as_user nbdkit -U - null --run true
run 1 $as_user nbdkit -U "$dir/refused.sock" --filter="$filter" null \
    blkhash-file="$dir/closed/sums" --run true
grep -q 'cannot create .*: Permission denied' "$dir/stderr" ||
  fail "no error that names the result file"
run 1 $as_user nbdkit -U "$dir/refused.sock" --filter="$filter" null \
    blkhash-file="$dir/closed/new" --run true
grep -q 'blkhash-file: .*Permission denied' "$dir/stderr" ||
  fail "no error that names the result file"
