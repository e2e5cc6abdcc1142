#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A dmg, whatever its name is, is detected by its trailer, and refused.  A file with
# a similar end is raw.

. "$(dirname "$0")/../functions.sh"
requires_qemu
cd "$dir"

make_image raw
"$PYTHON" "$abs_top_srcdir/tests/blksum/craft-image.py" dmg image raw
for name in image image.dmg; do
  [ -e $name ] || cp image $name
  refuses "dmg.*qemu-img convert -f dmg .*-f raw" blksum $name
  prints_sum "$(reference $name)" blksum -f raw $name
done

# Standard input is raw.
from_stdin () { blksum < image; }
from_pipe () { cat image | blksum; }
prints_sum "$(reference image)" from_stdin
prints_sum "$(reference image)" from_pipe

# Another version, another size, another position of the trailer.
tail -c 512 image > end
for edit in '4 \000\000\000\005' '8 \000\000\004\000' '0 kolz'; do
  cp image other
  printf "${edit#* }" |
    dd of=other bs=1 seek=$(($(stat -c %s image) - 512 + ${edit%% *})) \
       conv=notrunc status=none
  prints_sum "$(reference other)" blksum other
done
{ cat image; printf x; } > other
prints_sum "$(reference other)" blksum other
tail -c 511 image > other
prints_sum "$(reference other)" blksum other

# A disk that ends like a dmg is detected as one, as with any magic.
truncate -s 1m other
cat end >> other
refuses "dmg.*qemu-img convert -f dmg .*-f raw" blksum other
