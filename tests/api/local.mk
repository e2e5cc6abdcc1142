# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	api/test-api.sh

once_tests += \
	api/test-abi.sh \
	api/test-headers.sh \
	api/test-interface.sh \
	api/test-soname.sh \
	api/test-symbols.sh

long_tests += \
	api/test-slow.sh

EXTRA_DIST += \
	api/interface.txt \
	api/upstream-api.h \
	api/upstream-program.c \
	api/v1

check_PROGRAMS += test-api
test_api_SOURCES = api/test-api.c

# Updates lib/abi: see HACKING.md.
update-abi:
	BLKHASH_UPDATE_ABI=1 $(srcdir)/api/test-abi.sh
# Updates interface.txt, in a build with nbdkit.
update-interface:
	BLKHASH_UPDATE_INTERFACE=1 $(srcdir)/api/test-interface.sh
.PHONY: update-abi update-interface
