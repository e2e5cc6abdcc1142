# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	blkhash/test-part-compare.sh \
	blkhash/test-parts.sh \
	blkhash/test-merge.sh \
	blkhash/test-changed-formats.sh \
	blkhash/test-compare.sh \
	blkhash/test-update.sh \
	blkhash/test-compare-pipe.sh \
	blkhash/test-bitmap.sh \
	blkhash/test-compare-random.sh \
	blkhash/test-compare-size.sh \
	blkhash/test-export.sh \
	blkhash/test-mapfile.sh \
	blkhash/test-merge-random.sh \
	blkhash/test-repair-device.sh \
	blkhash/test-repair-filesystem.sh \
	blkhash/test-repair-layers.sh \
	blkhash/test-repair-nbd.sh \
	blkhash/test-repair-proc.sh \
	blkhash/test-repair-refused.sh \
	blkhash/test-repair-sysfs.sh

once_tests += \
	blkhash/test-migration.sh \
	blkhash/test-migration-running.sh \
	blkhash/test-audit.sh \
	blkhash/test-compare-many.sh \
	blkhash/test-compare-nbd.sh \
	blkhash/test-compare-silent.sh \
	blkhash/test-export-random.sh \
	blkhash/test-locate.sh \
	blkhash/test-repair-limit.sh \
	blkhash/test-repair-race.sh \
	blkhash/test-repair-random.sh \
	blkhash/test-repair-storage.sh \
	blkhash/test-repair.sh

long_tests += \
	blkhash/test-export-kernel.sh

EXTRA_DIST += \
	blkhash/audit.py \
	blkhash/compare-random.py \
	blkhash/export-random.py \
	blkhash/locate.py \
	blkhash/merge-random.py \
	blkhash/parts-runs.py \
	blkhash/qmp.py \
	blkhash/repair-random.py
