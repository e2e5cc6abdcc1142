# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	blksum/test-indirect.sh \
	blksum/test-advice.sh \
	blksum/test-ahead.sh \
	blksum/test-also.sh \
	blksum/test-also-random.sh \
	blksum/test-cache-fallback.sh \
	blksum/test-changed-early.sh \
	blksum/test-changing.sh \
	blksum/test-check.sh \
	blksum/test-complete.sh \
	blksum/test-container.sh \
	blksum/test-damaged.sh \
	blksum/test-device.sh \
	blksum/test-digests.sh \
	blksum/test-errors.sh \
	blksum/test-evil-server.sh \
	blksum/test-expect.sh \
	blksum/test-few-files.sh \
	blksum/test-formats.sh \
	blksum/test-last-offset.sh \
	blksum/test-layers.sh \
	blksum/test-libnbd.sh \
	blksum/test-manifest.sh \
	blksum/test-long-names.sh \
	blksum/test-named-files.sh \
	blksum/test-nbd-errors.sh \
	blksum/test-nbd-servers.sh \
	blksum/test-operands.sh \
	blksum/test-output.sh \
	blksum/test-overwrite.sh \
	blksum/test-progress.sh \
	blksum/test-qcow2-corrupt.sh \
	blksum/test-qcow2-direct.sh \
	blksum/test-qcow2-random.sh \
	blksum/test-remote-truncated.sh \
	blksum/test-seeming-empty.sh \
	blksum/test-stdio.sh \
	blksum/test-truncated-formats.sh \
	blksum/test-vmdk-crafted.sh

once_tests += \
	blksum/test-completion-bash.sh \
	blksum/test-completion-fish.sh \
	blksum/test-completion-zsh.sh \
	blksum/test-manifest-signals.sh \
	blksum/test-no-proc-device.sh \
	blksum/test-no-proc.sh \
	blksum/test-page-cache-model.sh \
	blksum/test-threads-memory.sh \
	blksum/test-tmpfs.sh \
	blksum/test-2038.sh \
	blksum/test-5t.sh \
	blksum/test-blkverify.sh \
	blksum/test-check-damaged.sh \
	blksum/test-check-sources.sh \
	blksum/test-dmg.sh \
	blksum/test-fake-qemu-nbd.sh \
	blksum/test-hash-options.sh \
	blksum/test-json.sh \
	blksum/test-letter-c.sh \
	blksum/test-locks.sh \
	blksum/test-long-chain.sh \
	blksum/test-luks.sh \
	blksum/test-manifest-operand.sh \
	blksum/test-matrix.sh \
	blksum/test-memory.sh \
	blksum/test-names.sh \
	blksum/test-nbd-extents.sh \
	blksum/test-nbd-sizes.sh \
	blksum/test-nbd-tls.sh \
	blksum/test-nbd-unneeded.sh \
	blksum/test-no-direct-io.sh \
	blksum/test-options.sh \
	blksum/test-page-cache.sh \
	blksum/test-permission.sh \
	blksum/test-pipe.sh \
	blksum/test-qcow2-compressed.sh \
	blksum/test-qcow2-state.sh \
	blksum/test-qcow2.sh \
	blksum/test-qemu-says.sh \
	blksum/test-race.sh \
	blksum/test-shrinking.sh \
	blksum/test-sigkill.sh \
	blksum/test-signals.sh \
	blksum/test-size.sh \
	blksum/test-sizes.sh \
	blksum/test-stdin-position.sh \
	blksum/test-truncated.sh \
	blksum/test-vhdx.sh \
	blksum/test-vpc.sh

EXTRA_DIST += \
	blksum/also-random.py \
	blksum/blkverify-random.py \
	blksum/completion-functions.sh \
	blksum/completion.py \
	blksum/craft-image.py \
	blksum/damaged.py \
	blksum/matrix.py \
	blksum/page-cache-functions.sh \
	blksum/page-cache.c \
	blksum/qcow2-compressed.py \
	blksum/qcow2-random.py \
	blksum/vhdx-edit.py
