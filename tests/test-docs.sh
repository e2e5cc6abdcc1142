#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The guides in docs/ tell the truth: each line of theirs that begins with "$ "
# is run, those of a page in one shell, and prints what the page has below it.
# The same goes for the recording in README.md.

. "$(dirname "$0")/functions.sh"

missing=
# A page that cannot be tested makes the whole a SKIP, unless another one fails.
not_here () {
  missing="$missing$page.md: $*; "
}

# As if the filter that was built were installed.
nbdkit=$(command -v nbdkit || :)
filter=$abs_top_builddir/filter/.libs/nbdkit-blkhash-filter.so
cat > "$dir/bin/nbdkit" << END
#!/bin/sh
for argument; do
  shift
  [ "\$argument" != --filter=blkhash ] || argument=--filter=$filter
  set -- "\$@" "\$argument"
done
exec $nbdkit "\$@"
END
chmod +x "$dir/bin/nbdkit"

# page NAME PROGRAM...: the commands of docs/NAME.md, which need these programs.
page () {
  page=$1
  shift
  for program; do
    command -v "$program" > /dev/null || { not_here "no $program"; return 0; }
  done
  mkdir "$dir/$page"
  cd "$dir/$page"
  # The number of a command goes before it, and before what it prints.
  awk '
    more          { print substr ($0, 5) > "../commands"; more = /(\\|&&)$/; next }
    /^    \$ /    { print "echo command " ++n ":\n" substr ($0, 7) > "../commands"
                    print "command " n ":" > "../expected"
                    in_session = 1; more = /(\\|&&)$/; next }
    /^    /       { if (in_session) print substr ($0, 5) > "../expected"; next }
                  { in_session = 0 }
  ' "$abs_top_srcdir/docs/$page.md"
  timeout $limit sh ../commands > ../got 2>&1 || :
  [ "$(grep -c '^command' ../got)" -gt 5 ] || fail "$page.md: not understood"
  diff -u ../expected ../got || fail "$page.md: see above"
  cd "$dir"
}

# recording PROGRAM...: what docs/media/blksum.svg shows.
recording () {
  page=README
  [ "$PYTHON" != no ] || { not_here "no python3"; return 0; }
  grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" ||
    { not_here "built without libnbd"; return 0; }
  for program; do
    command -v "$program" > /dev/null || { not_here "no $program"; return 0; }
  done
  timeout $limit "$PYTHON" "$abs_top_srcdir/docs/media/record" --check \
    > "$dir/got" 2>&1 || { cat "$dir/got"; fail "the recording: see above"; }
}

page construction openssl
page=verification
if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h"; then
  page verification openssl qemu-img qemu-io qemu-nbd
else
  not_here "built without libnbd"
fi
page=compatibility
if blksum --list-digests | grep -qx blake2b-256; then
  page compatibility basenc nbdcopy qemu-img qemu-nbd
else
  not_here "no digest blake2b-256"
fi
page=filter
if [ ! -f "$filter" ]; then
  not_here "built without nbdkit"
elif [ -z "$nbdkit" ]; then
  not_here "no nbdkit"
elif [ "$SANITIZE" != no ]; then
  not_here "nbdkit has no sanitizer"
else
  page filter nbdcopy nbdinfo qemu-img qemu-io qemu-nbd
  recording nbdcopy qemu-img qemu-nbd
  # Whatever the web server is called, its files are in the directory.
  "$PYTHON" "$abs_top_srcdir/tests/web-server.py" "$dir/pipelines/web" \
            "$dir/port" &
  kill_at_exit $!
  wait_until test -s "$dir/port"
  http_proxy=http://127.0.0.1:$(cat "$dir/port")
  no_proxy=
  export http_proxy no_proxy
  page=pipelines
  if "$nbdkit" --dump-plugin curl > "$dir/stdout" 2>&1; then
    page pipelines curl nbdcopy openssl qemu-img qemu-io qemu-nbd
  else
    not_here "no plugin curl of nbdkit"
  fi
fi

# Hosts are this one, and what parallel keeps in the home directory is in $dir.
# It starts jobs with $SHELL, which is /bin/false for the user that CI has.
. "$abs_top_srcdir/tests/unpacked.sh"
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
# There is another program of that name.
if parallel --version 2>&1 < /dev/null | grep -q '^GNU parallel'; then
  page large parallel perl
else
  not_here "no GNU parallel"
fi

[ -z "$missing" ] || skip "${missing%; }"
