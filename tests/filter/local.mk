# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	filter/test-aliases.sh \
	filter/test-default-export.sh \
	filter/test-ending.sh \
	filter/test-errors.sh \
	filter/test-manifest-stale.sh \
	filter/test-only-probed.sh \
	filter/test-size-changed.sh

once_tests += \
	filter/test-cancel.sh \
	filter/test-check.sh \
	filter/test-crash.sh \
	filter/test-extents.sh \
	filter/test-last-read-extents.sh \
	filter/test-last-read-pread.sh \
	filter/test-lock.sh \
	filter/test-manifest-file.sh \
	filter/test-manifest-sigkill.sh \
	filter/test-manifest-sigterm.sh \
	filter/test-many-names.sh \
	filter/test-not-ours.sh \
	filter/test-parameters.sh \
	filter/test-pass-through.sh \
	filter/test-result-file.sh \
	filter/test-result-unwritable.sh \
	filter/test-retry.sh \
	filter/test-size-changed-reading.sh \
	filter/test-twice.sh \
	filter/test-update-refused.sh \
	filter/test-waiting.sh \
	filter/test-aliases-pass.sh \
	filter/test-cache.sh \
	filter/test-copy-read.sh \
	filter/test-copy-write.sh \
	filter/test-curl.sh \
	filter/test-cycles.sh \
	filter/test-exports.sh \
	filter/test-fast-zero.sh \
	filter/test-filters.sh \
	filter/test-fio.sh \
	filter/test-handshake.sh \
	filter/test-in-flight.sh \
	filter/test-last-pass.sh \
	filter/test-manifest-disk-full.sh \
	filter/test-manifest-exports.sh \
	filter/test-manifest-missing.sh \
	filter/test-manifest.sh \
	filter/test-names.sh \
	filter/test-no-multi-conn.sh \
	filter/test-opening.sh \
	filter/test-overlap.sh \
	filter/test-own-views.sh \
	filter/test-pieces.sh \
	filter/test-plugins.sh \
	filter/test-qemu-img.sh \
	filter/test-result-disk-full.sh \
	filter/test-sizes.sh \
	filter/test-stale.sh \
	filter/test-tls.sh \
	filter/test-trim.sh \
	filter/test-update.sh

long_tests += \
	filter/test-visibility.sh

EXTRA_DIST += \
	filter/crash-model.py \
	filter/fio-job.py \
	filter/last-read.sh

# A plugin whose connections can have their own views of the disk.
if HAVE_NBDKIT
check_LTLIBRARIES += snapshot-plugin.la
snapshot_plugin_la_SOURCES = \
	filter/snapshot-plugin.c \
	filter/snapshot-view.c filter/snapshot-view.h \
	filter/hold.c filter/hold.h
snapshot_plugin_la_CPPFLAGS = $(NBDKIT_CFLAGS)
snapshot_plugin_la_LDFLAGS = $(module_flags)
snapshot_plugin_la_LIBADD = -ldl
endif
