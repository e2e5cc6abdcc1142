# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# To be sourced by test-random-FAMILY.sh, which sets $family: random calls of
# the library against the reference, with sha256 only, and with one SHA-256
# kernel only, for each kernel of the family that this CPU has.

kernels=$(./lane-kernels | grep "^$family-") ||
  skip "this CPU has no $family"
rounds=${BLKHASH_ROUNDS:-20}
if [ -n "$wrapper" ] || [ "$SANITIZE" != no ]; then
  rounds=${BLKHASH_ROUNDS:-5}
fi
export BLKHASH_DRIVER_WRAPPER="$(echo $wrapper)"
for kernel in $kernels; do
  echo "kernel: $kernel"
  BLKHASH_CPU=$kernel "$PYTHON" "$abs_top_srcdir/tests/test-random.py" \
    --driver "$(real_program ./blkhash-driver)" --digest sha256 \
    --rounds "$rounds"
done
