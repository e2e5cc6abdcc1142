# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

once_tests += \
	v2v/test-copy.sh \
	v2v/test-failures.sh \
	v2v/test-names.sh \
	v2v/test-overwrite.sh \
	v2v/test-signals.sh

# "make check-v2v" is not a part of "make check": it takes minutes, and needs virt-v2v.
v2v_tests = \
	v2v/test-real-flipped.sh \
	v2v/test-real-interrupted.sh \
	v2v/test-real-null.sh \
	v2v/test-real-qcow2.sh \
	v2v/test-real-raw.sh

check-v2v:
	$(MAKE) check TESTS='$(v2v_tests)'

EXTRA_DIST += \
	v2v/functions.sh \
	v2v/make-guest.sh \
	v2v/real-functions.sh \
	$(v2v_tests)

# The appliance of libguestfs, which all these tests use.
clean-local:
	rm -rf v2v/cache

.PHONY: check-v2v
