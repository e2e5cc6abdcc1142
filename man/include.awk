# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Replace "=for include FILE" in a manual page by FILE, a path below TOP, from its
# first command of POD on.  Fails if there is no such file.

/^=for include / {
  file = top "/" $3
  has_begun = 0
  while ((status = (getline line < file)) > 0) {
    has_begun = has_begun || line ~ /^=/
    if (has_begun)
      print line
  }
  if (status < 0) {
    print FILENAME ": cannot read " file | "cat 1>&2"
    exit 1
  }
  close (file)
  next
}
{ print }
