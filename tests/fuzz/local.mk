# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	fuzz/test-fuzz.sh

EXTRA_DIST += \
	fuzz/changes \
	fuzz/make-seeds.py \
	fuzz/manifest \
	fuzz/sums

check_PROGRAMS += fuzz-manifest
# As libFuzzer runs it, but with the files on the command line.
fuzz_manifest_SOURCES = fuzz/fuzz-manifest.c fuzz/fuzz-main.h
fuzz_manifest_CPPFLAGS = \
	$(AM_CPPFLAGS) -I$(top_srcdir)/lib -DFUZZ_STANDALONE
fuzz_manifest_LDADD = $(top_builddir)/lib/libcore.la
