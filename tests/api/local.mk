# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	api/test-api.sh

once_tests += \
	api/test-abi.sh \
	api/test-headers.sh \
	api/test-soname.sh \
	api/test-symbols.sh

long_tests += \
	api/test-slow.sh

EXTRA_DIST += \
	api/upstream-api.h \
	api/upstream-program.c

check_PROGRAMS += test-api
test_api_SOURCES = api/test-api.c

# Updates lib/abi: see HACKING.md.
update-abi:
	BLKHASH_UPDATE_ABI=1 $(srcdir)/api/test-abi.sh
.PHONY: update-abi
