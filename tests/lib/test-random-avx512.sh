#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs random calls with each kernel of a family: see random-kernels.sh.

. "$(dirname "$0")/../functions.sh"
family=avx512
. "$(dirname "$0")/random-kernels.sh"
