# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the tests of what is left in the page cache, after functions.sh:
# the kernel's, which may keep and drop what it likes, and a model of it, which
# is exact: page-cache.c.  All of $dir/image.

# Sets $no_model to the reason when there is none.
no_model=
if [ "$SANITIZE" != no ]; then
  no_model="a sanitizer must be the first library"
elif ! ${CC:=cc} -shared -fPIC -o "$dir/page-cache.so" \
         "$abs_top_srcdir/tests/page-cache.c" -ldl 2> "$dir/cc.log"; then
  no_model="cannot build page-cache.c: $(head -n 3 "$dir/cc.log")"
fi

CACHED_FILE=$dir/image
CACHED_PAGES=$dir/pages
export CACHED_FILE CACHED_PAGES

pages () {
  echo $((($(stat -c %s "$dir/image") + 4095) / 4096))
}

# model_has PAGES: the first of them are in the cache.
model_has () {
  head -c "$(pages)" /dev/zero > "$dir/pages"
  head -c "$1" /dev/zero | tr '\0' '\1' |
    dd of="$dir/pages" conv=notrunc status=none
}

modelled () { LD_PRELOAD=$dir/page-cache.so "$@"; }

# model_keeps LEAST MOST: pages, after the last command.
model_keeps () {
  kept=$(tr -d '\0' < "$dir/pages" | wc -c)
  echo "$kept of $(pages) pages are kept"
  [ "$kept" -ge "$1" ] && [ "$kept" -le "$2" ] ||
    fail "$kept pages are kept, not $1 to $2 of $(pages)"
}

# ---- The kernel's ----

# With $NO_DONTCACHE, but without the model.
unmodelled () {
  (
    unset CACHED_PAGES
    modelled "$@"
  )
}

# Bytes of $dir/image.
cached () {
  fincore --bytes --noheadings --output RES "$dir/image" | tr -d ' '
}

evict () {
  sync "$dir/image"
  dd if="$dir/image" iflag=nocache count=0 status=none
}

is_empty () {
  evict
  [ "$(cached)" -lt $(($(stat -c %s "$dir/image") / 10)) ]
}

requires_page_cache () {
  requires_program fincore
  requires cached
  is_empty || is_empty || skip "cannot empty the page cache"
}

# leaves_none SUM COMMAND: of an image that was not there; the kernel may keep
# some of it once, and not always.
leaves_none () {
  left_none () {
    is_empty || return 1
    prints_sum "$@"
    [ "$(cached)" -lt $(($(stat -c %s "$dir/image") / 10)) ]
  }
  wait_until left_none "$@"
}

# leaves_all SUM COMMAND: of an image that is made to be there first, or not,
# with BEFORE=cat or BEFORE=evict; the kernel may take some back, not always.
leaves_all () {
  left_all () {
    if [ "$BEFORE" = cat ]; then cat "$dir/image" > /dev/null; else evict; fi
    prints_sum "$@"
    [ "$(cached)" -gt $(($(stat -c %s "$dir/image") * 8 / 10)) ]
  }
  wait_until left_all "$@"
}
