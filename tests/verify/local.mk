# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	verify/test-exports.sh \
	verify/test-repair.sh \
	verify/test-result.sh

once_tests += \
	verify/test-start.sh \
	verify/test-curl.sh \
	verify/test-disk-full.sh \
	verify/test-ending.sh \
	verify/test-mapfile.sh \
	verify/test-stacks.sh \
	verify/test-status.sh \
	verify/test-verify.sh
