#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Random images have the sum of the reference for each digest with our own
# kernels: with only one of the kernels that this CPU can run, for each of them,
# and without kernels.  BLKHASH_SEED repeats a run with a printed seed.

. "$(dirname "$0")/functions.sh"
seed=${BLKHASH_SEED:-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')}
echo "seed: $seed"

"$PYTHON" - "$seed" "$dir" << 'END'
import random, sys

rng = random.Random(sys.argv[1])
for number in range(3):
    with open("%s/image%d" % (sys.argv[2], number), "wb") as f:
        for _ in range(rng.randrange(1, 6)):
            length = rng.choice([rng.randrange(100000),
                                 rng.randrange(1, 41) << 16])
            if rng.random() < 0.7:
                f.write(rng.randbytes(length))
            else:
                f.write(bytes(length))
        f.write(rng.randbytes(rng.randrange(200000)))
END

{
  ./lane-kernels
  ./lane-kernels | sed 's/ .*/ none/' | sort -u
} > "$dir/kernels"
[ -s "$dir/kernels" ] || skip "this CPU has no kernels"
for digest in $(cut -d' ' -f1 < "$dir/kernels" | sort -u); do
  for image in "$dir"/image?; do
    for block in 4096 65536; do
      every 1 3 || continue
      sum=$(reference -d $digest -b $block "$image")
      for kernel in $(sed -n "s/^$digest //p" "$dir/kernels"); do
        prints_sum "$sum" env BLKHASH_CPU=$kernel \
                   blksum -d $digest -b $block "$image"
      done
    done
  done
done
