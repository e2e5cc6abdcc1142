# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	bench/test-bench.sh

long_tests += \
	bench/test-slow.sh \
	bench/test-blksum.sh \
	bench/test-images.sh \
	bench/test-latency.sh \
	bench/test-passes.sh \
	bench/test-plot.sh \
	bench/test-requests.sh \
	bench/test-scripts.sh \
	bench/test-verify.sh
