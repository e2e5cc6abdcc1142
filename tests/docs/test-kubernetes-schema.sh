#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Jobs in examples/kubernetes are valid by the schemas of Kubernetes: by
# those of the oldest version that has all their fields, and by the newest.  The
# program is kubernetes-validate of PyPI, which includes the schemas.

. "$(dirname "$0")/../functions.sh"
requires_program kubernetes-validate
cd "$dir"

for file in "$abs_top_srcdir"/examples/kubernetes/*.yaml; do
  run 0 kubernetes-validate --strict -k 1.29.0 "$file"
  run 0 kubernetes-validate --strict "$file"
  # A misspelled field is detected.
  sed 's/backoffLimit/backofLimit/' "$file" > wrong.yaml
  run 1 kubernetes-validate --strict wrong.yaml
  sed 's/mountPath: .*/mountPath: [1]/' "$file" > wrong.yaml
  run 1 kubernetes-validate --strict wrong.yaml
done
