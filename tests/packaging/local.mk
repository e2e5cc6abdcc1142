# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

once_tests += \
	packaging/test-aarch64.sh \
	packaging/test-install.sh \
	packaging/test-deb.sh \
	packaging/test-archive.sh \
	packaging/test-in-tree.sh \
	packaging/test-files.sh \
	packaging/test-licenses.sh \
	packaging/test-rpm.sh \
	packaging/test-pip.sh \
	packaging/test-pkgconfig.sh \
	packaging/test-portable.sh \
	packaging/test-quickstart.sh \
	packaging/test-quickstart-user.sh

long_tests += \
	packaging/test-home.sh

EXTRA_DIST += \
	packaging/portability.sh \
	packaging/portable.h
