# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh: packages of Debian that tests run from
# directories, because installing them would start services, or install much that is
# not needed, or because they are of unstable.  "./quickstart check" unpacks them; for a
# build elsewhere, BLKHASH_UNPACKED=DIR names the first directory.

unpacked=${BLKHASH_UNPACKED:-$abs_top_builddir/unpacked}

# Installed programs are found first.
for root in "$unpacked" "$unpacked-sid" "$unpacked-long"; do
  PATH=$PATH:$root/usr/bin:$root/usr/sbin:$root/bin:$root/sbin
  for libraries in "$root"/usr/lib/*-linux-gnu*; do
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$libraries
  done
done
