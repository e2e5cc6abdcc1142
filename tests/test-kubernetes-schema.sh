#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Jobs in examples/kubernetes are what Kubernetes takes, by the schemas that
# it publishes: of the oldest version that knows all of it, and of the newest.
# The program is kubernetes-validate of PyPI, which has the schemas in it.

. "$(dirname "$0")/functions.sh"
requires_program kubernetes-validate
cd "$dir"

for file in "$abs_top_srcdir"/examples/kubernetes/*.yaml; do
  run 0 kubernetes-validate --strict -k 1.29.0 "$file"
  run 0 kubernetes-validate --strict "$file"
  # It would say so if something were wrong.
  sed 's/backoffLimit/backofLimit/' "$file" > wrong.yaml
  run 1 kubernetes-validate --strict wrong.yaml
  sed 's/mountPath: .*/mountPath: [1]/' "$file" > wrong.yaml
  run 1 kubernetes-validate --strict wrong.yaml
done
