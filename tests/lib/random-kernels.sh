# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by test-random-FAMILY.sh, which sets $family: random calls of the
# library are compared with the reference, with one digest and one kernel at a
# time, for each kernel of the family that this CPU can run.

./lane-kernels | grep " $family-" > "$dir/kernels" ||
  skip "this CPU has no $family"
rounds 3 20 8
export BLKHASH_DRIVER_WRAPPER="$(echo $wrapper)"
while read -r digest kernel; do
  echo "$digest by $kernel"
  BLKHASH_CPU=$kernel "$PYTHON" "$abs_top_srcdir/tests/lib/test-random.py" \
    --driver "$(real_program ./blkhash-driver)" --digest $digest \
    < /dev/null
done < "$dir/kernels"
