#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If the packages are installed, ./quickstart needs neither root nor sudo.  It prints
# five equal sums of a disk, or the sum of IMAGE, and leaves nothing outside its own
# directory.
#
# The build is replaced by this one.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_no_sanitizer
requires_program bash make nbdkit nbdcopy
[ -f "$abs_top_builddir/filter/.libs/nbdkit-blkhash-filter.so" ] ||
  skip "built without nbdkit"
# An ordinary user, to whom the files of this one belong.
user="unshare --user --map-user=1000 --map-group=1000"
[ "$(id -u)" != 0 ] || requires $user true
[ "$(id -u)" = 0 ] || user=

cd "$dir"
mkdir top
cp "$abs_top_srcdir/quickstart" "$abs_top_srcdir/configure.ac" top
cat > top/bootstrap << END
#!/bin/sh
cat > "$dir/top/configure" << 'EOF_'
#!/bin/sh
ln -s "$abs_top_builddir/tools" "$abs_top_builddir/filter" .
echo 'all clean:' > Makefile
EOF_
chmod +x "$dir/top/configure"
END
# All packages are installed, and nothing may install one.
cat > bin/dpkg-query << 'END'
#!/bin/sh
echo installed
END
printf '#!/bin/sh\n' > bin/pkg-config
for name in apt-get dnf sudo; do
  printf '#!/bin/sh\necho %s >> "%s"\nexit 1\n' $name "$dir/used" > bin/$name
done
chmod +x bin/* top/bootstrap

make_image image
touch before
run 0 $user top/quickstart
sum=$(sed -n 's/^All five are the same: //p' stdout)
[ -n "$sum" ] && [ "$(grep -c "^$sum  \|= $sum\$" stdout)" = 5 ] ||
  fail "not five sums"
run 0 $user top/quickstart image
[ "$(tail -n 1 stdout)" = "$(blksum image)" ] || fail "not the sum of the image"
[ ! -e used ] || fail "ran $(cat used)"
found=$(find . -newer before -type f ! -path './top/*' ! -name std\*)
[ -z "$found" ] || fail "wrote $found"
