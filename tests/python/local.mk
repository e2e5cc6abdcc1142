# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

once_tests += \
	python/test-module.sh \
	python/test-random.sh \
	python/test-mypy.sh

long_tests += \
	python/test-debug.sh \
	python/test-valgrind.sh

EXTRA_DIST += \
	python/python-functions.sh \
	python/test-module.py \
	python/test-processes.py \
	python/test-random.py

# The programs in examples/python.
once_tests += \
	python/test-example-kubevirt-pull.sh \
	python/test-example-hash-nbd.sh \
	python/test-example-fidx2blkm.sh \
	python/test-example-judge.sh

EXTRA_DIST += \
	python/kubevirt-server.py
