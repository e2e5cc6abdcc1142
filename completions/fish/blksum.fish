# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Completion of blksum and blkhash for fish.
#
# "blksum --complete" prints the completions; this script passes them to fish.

# Set __blksum_kind, __blksum_words to words with their help, __blksum_prefix to
# the text before a path, as in manifest:PATH, and __blksum_path to that path.
function __blksum_ask
    set -l line (commandline -cp)
    # Run blksum once for all the conditions below.
    test "$line" = "$__blksum_line"; and return
    set -g __blksum_line $line

    set -l words (commandline -opc)
    set -l word (commandline -ct)
    # Close an open quote.
    set word (string unescape -- $word; or string unescape -- $word\"
        or string unescape -- $word\'; or printf '%s\n' $word)
    # Run the program on the command line, or that with its name in PATH.
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    type -q -- $program; or set program (string replace -r '.*/' '' -- $program)

    set -l lines (command $program --complete $words[2..-1] "$word" \
        2>/dev/null </dev/null)
    set -l first (string split \t -- $lines[1])
    set -g __blksum_words $first[2]$lines[2..-1]
    set -g __blksum_kind $first[1] files # if blksum prints nothing
    set -g __blksum_prefix "$first[2]"
    set -g __blksum_path (string replace -- "$__blksum_prefix" '' "$word")
end

function __blksum_kind_is
    __blksum_ask
    test $__blksum_kind[1] = $argv[1]
end

function __blksum_print_words
    __blksum_ask
    printf '%s\n' $__blksum_words
end

# fish completes files after ":" and "=" by itself, but not in quotes.
function __blksum_print_files
    printf '%s\n' $__blksum_prefix(complete -C"'' "(string escape -n -- \
        $__blksum_path))
end

for program in blksum blkhash
    complete -c $program -f -k -a '(__blksum_print_words)'
    complete -c $program -n '__blksum_kind_is files; and test -z "$__blksum_prefix"' -F
    complete -c $program -n '__blksum_kind_is files; and test -n "$__blksum_prefix"' \
        -a '(__blksum_print_files)'
end
