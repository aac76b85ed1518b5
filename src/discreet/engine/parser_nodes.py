"""What every node of the parser is asked: what it is exactly, what parts it has, where it stands, what it is called."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.engine import parser_names as names
from discreet.engine.syntax import Position
from discreet.errors import NotSupported

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

LONGEST_NAME = 200
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
# What the parser does not say the place of: it is that of the word before the bracket, or WHEN, before the first part.
_UNPLACED_WORDS = "FLOOR CEIL MIN MAX CAST TRY_CAST EXTRACT QUANTILE_CONT QUANTILE_DISC CASE IF ARG_MAX ARG_MIN"
_UNPLACED = frozenset(_UNPLACED_WORDS.split())


def refuse(what: str, instead: str, at: Position | None = None) -> NoReturn:
    """Raise the refusal of a question: what is wrong, where, and what to write instead."""
    where = "" if at is None else f" (line {at.line}, column {at.column})"
    raise NotSupported(f"{what}{where}; {instead}.")


def position(text: str, start: int) -> Position:
    """Return the line and the column of a place in a text, from 1."""
    return Position(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))


class Nodes:
    """The nodes of one question, with its text."""

    def __init__(self, classes: ModuleType, text: str, tokens: Sequence[Token]) -> None:
        self.classes = classes
        self.text = text
        self._tokens = tokens
        self._opened = {
            after.start: word.start
            for word, bracket, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if bracket.text.upper() in ("(", "WHEN") and word.text.upper() in _UNPLACED
        }

    def is_a(self, tree: object, name: str) -> bool:
        """Whether a node is of exactly this class of the parser."""
        return type(tree) is getattr(self.classes, name)

    # Where something stands, and what it is called.

    def token(self, word: str, *, after: str | None = None) -> Position | None:
        """Return where a word of the language stands first, or a name after a sign."""
        before = ""
        for token in self._tokens:
            if after is not None and (before, token.text) == (after, word):
                return position(self.text, token.start - len(after))
            is_quoted = token.token_type.name in ("STRING", "IDENTIFIER")
            if after is None and not is_quoted and token.text.upper().split(" ")[0].replace("_", "") == word:
                return position(self.text, token.start)
            before = token.text
        return None

    def start(self, tree: object) -> int | None:
        """Return the place in the text where a node starts, or the first of its parts of which this is known."""
        waiting, opens = [tree], self.is_unplaced(tree)
        while waiting:
            one = waiting.pop()
            if not isinstance(one, self.classes.Expr):
                continue
            found = one.meta.get("start")
            if isinstance(found, int) and 0 <= found <= len(self.text):
                return self._opened.get(found, found) if opens else found
            parts: list[object] = []
            for value in one.args.values():
                parts += value if isinstance(value, list) else [value]
            waiting += reversed(parts)
        return None

    def is_unplaced(self, tree: object) -> bool:
        """Whether this is a function of which the parser does not say where it starts."""
        return isinstance(tree, self.classes.Func) and "start" not in tree.meta

    def at(self, tree: object) -> Position | None:
        """Return the line and the column of a node."""
        start = self.start(tree)
        return None if start is None else position(self.text, start)

    def called(self, tree: exp.Expr) -> str:
        """Return what the question calls a function."""
        start = tree.meta.get("start")
        found = _WORD.match(self.text, start) if isinstance(start, int) else None
        return (found.group() if found else tree.key)[:60]

    def only(self, tree: exp.Expr, parts: Iterable[str]) -> None:
        """Refuse a node that has any part but the given ones."""
        allowed = set(parts)
        for part, value in tree.args.items():
            if value is None or value is False or value == [] or value == "" or part in allowed:
                continue
            said = names.CLAUSES.get(part)
            if said is None:
                word = part.strip("_").replace("_", " ").upper()
                said = (f"{word} is not offered in {self.called(tree).upper()}", "leave it out")
            at = self.at(value[0] if isinstance(value, list) else value) or self.at(tree)
            refuse(*said, at)

    def name(self, tree: Any) -> str:
        """Return a name: of a table, a column, an output."""
        if type(tree) is not self.classes.Identifier:
            refuse("a name is expected where something else stands", "write a declared name", self.at(tree))
        self.only(tree, ("this", "quoted"))
        name = tree.this
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
            refuse(f"a name is 1 to {LONGEST_NAME} printable characters", "choose another", self.at(tree))
        return name

    def refuse_node(self, tree: object) -> NoReturn:
        """Refuse a node that is not in the language, with the nearest thing that works."""
        if not isinstance(tree, self.classes.Expr):
            refuse("the question is not complete", "write SELECT ... FROM ... GROUP BY ...")
        kind = type(tree).__name__
        if kind in names.REMEDIES:
            refuse(*names.REMEDIES[kind], self.at(tree) or self.token(kind.upper()))
        if kind in names.SETS:
            refuse(f"{names.SETS[kind]} is not offered", "ask each SELECT as its own question", self.at(tree))
        if isinstance(tree, self.classes.Func):
            self.refuse_function(self.called(tree), self.at(tree))
        refuse(f"{kind.upper()[:60]} is not offered", "use what docs/guides/sql.md lists", self.at(tree))

    def refuse_function(self, called: str, at: Position | None) -> NoReturn:
        """Refuse a function that is not in the language, and name the one that looks like it."""
        near = difflib.get_close_matches(called.lower(), names.FUNCTIONS, 1, 0.7)
        instead = f"write {near[0].upper()}, or another" if near else "write one"
        refuse(f"there is no function {called[:60]!r} here", f"{instead} of: {', '.join(names.FUNCTIONS)}", at)
