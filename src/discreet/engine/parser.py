"""From the text of a question to our own tree. The only module that imports the parser, and the first line of defence.

What is not named here is refused. Whatever engine answers, the text is read as DuckDB's SQL, and none of it goes on
as text: names and constants come out inside `syntax.Select`, and everything else becomes a type of ours or a refusal.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.engine.parser_nodes import position, refuse
from discreet.engine.parser_select import Selects
from discreet.engine.stack import STACK_NAME, on_own_stack
from discreet.engine.syntax import Position, Select
from discreet.errors import NotSupported

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

MAX_BYTES = 65_536
MAX_TOKENS = 5_000
MAX_DEPTH = 40  # brackets, CASE, and signs before something, in each other
MAX_JOINS = 20
MAX_LEVELS = 80  # parts in each other, without brackets: 1 + 1 + 1 is two

_FORM = "write SELECT <columns>, COUNT(*) AS n FROM <table> GROUP BY <columns>"
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def parse(text: str) -> Select:
    """Return what a question says, or refuse it and say where and what to write instead.

    >>> parse("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward").outputs[0].value.name
    'ward'
    >>> parse("SELECT COUNT_IF(cost > 9) FROM visits")
    Traceback (most recent call last):
    ...
    discreet.errors.NotSupported: COUNT_IF is not offered (line 1, column 8); write COUNT(*) FILTER (WHERE condition).
    """
    if not isinstance(text, str):
        refuse(f"a question is a text, not a {type(text).__name__[:60]}", _FORM)
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        refuse(f"the question is longer than {MAX_BYTES:,} bytes", "shorten it")
    if _NO_TEXT.search(text):
        refuse("the question holds a character that no text has", "write letters, digits and signs")
    return _parsed(text)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Select:
    """Read a text once: a dashboard asks the same ones again and again. What is refused is read again."""
    found = on_own_stack(lambda: _read(text))
    if isinstance(found, Select):
        return found
    raise NotSupported(found or "the question cannot be read here; shorten it.")


def _read(text: str) -> Select | str:
    """Return the tree, or the words of a refusal: no exception of a parser, nor its text, is ever seen."""
    try:
        return _tree(text)
    except NotSupported as refused:
        return str(refused)
    except RecursionError:
        return "the question is nested too deeply; use fewer brackets."
    except Exception:  # noqa: BLE001  a parser of hostile text may raise anything; nothing of it is shown
        return f"the question is not SQL that can be read here; {_FORM}."


def _tree(text: str) -> Select:
    import sqlglot
    from sqlglot import exp

    logging.getLogger("sqlglot").addFilter(_is_of_others)  # which happens once
    dialect = sqlglot.Dialect.get_or_raise("duckdb")
    tokens = dialect.tokenize(text)
    _scan(tokens, text, {kind.name for kind in dialect.parser_class.TYPE_TOKENS})
    try:
        trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    except sqlglot.ParseError as error:
        at = _place(error.errors, tokens, text)
        refuse("the question is not SQL that can be read here", _FORM, at)
    if len(trees) != 1:
        refuse("a question is one SELECT", _FORM)
    _measure(trees[0])
    return Selects(exp, text, tokens).question(trees[0])


def _is_of_others(record: logging.LogRecord) -> bool:
    """Keep what the parser says of a question, with its text, out of the log; what others use it for stays there."""
    return threading.current_thread().name != STACK_NAME


def _place(errors: Sequence[dict[str, object]], tokens: Sequence[Token], text: str) -> Position | None:
    """Return where the parser gave up, from the token that it was at."""
    for token in tokens if errors else ():
        if (token.line, token.col) == (errors[0].get("line"), errors[0].get("col")):
            return position(text, token.start)
    return None


# Brackets that the parser reads in two ways, so that each inside another doubles its time, have the name of a type
# before them. None of these is in the language.
_REFUSED_SIGNS = {
    "L_BRACKET": ("lists are not offered", "write IN ('a', 'b') with round brackets"),
    "L_BRACE": ("{ is not offered", "use declared columns"),
    "ARROW": ("-> is not offered", "use declared columns"),
    "DARROW": ("->> is not offered", "use declared columns"),
    "HASH_ARROW": ("#> is not offered", "use declared columns"),
    "DHASH_ARROW": ("#>> is not offered", "use declared columns"),
}
_TYPE_CALLS = {
    "date": ("DATE(x) is not offered", "write CAST(x AS DATE)"),
    "list": ("lists are not offered: it would show single rows", "group by the column"),
    "interval": ("intervals are not offered", "write the days at both ends, DATE '2026-01-31'"),
    "union": ("UNION is not offered", "ask each SELECT as its own question"),
    "decimal": ("DECIMAL is not offered", "cast to INTEGER, DOUBLE or DATE"),
    "numeric": ("NUMERIC is not offered", "cast to INTEGER, DOUBLE or DATE"),
    "varchar": ("VARCHAR is not offered", "cast to INTEGER, DOUBLE or DATE"),
}
_OPERANDS = frozenset(("NUMBER", "STRING", "VAR", "IDENTIFIER", "R_PAREN", "END", "NULL", "TRUE", "FALSE"))
_PREFIXES = frozenset(("NOT", "DASH", "PLUS", "TILDE", "PARAMETER", "INTERVAL", "DISTINCT", "EXISTS", "ANY"))


def _scan(tokens: Sequence[Token], text: str, types: Set[str]) -> None:
    """Refuse by tokens what must not reach the parser: it warns, recurses, or reads statements of many kinds."""
    if not tokens or tokens[0].token_type.name not in ("SELECT", "WITH"):
        refuse("a question starts with SELECT or WITH", _FORM, position(text, 0) if text else None)
    if len(tokens) > MAX_TOKENS:
        at = position(text, tokens[MAX_TOKENS].start)
        refuse(f"the question has more than {MAX_TOKENS:,} words and signs", "shorten it", at)
    before = None
    for place, token in enumerate(tokens):
        _scan_pair(before, token, text, types)
        if token.token_type.name == "SEMICOLON" and place < len(tokens) - 1:
            refuse(
                "a question is one statement", "leave out what stands after the semicolon", position(text, token.start)
            )
        before = token
    _scan_depth(tokens, text)


def _scan_pair(before: Token | None, token: Token, text: str, types: Set[str]) -> None:
    """Refuse a token, or one next to another."""
    kind, at = token.token_type.name, token.start
    if token.comments and any(comment.lstrip().startswith("+") for comment in token.comments):
        refuse("hints are not offered", "leave them out", position(text, at))
    if kind in _REFUSED_SIGNS:
        refuse(*_REFUSED_SIGNS[kind], position(text, at))
    if before is None:
        return
    if kind == "L_PAREN" and before.token_type.name in types:
        word = before.text[:60]
        said = _TYPE_CALLS.get(word.lower(), (f"{word!r} before a bracket is not offered", "leave it out"))
        refuse(*said, position(text, before.start))
    if before.token_type.name == "NUMBER" and before.end + 1 == at and (kind == "VAR" or token.text[:1].isalnum()):
        refuse(
            "a number and a name touch", "write the number in decimal digits, and a blank after it", position(text, at)
        )


def _scan_depth(tokens: Sequence[Token], text: str) -> None:
    """Refuse what is too deep: brackets, CASE, and signs before them and before each other."""
    opened, depth, signs, nots, joins = [0], 0, 0, 0, 0
    for place, token in enumerate(tokens):
        kind = token.token_type.name
        if kind in ("L_PAREN", "CASE"):
            opened.append(1 + signs)
            depth += opened[-1]
        elif kind in ("R_PAREN", "END") and len(opened) > 1:
            depth -= opened.pop()
        is_between = kind in ("DASH", "PLUS") and place > 0 and tokens[place - 1].token_type.name in _OPERANDS
        signs = signs + 1 if kind in _PREFIXES and not is_between else 0
        nots = nots + 1 if kind == "NOT" else nots * (kind not in ("AND", "OR", "COMMA", "L_PAREN", "R_PAREN"))
        joins += kind == "JOIN"
        if joins > MAX_JOINS:
            refuse(f"the question has more than {MAX_JOINS} joins", "join fewer tables", position(text, token.start))
        if depth + max(signs, nots) > MAX_DEPTH:
            what = f"the question has more than {MAX_DEPTH} brackets, signs or CASE in each other"
            refuse(what, "use fewer", position(text, token.start))
        if kind == "L_PAREN" and place and tokens[place - 1].token_type.name == "ALIAS":
            _starts_a_select(tokens[place + 1 :], text)


def _starts_a_select(tokens: Sequence[Token], text: str) -> None:
    """WITH x AS (...) holds a SELECT: the parser would read a statement of any kind there."""
    if tokens and tokens[0].token_type.name not in ("SELECT", "WITH", "L_PAREN"):
        refuse("what stands in brackets after AS is a SELECT", "write SELECT there", position(text, tokens[0].start))


# Nodes that are in the way of others, but are no level of an expression.
_THIN = frozenset(("Paren", "From", "Where", "Having", "Group", "Order", "Ordered", "Subquery", "Alias", "If", "With"))


def _measure(tree: exp.Expr) -> None:
    """Refuse a tree that is too deep to be walked. A chain of AND or OR is one level."""
    from sqlglot import exp

    waiting: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_LEVELS:
            refuse(f"the question has more than {MAX_LEVELS} operators in each other", "set brackets, or use fewer")
        kind = type(node)
        for value in node.args.values():
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, exp.Expr):
                    chained = kind is type(part) and kind in (exp.And, exp.Or)
                    waiting.append((part, depth + (not chained and kind.__name__ not in _THIN)))
