# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	lib/test-manifest.sh \
	lib/test-random.sh

once_tests += \
	lib/test-reference.sh \
	lib/test-random-avx2.sh \
	lib/test-random-avx512.sh \
	lib/test-random-avx512sha.sh \
	lib/test-random-shani.sh

EXTRA_DIST += \
	lib/manifestdriver.py \
	lib/random-kernels.sh \
	lib/test-manifest-diff.py \
	lib/test-manifest.py \
	lib/test-random.py

check_PROGRAMS += blkhash-driver lane-kernels manifest-driver
blkhash_driver_SOURCES = lib/blkhash-driver.c
manifest_driver_SOURCES = lib/manifest-driver.c
# It uses internals of the library.
lane_kernels_SOURCES = lib/lane-kernels.c
lane_kernels_CPPFLAGS = -I$(top_srcdir)/lib
lane_kernels_LDADD = $(top_builddir)/lib/libcore.la
