# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""All mutants of a file of C code in our style: each is a change of one place
in the body of a function.  It is read as tokens, so it is known what is in
macros, and the style tells where functions, statements and declarations are.
"""

import collections
import re

# FILE has NEW instead of the LENGTH characters at OFFSET.
Mutant = collections.namedtuple(
    "Mutant", "file line column kind offset length new")

TOKEN = re.compile(r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(\\\n|[^\n])*)
    |(?P<text>"(\\.|[^"\\])*"|'(\\.|[^'\\])*')
    |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d[\d.]*[uUlL]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<op><<=|>>=|->|\+\+|--|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|.)""",
                   re.M | re.S | re.X)
BODY = re.compile(r"^\{\n.*?^\}$", re.M | re.S)

SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
         "&&": "||", "||": "&&", "+": "-", "-": "+", "+=": "-=", "-=": "+=",
         "++": "--", "--": "++", "true": "false", "false": "true"}
KINDS = {"&": "logic", "|": "logic", "+": "arithmetic", "-": "arithmetic",
         "t": "constant", "f": "constant"}
# Not mutated: asserts, and what only prints.
SKIPPED = re.compile(
    r"assert|static_assert|\w*debug|nbdkit_error|error_\w+|imagefile_error"
    r"|set_error|report_error|\w*printf|\w*set_error\w*|print_message")
HEADERS = "if", "while", "for", "switch"
NO_STATEMENT = HEADERS + ("return", "goto", "break", "continue", "case", "else",
                          "do", "default", "sizeof")
ASSIGN = "=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "<<=", ">>=", "++", \
    "--", "(", "[", ".", "->"


class Body:
    """The tokens of the body of a function."""

    def __init__(self, text, start, end):
        self.tokens = [
            match for match in TOKEN.finditer(text, start, end)
            if match.lastgroup != "space" and not match.group("space")]
        self.words = [match[0] for match in self.tokens]
        self.pairs = {}         # from each bracket to the other one
        self.depth = []         # number of parentheses around each token
        brackets = []
        for i, word in enumerate(self.words):
            if word in ("(", "[", "{"):
                brackets.append(i)
            elif word in (")", "]", "}"):
                other = brackets.pop()
                self.pairs[i], self.pairs[other] = other, i
            self.depth.append(sum(self.words[b] != "{" for b in brackets))

    def end_of_statement(self, i):
        while self.words[i] != ";":
            i = self.pairs[i] + 1 if self.words[i] in ("(", "[", "{") else i + 1
        return i

    def is_start(self, i):
        """A statement starts at I."""
        before = self.words[i - 1]
        if before == ")":
            other = self.pairs[i - 1]
            return other > 0 and self.words[other - 1] in HEADERS
        return before in (";", "{", "}", "else", "do", ":")

    def mutants(self, choose):
        """Of each a kind, the first and last token, and the new text."""
        skip_to = 0
        for i, word in enumerate(self.words):
            if i < skip_to:
                continue
            after = self.words[i + 1] if i + 1 < len(self.words) else ""
            before = self.words[i - 1]
            group = self.tokens[i].lastgroup
            if SKIPPED.fullmatch(word) and after == "(":
                skip_to = self.pairs[i + 1]
            elif i and self.depth[i] == 0 and self.is_start(i) and \
                    word not in NO_STATEMENT and \
                    (group == "name" and after in ASSIGN or
                     word in ("*", "++", "--")):
                yield "statement", i, self.end_of_statement(i) - 1, ""
            if word in ("if", "while") and after == "(":
                end = self.pairs[i + 1]
                yield "condition", i + 1, end, "(!%s)"
            elif word in ("break", "continue"):
                yield "statement", i, i, ""
            elif word == "return" and after != ";":
                end = self.end_of_statement(i) - 1
                if end > i + 1 or self.tokens[end].lastgroup == "name" and \
                        after not in ("true", "false", "NULL"):
                    yield "return", i + 1, end, "0"
            elif word in SWAPS:
                if word in ("+", "-") and not (
                        self.tokens[i - 1].lastgroup in ("name", "number") and
                        before not in ("return", "case") or
                        before in (")", "]")):
                    continue    # it has one operand
                yield (KINDS.get(word[0], "relation"), i, i, SWAPS[word])
            elif group == "number" and \
                    re.fullmatch(r"(0[xX]|[1-9]|0$)\w*", word) and \
                    not (before == "-" and self.words[i - 2] == "return"):
                value = int(word.rstrip("uUlL"), 0)
                value += choose((-1, 1)) if value else 1
                yield "constant", i, i, str(value)


def mutants_of(name, text, choose):
    for body in BODY.finditer(text):
        tokens = Body(text, body.start(), body.end())
        for kind, first, last, new in tokens.mutants(choose):
            start = tokens.tokens[first].start()
            end = tokens.tokens[last].end()
            old = text[start:end]
            if kind == "condition":
                new %= old
            else:               # the lines keep their numbers
                new += "\n" * (old.count("\n") - new.count("\n"))
            line_start = text.rfind("\n", 0, start) + 1
            yield Mutant(name, text.count("\n", 0, start) + 1,
                         start - line_start + 1, kind, start, end - start, new)
