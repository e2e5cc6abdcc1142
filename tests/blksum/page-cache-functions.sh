# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by the tests of what blksum leaves in the page
# cache, of $dir/image.  The kernel's page cache may keep and drop pages at
# will; a model of it, page-cache.c, is exact.

# Sets $no_model to the reason if the model cannot be used.
no_model=
if [ "$SANITIZE" != no ]; then
  no_model="a sanitizer must be the first library"
elif ! ${CC:=cc} -shared -fPIC -o "$dir/page-cache.so" \
         "$abs_top_srcdir/tests/blksum/page-cache.c" -ldl 2> "$dir/cc.log"; then
  no_model="cannot build page-cache.c: $(head -n 3 "$dir/cc.log")"
fi

CACHED_FILE=$dir/image
CACHED_PAGES=$dir/pages
export CACHED_FILE CACHED_PAGES

pages () {
  echo $((($(stat -c %s "$dir/image") + 4095) / 4096))
}

# model_has PAGES: the first PAGES of the image are in the cache of the model.
model_has () {
  head -c "$(pages)" /dev/zero > "$dir/pages"
  head -c "$1" /dev/zero | tr '\0' '\1' |
    dd of="$dir/pages" conv=notrunc status=none
}

modelled () { LD_PRELOAD=$dir/page-cache.so "$@"; }

# model_keeps LEAST MOST: the number of cached pages after the last command.
model_keeps () {
  kept=$(tr -d '\0' < "$dir/pages" | wc -c)
  echo "$kept of $(pages) pages are kept"
  [ "$kept" -ge "$1" ] && [ "$kept" -le "$2" ] ||
    fail "$kept pages are kept, not $1 to $2 of $(pages)"
}

# ---- The page cache of the kernel ----

# unmodelled COMMAND: runs it with $NO_DONTCACHE, and without the model.
unmodelled () {
  (
    unset CACHED_PAGES
    modelled "$@"
  )
}

# cached: prints how many bytes of $dir/image the kernel has cached.
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

# leaves_none SUM COMMAND: COMMAND leaves no cached pages of an image that was
# not cached.  It is repeated, because the kernel may sometimes keep some.
leaves_none () {
  left_none () {
    is_empty || return 1
    prints_sum "$@"
    [ "$(cached)" -lt $(($(stat -c %s "$dir/image") / 10)) ]
  }
  wait_until left_none "$@"
}

# leaves_all SUM COMMAND: COMMAND leaves all pages in the cache.  BEFORE=cat
# fills the cache first, BEFORE=evict empties it.  It is repeated, because the
# kernel may sometimes evict some.
leaves_all () {
  left_all () {
    if [ "$BEFORE" = cat ]; then cat "$dir/image" > /dev/null; else evict; fi
    prints_sum "$@"
    [ "$(cached)" -gt $(($(stat -c %s "$dir/image") * 8 / 10)) ]
  }
  wait_until left_all "$@"
}
