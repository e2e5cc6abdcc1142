#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# When blkhash-v2v is ended by a signal, it ends virt-v2v, nbdkit and nbdcopy,
# and leaves no file and no sum.

. "$(dirname "$0")/functions.sh"

cd "$dir"
# The command that holds the copy, before or after it.
hold=": > '$dir/held'; exec sleep 1000"

# start: runs blkhash-v2v until the copy is held.
start () {
  rm -f held
  empty dst
  mkdir -p manifests
  in_own_group blkhash-v2v --sums sums --manifest-dir manifests \
               fake-v2v "$dir/src" "$dir/dst"
  wait_until test -e held
}

# ends STATUS: blkhash-v2v exits with STATUS, and leaves nothing.
ends () {
  status=0
  wait $main 2> /dev/null || status=$?
  [ $status = "$1" ] || fail "exit status $status, not $1"
  [ ! -s sums ] || fail "there are sums"
  [ ! "$(ls manifests)" ] || fail "there are manifests"
  nothing_left
}

# children_of PID: prints its child processes.
children_of () {
  cat /proc/"$1"/task/*/children
}

# ended_by EVENT STATUS: EVENT ends it during the copy, and while the copy is
# read again.
ended_by () {
  for BEFORE_COPY in "$hold" ''; do
    if [ -z "$BEFORE_COPY" ]; then
      mv bin/blksum blksum
      cat > bin/blksum << END
#!/bin/sh
case \$* in *nbd+unix*) $hold ;; esac
exec $dir/blksum "\$@"
END
      chmod +x bin/blksum
    fi
    echo "+ $1"
    start
    eval "$1"
    ends "$2"
    [ "$BEFORE_COPY" ] || mv blksum bin/blksum
  done
}

requires test -r "/proc/$$/task/$$/children"
ended_by 'kill -TERM $main' 143
ended_by 'kill -HUP $main' 129
ended_by 'kill -INT $main' 130
ended_by 'kill -INT -$main' 130
ended_by 'kill -TERM -$main' 143
ended_by 'kill -KILL $(children_of $main)' 137

# If blkhash-v2v is killed, virt-v2v does not continue.
BEFORE_COPY=$hold
start
kill -KILL $main
wait $main || :
state_of_last
wait_until no_process
rm -rf "$state"
