# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the tests of blkhash-v2v, instead of ../functions.sh.

. "$(dirname "$0")/../functions.sh"

filter=$abs_top_builddir/filter/.libs/nbdkit-blkhash-filter.so
[ -f "$filter" ] || skip "built without nbdkit"
requires_no_sanitizer
requires_program nbdcopy nbdinfo setpriv
requires_nbdkit file nbd --filter=truncate

# As if the filter of this build were installed.
nbdkit=$(command -v nbdkit)
cat > "$dir/bin/nbdkit" << END
#!/bin/sh
for argument; do
  shift
  [ "\$argument" != --filter=blkhash ] || argument=--filter=$filter
  set -- "\$@" "\$argument"
done
exec $nbdkit "\$@"
END

# nbdcopy, which runs $BEFORE_COPY and $AFTER_COPY, and records its arguments
# and its PATH.
real_nbdcopy=$(command -v nbdcopy)
cat > "$dir/bin/nbdcopy" << END
#!/bin/sh
printf '%s\n' "\$@" >> "$dir/nbdcopy-arguments"
echo "\$PATH" > "$dir/nbdcopy-path"
eval "\$BEFORE_COPY"
$real_nbdcopy "\$@" || exit
eval "\$AFTER_COPY"
END

# fake-v2v SOURCE DESTINATION...: copies disks as virt-v2v does, without
# converting them.  Its options are variables of the environment.
cat > "$dir/bin/fake-v2v" << 'END'
#!/bin/sh
# FILTER, PARAMETERS: arguments of the destination's nbdkit, before and after
# its plugin, which is "file" or PLUGIN; OPTIONS: options of nbdcopy; STATUS:
# exit status; BEFORE_SERVERS: a command.
v2v=$(mktemp -d "$TMPDIR/v2v.XXXXXX")
servers=
finish () {
  status=$?
  trap - EXIT
  kill $servers
  rm -rf "$v2v"
  exit $status
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# serve SOCKET ARGUMENT...
serve () {
  socket=$1
  shift
  nbdkit --exit-with-parent --foreground --pidfile "$socket.pid" \
         --unix "$socket" "$@" &
  servers="$servers $!"
  until [ -s "$socket.pid" ]; do
    kill -0 $! || exit
    sleep 0.05
  done
}
pids=
i=0
while [ $# -ge 2 ]; do
  eval "$BEFORE_SERVERS"
  serve "$v2v/in$i" file file="$1"
  if [ "$PLUGIN" ]; then
    serve "$v2v/out$i" $PLUGIN
  else
    serve "$v2v/out$i" $FILTER file file="$2" $PARAMETERS
  fi
  nbdcopy "nbd+unix:///?socket=$v2v/in$i" "nbd+unix:///?socket=$v2v/out$i" \
          --requests=64 --flush $OPTIONS &
  pids="$pids $!"
  shift 2
  i=$((i + 1))
done
status=0
for pid in $pids; do
  wait $pid || status=1
done
exit ${STATUS-$status}
END
chmod +x "$dir/bin/nbdkit" "$dir/bin/nbdcopy" "$dir/bin/fake-v2v"

PATH=$abs_top_srcdir/filter:$PATH
BEFORE_COPY= AFTER_COPY= BEFORE_SERVERS= FILTER= PARAMETERS= PLUGIN= OPTIONS=
export BEFORE_COPY AFTER_COPY BEFORE_SERVERS FILTER PARAMETERS PLUGIN OPTIONS

make_image "$dir/src"

# empty FILE...: creates destinations, as large as $dir/src.
empty () {
  for file; do
    rm -f "$file"
    truncate -r "$dir/src" "$file"
  done
}

# sums_are FILE: it has the sums of standard input, after its header.
sums_header='# blkhash-v2v replaces this file'
sums_are () {
  { echo "$sums_header" && cat; } | diff - "$1"
}

# state_of_last: sets $state to the directory of the last run, which must be
# removed.
state_of_last () {
  state=$(cut -d: -f1 < "$dir/nbdcopy-path")
  state=${state%/bin}
  case $state in
    /tmp/blkhash-v2v.*) ;;
    *) fail "no directory of blkhash-v2v in PATH: $state" ;;
  esac
}

# no_process: no process has that directory in its arguments, except grep.
no_process () {
  echo "$state" > "$dir/state"
  [ ! "$(grep -lsaF -f "$dir/state" /proc/[0-9]*/cmdline)" ]
}

# nothing_left: the last run left no file and no process.
nothing_left () {
  state_of_last
  [ ! -e "$state" ] || fail "left behind: $state"
  no_process || fail "left a process behind"
}

# in_own_group COMMAND...: runs it in the background in a process group of its
# own, as a terminal does; sets $main.
in_own_group () {
  "$PYTHON" -c 'if True:
    import os, signal, sys
    os.setsid ()
    for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
        signal.signal (number, signal.SIG_DFL)
    os.execvp (sys.argv[1], sys.argv[1:])' "$@" \
    > "$dir/stdout" 2> "$dir/stderr" &
  main=$!
  kill_at_exit $main
}

# complains REGEX: a message of the last command matches.
complains () {
  grep -q -e "^blkhash-v2v: .*$1" "$dir/stderr" || fail "does not say '$1'"
}
