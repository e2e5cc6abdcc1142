#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Unit tests intercept functions with the linker's --wrap.  It replaces only
# references from one file to another: where a file of the product both defines a
# function and uses it, it uses the original, and no tool reports that.  Nor does one
# report that no file uses a function any more, for example because it has a new name.
#
# A use is each mention of the name outside of comments, strings, declarations and
# members, because a function can also be called through a pointer, or by a macro or an
# inline function in a header that the file includes.  Object files do not show all
# uses: the compiler inlines calls.

. "$(dirname "$0")/../functions.sh"
cd "$abs_top_srcdir"

# Uses in the file of the definition that no unit test needs to intercept, each as
# USER/FUNCTION.
own_uses="
digest_list/digest_create
digest_message/digest_final
digest_message/digest_init
digest_message/digest_update
leaf_engine_create/leaf_hash_zeros
time_call/lane_time
"
# test-qemu-nbd.c fails if these are used.
unused="execvp mkdtemp"

# check_wraps DIR DIR...: the functions that unit tests of the first DIR wrap.  Their
# programs are linked with files of all DIRs.
check_wraps () {
  grep -h -o -e '--wrap=[A-Za-z0-9_]*' "$1/Makefile.am" | sed 's/.*=//' > "$dir/names"
  [ -s "$dir/names" ] || fail "no --wrap in $1/Makefile.am"
  find "$@" -name '*.[ch]' ! -name 'test-*' | LC_ALL=C sort > "$dir/files"
  awk -v unused=" $unused " '
    # The name without what libc and zlib add to it in some builds.
    function plain(name) {
      sub(/^__/, "", name)
      sub(/(_time64|_chk|_)$/, "", name)
      sub(/64v?/, "", name)
      return name
    }

    FILENAME ~ /names$/ {
      wrapped[$1]
      next
    }
    FNR == 1 { comment = 0 }
    /^ *# *include/ {
      sub(/[">][^">]*$/, "")
      sub(/.*[\/"<]/, "")
      includes[FILENAME, $0]
      next
    }
    {
      gsub(/\047\\?.\047|"([^"\\]|\\.)*"/, "0")
      if (comment && !sub(/^.*\*\//, "")) next
      gsub(/\/\*([^*]|\*[^\/])*\*\/|\/\/.*/, " ")
      comment = sub(/\/\*.*/, "")
      gsub(/(->|\.)[A-Za-z0-9_]+/, " ")
      declares = /^[A-Za-z]/ && !/=/
      count = split($0, words, /[^A-Za-z0-9_]+/)
      if (/^[A-Za-z0-9_]+ \(/) {
        user = words[1]
        if (is_static) statics[user, FILENAME]
        defines[user, FILENAME]
      }
      is_static = /^static/
      for (i = 1; i <= count; i++) {
        used[words[i]] = used[words[i]] || !declares
        if ((words[i] in wrapped) && !declares)
          uses[words[i], FILENAME, user] = FILENAME ":" FNR
      }
    }
    END {
      for (name in wrapped)
        if (!used[name] && !used[plain(name)] && !index(unused, " " name " "))
          print name ": no file uses it"
      for (definition in defines) {
        split(definition, from, SUBSEP)
        if (!(from[1] in wrapped)) continue
        if (definition in statics) print from[1] ": is static in " from[2]
        for (use in uses) {
          split(use, to, SUBSEP)
          header = to[2]
          sub(/.*\//, "", header)
          if (from[1] == to[1] &&
              (from[2] == to[2] || ((from[2], header) in includes)))
            print to[3] "/" to[1] ": " uses[use] " uses it, " from[2] " defines it"
        }
      }
    }' "$dir/names" $(cat "$dir/files") >> "$dir/found"
}

check_wraps lib
check_wraps tools lib
check_wraps filter lib
status=0
for own in $own_uses; do
  if ! grep -q "^$own:" "$dir/found"; then
    echo "$own: listed in $0, but not found"
    status=1
  fi
  echo "^$own:" >> "$dir/known"
done
if grep -v -f "$dir/known" "$dir/found"; then
  echo "unit tests do not intercept these with --wrap"
  status=1
fi
exit $status
