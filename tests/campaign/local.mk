# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later

both_tests += \
	campaign/test-filter.sh \
	campaign/test-verify-repair.sh \
	campaign/test-foreign-images.sh \
	campaign/test-repair-sigkill.sh

once_tests += \
	campaign/test-call-faults.sh \
	campaign/test-limits.sh \
	campaign/test-filter-call-faults.sh \
	campaign/test-filter-update-sigkill.sh \
	campaign/test-power-cuts.sh \
	campaign/test-migration.sh \
	campaign/test-verify.sh

# Tests of other folders that write a line of the table, too.
reporting_tests = \
	blkhash/test-repair-random.sh \
	blksum/test-blkverify.sh

EXTRA_DIST += \
	campaign/call-faults-libc.c \
	campaign/call-faults-libs.c \
	campaign/call-faults-module.c \
	campaign/call-faults.c \
	campaign/call-faults.h \
	campaign/call-functions.sh \
	campaign/callerrors.py \
	campaign/calljobs.py \
	campaign/callrun.py \
	campaign/callserver.py \
	campaign/campaign.py \
	campaign/clients.py \
	campaign/crowd.py \
	campaign/cutfilter.py \
	campaign/cutjobs.py \
	campaign/cutmodel.py \
	campaign/fetch-samples \
	campaign/filter-update-sigkill.py \
	campaign/filters.py \
	campaign/foreign-images.py \
	campaign/forgetful.py \
	campaign/jumping-clock.c \
	campaign/limits.py \
	campaign/mutants.py \
	campaign/mutanttests.py \
	campaign/mutate.py \
	campaign/repairdisk.py \
	campaign/repairsource.py \
	campaign/run.py \
	campaign/server.py \
	campaign/serverjob.py \
	campaign/serverjobs.py \
	campaign/stacks.py \
	campaign/test-call-faults.py \
	campaign/test-limits.py \
	campaign/test-migration.py \
	campaign/test-power-cuts.py \
	campaign/test-verify-repair.py \
	campaign/test-verify.py \
	campaign/verifyclients.py \
	campaign/verifydisk.py \
	campaign/verifyfiles.py \
	campaign/warmcopy.py \
	campaign/warmdisk.py \
	campaign/warmsource.py

# Storage that forgets: a file system of test-power-cuts.sh.
if HAVE_FUSE3
check_PROGRAMS += forgetful-fs
forgetful_fs_SOURCES = \
	campaign/forgetful-fs.c campaign/forgetful-store.c \
	campaign/forgetful-store.h
forgetful_fs_CPPFLAGS = $(FUSE3_CFLAGS)
forgetful_fs_LDADD = $(FUSE3_LIBS)
endif

# A plugin with faults.
if HAVE_NBDKIT
check_LTLIBRARIES += faults-plugin.la
faults_plugin_la_SOURCES = campaign/faults-plugin.c
faults_plugin_la_CPPFLAGS = $(NBDKIT_CFLAGS)
faults_plugin_la_LDFLAGS = $(module_flags)
endif

# Thousands of faults, and a table of how they ended: see docs/trust.md.
check-campaign:
	rm -f campaign.tsv
	status=0; BLKHASH_REPORT=$(abs_builddir)/campaign.tsv \
	$(MAKE) check \
	  TESTS='$(filter campaign/%, $(once_tests) $(both_tests)) $(reporting_tests)' || \
	  status=1; \
	$(PYTHON) $(srcdir)/faultreport.py campaign.tsv || status=1; exit $$status

.PHONY: check-campaign
