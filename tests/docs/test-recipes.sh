#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# No recipe of a manual or a guide shows yesterday's OK.  What --check or $(cat FILE)
# reads was removed, or emptied by "> FILE", before the command that writes it; and the
# step that reads it next is joined to that command by &&, unless a comment says that it
# is run "later".

. "$(dirname "$0")/../functions.sh"

[ "$PYTHON" != no ] || skip "no python3"

cat > "$dir/recipes.py" << 'END'
import re, sys

# Options and redirections after which a command writes the file FILE.
WRITES = re.compile(
    r"(?P<empties>(?<![0-9>])>(?!>)|\btee) *(?P<a>[\w./-]+)"
    r"|\bblkhash(?:-verify)?-file=(?P<b>[\w./-]+)"
    r"|--(?:sums|blkhash-file)[= ](?P<c>[\w./-]+)"
    r"|\bcurl -\w*O [\w:/.$-]*/(?P<d>[\w.-]+)")
READS = re.compile(r"--check(?P<check>(?: +[^ \n|&;<>()]+)+)"
                   r"|\$\(cat (?P<cat>[\w./-]+)\)")

def recipes(path):
    """The verbatim paragraphs of a page, as lists of (line number, command)."""
    indent = " " if path.endswith(".pod") else "    "
    recipe, command = [], ""
    for number, line in enumerate(open(path), 1):
        if not line.startswith(indent) and line.strip():
            if recipe:
                yield recipe
            recipe, command = [], ""
            continue
        text = re.sub(r"^ +\$ +", "", line).strip()
        if not command:
            start = number
        command += text + "\n"
        # A command goes on in the next line, or within quotes.
        if not re.search(r"(\\|&&|\|\|?)$", text) and command.count("'") % 2 == 0:
            recipe.append((start, command))
            command = ""
    if recipe:
        yield recipe

def read_files(match):
    if match["cat"]:
        return [match["cat"]]
    return [word for word in match["check"].split() if not word.startswith("-")]

def check(path):
    pages = list(recipes(path))
    read = {file for recipe in pages for _, command in recipe
            for match in READS.finditer(command) for file in read_files(match)}
    for recipe in pages:
        removed, waiting = set(), {}    # FILE: (command that wrote it, position)
        for number, command in recipe:
            events = [(m.start(), "remove", m[1].split())
                      for m in re.finditer(r"\brm -f ([\w./ -]+)", command)]
            events += [(m.start(), "read", read_files(m))
                       for m in READS.finditer(command)]
            for m in WRITES.finditer(command):
                file = m["a"] or m["b"] or m["c"] or m["d"]
                events.append((m.start(), "empty" if m["empties"] else "write", [file]))
            for at, what, files in sorted(events):
                for file in files:
                    if what == "remove":
                        removed.add(file)
                    elif what == "read" and file in waiting:
                        line, end = waiting.pop(file)
                        if (line != number or "&&" not in command[end:at]) and \
                                "# later" not in command:
                            print(f"{path}:{number}: reads {file}, and is not joined "
                                  f"by && to what writes it")
                    elif what != "read" and file in read:
                        if what == "write" and file not in removed:
                            print(f"{path}:{number}: writes {file}, which was not "
                                  f"removed before")
                        waiting[file] = number, at

for path in sys.argv[1:]:
    check(path)
END

# finds TEXT: this recipe is a bad one; finds: it is a good one.
finds () {
  "$PYTHON" "$dir/recipes.py" "$dir/sample.md" > "$dir/stdout"
  cat "$dir/stdout"
  if [ $# = 0 ]; then
    [ ! -s "$dir/stdout" ] || fail "a good recipe"
  else
    [ "$(grep -c "$1" "$dir/stdout")" = 1 ] || fail "not found: $1"
  fi
}

recipe="blkhash-file=copy.sum --run 'nbdcopy
          \"\$uri\" copy'"
printf '    $ %s\n' "rm -f copy.sum && nbdkit $recipe && blksum --check copy.sum" \
  > "$dir/sample.md"
finds
printf '    $ %s\n' "nbdkit $recipe && blksum --check -q copy.sum" > "$dir/sample.md"
finds ':1: writes copy.sum, which was not removed'
printf '    %s\n' 'rm -f copy.sum' "nbdkit $recipe" 'blksum --check copy.sum' \
  > "$dir/sample.md"
finds ':4: reads copy.sum, and is not joined'
printf '    %s\n' 'blksum disk > d.sum' 'blksum --expect "$(cat d.sum)" copy' \
  > "$dir/sample.md"
finds ':2: reads d.sum, and is not joined'
printf '    %s\n\ntext\n\n' 'curl -O http://host/d.sum' \
  'blkhash repair --sum "$(cat d.sum)" disk' > "$dir/sample.md"
finds ':1: writes d.sum, which was not removed'
printf '    %s\n' 'blksum disk > d.sum && blksum --check d.sum' \
  'blksum --check d.sum' > "$dir/sample.md"
finds
printf '    %s\n' 'blksum disk > d.sum' 'blksum --check d.sum   # later' \
  > "$dir/sample.md"
finds

cd "$abs_top_srcdir"
"$PYTHON" "$dir/recipes.py" README.md docs/*.md man/*.pod > "$dir/stdout"
cat "$dir/stdout"
[ ! -s "$dir/stdout" ] || fail "see above"
