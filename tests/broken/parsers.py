"""Parsers with the mistakes one would really make: each lets something through that is not in the language."""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp

from discreet.engine.parser import parse
from discreet.engine.parser_select import Selects
from discreet.engine.syntax import Call, Node, Select
from discreet.engine.written import text as text_of
from discreet.errors import NotSupported


class _Trusting(Selects):
    """Knows some functions, and passes on by its name whatever else it is given."""

    def only(self, tree: Any, parts: Any) -> None:
        return None

    def node(self, tree: Any) -> Node:
        if isinstance(tree, exp.Anonymous):
            return Call(str(tree.this), self.nodes(tree.expressions))
        if type(tree) in self._readers:
            return super().node(tree)
        inside = [part for part in tree.args.values() if isinstance(part, exp.Expr)]
        return Call(tree.key, self.nodes(inside))


def passes_on_what_it_does_not_know(text: str) -> Select:
    """A list of what is refused in place of a list of what is understood, and no look at the parts of a node."""
    tokens = sqlglot.tokenize(text, read="duckdb")
    return _Trusting(exp, text, tokens).question(sqlglot.parse_one(text, read="duckdb"))


def reads_the_first_statement(text: str) -> Select:
    """What stands after a semicolon is dropped here; the engine, which gets the text, runs it."""
    return parse(text.partition(";")[0])


def reads_another_dialect(text: str) -> Select:
    """Reads a backslash as MySQL does, where it hides the quote after it; no engine here does."""
    try:
        tokens, tree = sqlglot.tokenize(text, read="mysql"), sqlglot.parse_one(text, read="mysql")
    except sqlglot.errors.SqlglotError:
        raise NotSupported("this is not SQL; write another.") from None
    return Selects(exp, text, tokens).question(tree)


def puts_texts_in_as_they_are(select: str, value: str) -> str:
    """A text put between quotes as it is."""
    return select.format(f"'{value}'")


def forgets_how_it_was_bracketed(select: Select) -> str:
    """An emitter without brackets: a * (b + c) comes out as a * b + c."""
    shown = ", ".join(_flat(one.value) for one in select.outputs)
    return f"SELECT {shown} FROM t"


def _flat(node: Node) -> str:
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    if isinstance(node, Call) and node.function in signs:
        return f" {signs[node.function]} ".join(_flat(one) for one in node.arguments)
    return text_of(node)


def doubles_with_each_bracket(text: str) -> Select:
    """The parser as it is, with no look at the tokens before: it tries the name of a type before a bracket twice."""
    return Selects(exp, text, sqlglot.tokenize(text, read="duckdb")).question(sqlglot.parse_one(text, read="duckdb"))
