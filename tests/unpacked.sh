# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh: packages of Debian that tests run and nobody needs
# to install, for that would start services.  "./quickstart check" unpacks them;
# for a build elsewhere, BLKHASH_UNPACKED=DIR says where they are.

unpacked=${BLKHASH_UNPACKED:-$abs_top_builddir/unpacked}

# What is installed is found first.
PATH=$PATH:$unpacked/usr/bin:$unpacked/usr/sbin
for libraries in "$unpacked"/usr/lib/*-linux-gnu*; do
  LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$libraries
done
