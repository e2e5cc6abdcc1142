#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# ./quickstart installs BLAKE3 from Debian unstable even if the mirror is a
# snapshot whose Release file has expired, and prints a warning; but not if that
# file is not signed by Debian.
#
# The mirror is a directory, and its packages are empty.  Nothing is installed.

. "$(dirname "$0")/../functions.sh"
requires_root
requires_program apt-get dpkg-deb gpg unshare
grep -qx 'ID=debian' /etc/os-release || skip "not Debian"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f $keyring ] || skip "$keyring is missing"
requires unshare --mount true

cd "$dir"
chmod 755 . tmp
export GNUPGHOME="$dir/gnupg"
mkdir -m 700 gnupg other-gnupg
at_exit "gpgconf --kill all; GNUPGHOME='$dir/other-gnupg' gpgconf --kill all"
for home in gnupg other-gnupg; do
  GNUPGHOME=$dir/$home run 0 gpg --batch --passphrase '' --quick-gen-key test
done
gpg --batch --export > keyring.gpg

arch=$(dpkg --print-architecture)
mkdir -p mirror/pool
for name in libblake3-0 libblake3-dev; do
  mkdir -p $name/DEBIAN
  cat > $name/DEBIAN/control << END
Package: $name
Version: 0
Architecture: $arch
Maintainer: nobody <nobody@localhost>
Description: for a test
END
  deb=pool/$name.deb
  run 0 dpkg-deb --build $name mirror/$deb
  cat $name/DEBIAN/control - >> packages << END
Filename: $deb
Size: $(stat -c %s mirror/$deb)
SHA256: $(sha256sum mirror/$deb | cut -d ' ' -f 1)

END
done

# suite NAME VALID-UNTIL GNUPGHOME PACKAGES: creates a suite in the mirror.
suite () {
  list=main/binary-$arch/Packages
  mkdir -p "mirror/dists/$1/${list%/*}"
  cp "$4" "mirror/dists/$1/$list"
  cat > release << END
Origin: Debian
Label: Debian
Suite: $1
Codename: $1
Date: Sat, 01 Jan 2022 00:00:00 UTC
Valid-Until: $2
Architectures: $arch
Components: main
SHA256:
 $(sha256sum "$4" | cut -d ' ' -f 1) $(stat -c %s "$4") $list
END
  GNUPGHOME=$3 gpg --batch --yes --clearsign -o "mirror/dists/$1/InRelease" \
    release
}
future='Fri, 01 Jan 2100 00:00:00 UTC'
past='Sat, 08 Jan 2022 00:00:00 UTC'
sed 's/libblake3/other/' packages > others
suite stable "$future" "$dir/gnupg" others

# apt sees only this mirror, and no installed package.
: > none
mkdir -p lists/partial cache/archives/partial
echo "deb [signed-by=$keyring] file:$dir/mirror stable main" > sources.list
cat > apt.conf << END
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "$dir/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$dir/lists";
Dir::State::Status "$dir/none";
Dir::Cache "$dir/cache";
END

# All packages are installed, except BLAKE3.  apt-get records what it would
# install.
cat > bin/dpkg-query << 'END'
#!/bin/sh
echo installed
END
cat > bin/pkg-config << 'END'
#!/bin/sh
exit 1
END
cat > bin/apt-get << END
#!/bin/sh
case " \$* " in
  *' -s '*) ;;
  *' install '*) printf '%s\n' "\$@" | grep '\.deb$' > "$dir/installed"; exit ;;
esac
exec $(command -v apt-get) "\$@"
END
chmod +x bin/*
# quickstart fails at its first step of the build.
mkdir top
cp "$abs_top_srcdir/quickstart" top
printf '#!/bin/sh\nexit 1\n' > top/bootstrap
chmod +x top/bootstrap

quickstart () {
  : > installed
  run 1 unshare --mount sh -c "mount --make-rprivate / &&
    mount --bind '$dir/keyring.gpg' $keyring &&
    APT_CONFIG='$dir/apt.conf' exec top/quickstart"
  cat stdout top/build/quickstart.log
  grep -q 'failed: making ./configure' stderr ||
    fail "quickstart did not reach the build"
}
says () {
  grep -q "$1" stdout || fail "no message matches '$1'"
}
takes_blake3 () {
  [ "$(grep -c libblake3- installed)" = 2 ] || fail "not installed"
}

suite sid "$future" "$dir/gnupg" packages
quickstart
takes_blake3
! grep -q expired stdout || fail "a message says that the mirror is old"

suite sid "$past" "$dir/gnupg" packages
quickstart
says 'Release file has expired.*signatures still checked'
takes_blake3

suite sid "$past" "$dir/other-gnupg" packages
quickstart
says 'that failed, going on without the digest blake3'
[ ! -s installed ] || fail "installed what is not signed by Debian"
