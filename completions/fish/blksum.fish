# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Completion of blksum for fish.
#
# What can come next is known to blksum, which is asked with --complete; this
# is how fish is told.

# Sets __blksum_kind, and __blksum_words to words with their help.
function __blksum_ask
    set -l line (commandline -cp)
    # Once is enough for all the conditions below.
    test "$line" = "$__blksum_line"; and return
    set -g __blksum_line $line

    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set word (string unescape -- $word; or printf '%s\n' $word)
    # The one that is on the line, if that is one.
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    type -q -- $program; or set program blksum

    set -l lines (command $program --complete $words[2..-1] "$word" \
        2>/dev/null </dev/null)
    set -l first (string split \t -- $lines[1])
    set -g __blksum_words $first[2]$lines[2..-1]
    set -g __blksum_kind $first[1] files # if it says nothing
end

function __blksum_kind_is
    __blksum_ask
    test $__blksum_kind[1] = $argv[1]
end

function __blksum_print_words
    __blksum_ask
    printf '%s\n' $__blksum_words
end

complete -c blksum -f -k -a '(__blksum_print_words)'
complete -c blksum -n '__blksum_kind_is files' -F
complete -c blksum -n '__blksum_kind_is directories' \
    -a '(__fish_complete_directories)'
