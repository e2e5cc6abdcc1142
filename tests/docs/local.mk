# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

once_tests += \
	docs/test-backup-chain.sh \
	docs/test-claims.sh \
	docs/test-docs.sh \
	docs/test-kubernetes.sh \
	docs/test-kubernetes-schema.sh \
	docs/test-layers.sh \
	docs/test-readme.sh \
	docs/test-recipes.sh \
	docs/test-slurm.sh \
	docs/test-wrap.sh

long_tests += \
	docs/test-kernel.sh

EXTRA_DIST += \
	docs/claims.py \
	docs/guide-functions.sh \
	docs/run-container.py \
	docs/slurm-functions.sh
