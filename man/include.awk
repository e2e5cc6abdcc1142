# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Replace "=for include FILE" in a manual page by the text of FILE, a path
# below TOP, as a verbatim paragraph.  Fails if there is no such file.

/^=for include / {
  file = top "/" $3
  while ((status = (getline line < file)) > 0)
    print (line == "" ? "" : " " line)
  if (status < 0) {
    print FILENAME ": cannot read " file | "cat 1>&2"
    exit 1
  }
  close (file)
  next
}
{ print }
