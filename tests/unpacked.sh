# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh: packages of Debian that tests run from a
# directory, because installing them would start services, or install much that is
# not needed.  "./quickstart check" unpacks them; for a build elsewhere,
# BLKHASH_UNPACKED=DIR names the directory.

unpacked=${BLKHASH_UNPACKED:-$abs_top_builddir/unpacked}

# Installed programs are found first.
PATH=$PATH:$unpacked/usr/bin:$unpacked/usr/sbin
for libraries in "$unpacked"/usr/lib/*-linux-gnu*; do
  LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$libraries
done
