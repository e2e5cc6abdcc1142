#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The guides in docs/ are right: each line that begins with "$ " is run, all
# lines of a page in one shell, and prints the lines below it.  Those that begin with "# "
# are run by test-kernel.sh.  A block that begins with
# "# NAME.py" is that file.  Lines that begin with ">>> " are one session of Python, run
# where the first of them stands.  The same for the recording in README.md.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
. "$abs_top_srcdir/tests/docs/guide-functions.sh"
. "$abs_top_srcdir/tests/unpacked.sh"
PATH=$PATH:/usr/sbin:/sbin

# recording PROGRAM...: runs the commands that docs/media/blksum.svg shows.
recording () {
  page=README
  [ "$PYTHON" != no ] || { skip_page "no python3"; return 0; }
  grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" ||
    { skip_page "built without libnbd"; return 0; }
  for program; do
    command -v "$program" > /dev/null || { skip_page "no $program"; return 0; }
  done
  timeout $limit "$PYTHON" "$abs_top_srcdir/docs/media/record" --check \
    > "$dir/got" 2>&1 || { cat "$dir/got"; fail "the recording: see above"; }
}

# crontab NAME: runs the command of the crontab in docs/NAME.md, as cron does; it prints
# nothing, because nothing is wrong.
crontab () {
  command=$(sed -n 's/^    [0-9]* [0-9]* \* \* \* //; T; s/\\%/%/g; p' \
              "$abs_top_srcdir/docs/$1.md")
  (cd "$dir/$1" && sh -c "${command:-false}") > "$dir/got" 2>&1 &&
    [ ! -s "$dir/got" ] || { cat "$dir/got"; fail "the crontab of $1.md: $command"; }
}

# proxy_web NAME: by this proxy all web servers are ours, which serves the files
# of the directory "web" of docs/NAME.md.
proxy_web () {
  serve_web "$dir/$1/web"
  http_proxy=$web
  no_proxy=
  export http_proxy no_proxy
}

page construction openssl
page=verification
if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h"; then
  page verification openssl qemu-img qemu-io qemu-nbd
  [ ! -e "$dir/verification" ] || crontab verification
  page backup nbdinfo qemu-img qemu-io qemu-nbd
  page=repair
  if can_repair; then
    page repair qemu-img qemu-io qemu-nbd
  else
    skip_page "files here cannot be repaired: see above"
  fi
else
  skip_page "built without libnbd"
  page=backup
  skip_page "built without libnbd"
fi
page=compatibility
if blksum --list-digests | grep -qx blake2b-256; then
  page compatibility basenc nbdcopy qemu-img qemu-nbd
else
  skip_page "no digest blake2b-256"
fi
page=filter
if [ ! -f "$filter" ]; then
  skip_page "built without nbdkit"
elif [ -z "$nbdkit" ]; then
  skip_page "no nbdkit"
elif [ "$SANITIZE" != no ]; then
  skip_page "nbdkit has no sanitizer"
else
  page filter nbdcopy nbdinfo qemu-img qemu-io qemu-nbd
  recording nbdcopy qemu-img qemu-nbd
  if "$nbdkit" --dump-plugin curl > "$dir/stdout" 2>&1; then
    proxy_web pipelines
    page pipelines curl nbdcopy openssl qemu-img qemu-io qemu-nbd
    proxy_web verified
    page=verified
    if ! [ -w /dev/fuse ] || ! command -v nbdfuse > /dev/null ||
        ! command -v fusermount3 > /dev/null; then
      end='## Mount a backup'
      skip_page "no FUSE or no nbdfuse"
    fi
    page verified curl ddrescue jq nbdcopy qemu-img qemu-nbd
    end=
  else
    for page in pipelines verified; do
      skip_page "no plugin curl of nbdkit"
    done
  fi
  page=kernel
  HOME=$dir/tmp                   # where oras and cosign keep files
  export HOME
  if ! command -v oras > /dev/null || ! command -v cosign > /dev/null; then
    end='## In a registry'
    skip_page "no oras or no cosign"
  fi
  page kernel fsverity jq nbdcopy openssl veritysetup
  end=
  page=migration
  if "$PYTHON" -c 'import nbd' 2> /dev/null; then
    ln -s "$PYTHON" "$dir/bin/python3"          # which nbdsh runs
    # If a command fails, its server of the source still runs.
    at_exit 'kill_at_exit "$(cat "$dir/migration/vm.pid" 2> /dev/null)"'
    page migration nbdcopy nbdinfo nbdsh qemu-img qemu-io qemu-nbd
    rm "$dir/bin/python3"
  else
    skip_page "no module nbd of Python"
  fi
fi

page=python
if [ "$SANITIZE" != no ]; then
  skip_page "Python has no sanitizer"
elif ! grep -q '^pythondir = .' "$abs_top_builddir/python/Makefile"; then
  skip_page "built without the Python module"
else
  ln -s "$PYTHON" "$dir/bin/python3"
  PYTHONPATH=$abs_top_srcdir/python:$PYTHONPATH
  page python
  rm "$dir/bin/python3"
fi

page=passes
if ! command -v nbdfuse > /dev/null || ! command -v fusermount3 > /dev/null ||
    ! command -v nbdkit > /dev/null || ! [ -w /dev/fuse ]; then
  end='## A source on another host'
  skip_page "no FUSE, nbdfuse or nbdkit"
fi
page passes ddrescue
end=

# All hosts are this one, and the home directory, in which parallel keeps files,
# is in $dir.  parallel runs jobs by $SHELL, which is /bin/false for the user of
# CI.
cat > "$dir/bin/ssh" << 'END'
#!/bin/sh
# ssh HOST -- COMMAND
shift 2
exec sh -c "$*"
END
chmod +x "$dir/bin/ssh"
mkdir "$dir/parallel"
HOME=$dir/parallel
PARALLEL_HOME=$HOME
SHELL=/bin/sh
export HOME PARALLEL_HOME SHELL
page=large
# Another program has the same name.
if parallel --version 2>&1 < /dev/null | grep -q '^GNU parallel'; then
  page large parallel perl
else
  skip_page "no GNU parallel"
fi

[ -z "$missing" ] || skip "${missing%; }"
