# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh: runs the commands of a guide in docs/, and compares what they
# print with the guide.

missing=
# A page whose programs are missing makes the test a SKIP, unless another page
# fails.
skip_page () {
  missing="$missing$page.md: $*; "
}

# As if the filters of this build were installed.
nbdkit=$(command -v nbdkit || :)
filters=$abs_top_builddir/filter/.libs
filter=$filters/nbdkit-blkhash-filter.so
cat > "$dir/bin/nbdkit" << END
#!/bin/sh
for argument; do
  shift
  case \$argument in
    --filter=blkhash | --filter=blkhash-verify)
      argument=--filter=$filters/nbdkit-\${argument#*=}-filter.so ;;
  esac
  set -- "\$@" "\$argument"
done
exec $nbdkit "\$@"
END
chmod +x "$dir/bin/nbdkit"

# tail --pid looks once a second, and waits until a process that has ended is reaped:
# in some containers that is never.
cat > "$dir/bin/tail" << 'END'
#!/bin/sh
for argument; do
  case $argument in
    --pid=*)
      while grep -qs '^State:.[^Z]' "/proc/${argument#*=}/status"; do sleep 0.05; done
      exit ;;
  esac
done
PATH=${PATH#*:}
exec tail "$@"
END
chmod +x "$dir/bin/tail"

# commands PROMPT: writes the commands of docs/$page.md that begin with PROMPT to
# $dir/commands, and what they should print to $dir/expected; only those from $start on,
# and before $end.
start=
end=
commands () {
  # Each command is numbered, before its line and before its output.  A command
  # whose first line ends with { is a function, until a line with only }.
  awk -v prompt="    $1 " -v start="$start" -v end="$end" \
      -v commands="$dir/commands" -v expected="$dir/expected" \
      -v doctest="python3 -m doctest '$abs_top_srcdir/docs/$page.md'" '
    function unfinished () {
      if (/^ *[}]$/)
        in_function = 0
      return in_function || /(\\|&&|\|\|)$/
    }
    BEGIN         { printf "" > commands; printf "" > expected }
    end != "" && $0 == end { exit }
    $0 == start   { start = "" }
    start != ""   { next }
    more          { print substr ($0, 5) > commands; more = unfinished (); next }
    /^    # [a-z]+\.py$/                      { file = $2 }
    file != "" && /^(    |$)/ && !/^    \$ /  { print substr ($0, 5) > file; next }
                  { file = "" }
    /^    >>> /   { if (!python++) {
                      print "echo command " ++n ":\n" doctest > commands
                      print "command " n ":" > expected
                    }
                    in_session = 0; next }
    index ($0, prompt) == 1 {
                    print "echo command " ++n ":\n" substr ($0, 7) > commands
                    print "command " n ":" > expected
                    in_session = 1; in_function = /[{]$/; more = unfinished (); next }
    /^    /       { if (in_session) print substr ($0, 5) > expected; next }
                  { in_session = 0 }
  ' "$abs_top_srcdir/docs/$page.md"
}

# page NAME PROGRAM...: runs the commands of docs/NAME.md, which need these
# programs.
page () {
  page=$1
  shift
  for program; do
    command -v "$program" > /dev/null || { skip_page "no $program"; return 0; }
  done
  mkdir "$dir/$page"
  cd "$dir/$page"
  commands '$'
  timeout $limit sh ../commands > ../got 2>&1 || :
  [ "$(grep -c '^command' ../got)" -gt 5 ] ||
    fail "$page.md: its commands were not found"
  diff -u ../expected ../got || fail "$page.md: see above"
  cd "$dir"
}
