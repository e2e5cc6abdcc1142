# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the tables of tests/CLAIMS.md, and what the pages name.

    claims.py TOP        TOP is the source

A row has a page, words of it, and what shows that they are true.  "..." is between
words of one page; an empty page is that of the row above.  Prints what is wrong, then
where each figure stands.
"""

import os
import re
import sys

FOLDERS = "tests", "lib", "tools", "filter", "examples", "packaging"

top = sys.argv[1]
wrong = []


def complain(*what):
    wrong.append(" ".join(what))


def read(name):
    with open(os.path.join(top, name), encoding="utf-8") as f:
        return f.read()


def exists(name):
    return os.path.exists(os.path.join(top, name))


def line_of(page, words):
    """The line in which WORDS begin, whose spaces can be line breaks, or None."""
    found = re.search(r"\s+".join(re.escape(word) for word in words.split()),
                      read(page))
    return found and read(page).count("\n", 0, found.start()) + 1


def rows():
    """Yields (section, page, words, what shows it)."""
    section = page = ""
    for line in read("tests/CLAIMS.md").splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip().replace(r"\|", "|")
                 for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3 or set(cells[1]) <= set("-") or cells[0] == "page":
            continue
        page = cells[0] or page
        yield section, page, cells[1], cells[2]


def check_shown(page, words, shown):
    """Figures can be measured by hand."""
    named = re.findall(r"`([^ `]+)`", shown)
    if not named and not shown.startswith("by hand: "):
        complain(page + ": nothing shows:", words)
    for name in named:
        if exists("tests/" + name):
            name = "tests/" + name
        elif not exists(name):
            complain(page + ": no such file:", name)
            continue
        folder, base = os.path.split(name)
        if base.startswith("test-") and folder.startswith("tests/") and \
           "/".join((os.path.basename(folder), base)) not in read(folder + "/local.mk"):
            complain(page + ": is not run:", name)


def anchors(page):
    """The anchors of the headings, as forges make them."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", read(page), re.M)}


def check_names(page):
    """Files and links that a page names."""
    text = read(page)
    for name in re.findall(r"`([\w./-]+/[\w.-]+\.\w+)`", text):
        beside = os.path.join(os.path.dirname(page), name)
        if name.split("/")[0] in FOLDERS and "NAME" not in name and \
           not exists(name) and not exists(beside):
            complain(page + ": no such file:", name)
    for target in re.findall(r"\]\(([^():]+)\)", text):
        name, _, anchor = target.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(page), name)) \
            if name else page
        if not exists(name):
            complain(page + ": no such file:", name)
        elif anchor and anchor not in anchors(name):
            complain(page + ": no such section:", target)


pages = ["README.md", "SECURITY.md", "CONTRIBUTING.md"] + sorted(
    "docs/" + name for name in os.listdir(os.path.join(top, "docs"))
    if name.endswith(".md"))
with_claims, figures, claims = set(), [], 0
for section, page, words, shown in rows():
    with_claims.add(page)
    if page not in pages:
        complain("no such page:", page)
        continue
    for part in words.split(" ... "):
        claims += 1
        line = line_of(page, part)
        if line is None:
            complain(page + ": does not say:", part)
        elif section == "Figures":
            figures.append("%s:%d: %s" % (page, line, part))
    check_shown(page, words, shown)
for page in pages:
    if page not in with_claims:
        complain(page + ": has no row in tests/CLAIMS.md")
for page in pages + ["HACKING.md"] + [
        os.path.join(folder, "README.md")
        for folder in (*FOLDERS, "examples/slurm", "examples/kubernetes")
        if exists(os.path.join(folder, "README.md"))]:
    check_names(page)

print("\n".join(wrong or figures + ["%d claims" % claims]))
sys.exit(1 if wrong else 0)
