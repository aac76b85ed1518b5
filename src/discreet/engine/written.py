"""A question as SQL text again, for people to read: `repr` of what the builder makes.

It is never sent to an engine. `parser.parse` reads it back into the same tree.
"""

from __future__ import annotations

import re
from fractions import Fraction

from discreet.engine.syntax import (
    Call,
    Case,
    Derived,
    Joined,
    Literal,
    Name,
    Node,
    Ordered,
    Parameter,
    Select,
    Source,
    Star,
)

_PLAIN = re.compile(r"[a-z_][a-z_0-9]*")
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "intdiv": "//", "mod": "%"}
_SIGNS |= {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "like": "LIKE"}
_SIGNS |= {"is_not_distinct": "IS NOT DISTINCT FROM"}
_AFTER = {"is_null": "IS NULL", "is_true": "IS TRUE", "is_false": "IS FALSE"}
_CASTS = {"cast_integer": "BIGINT", "cast_real": "DOUBLE", "cast_date": "DATE"}
# Words that a name has to stand in quotes beside.
_WORDS = """all and any array as asc between by case cast count cross current_date date desc distinct else end except
exists extract false filter first from full group having if in inner intersect interval into is join lateral left like
limit list map natural not null offset on or order outer pivot qualify row right select semi set struct table
tablesample then time timestamp true union unnest using values when where window with within"""
_RESERVED = frozenset(_WORDS.split())


def sql_of(select: Select) -> str:
    """Return a question as text.

    >>> from discreet.engine.parser import parse
    >>> sql_of(parse("select ward, avg(cost) as c from visits where age>=60 group by ward"))
    'SELECT ward, AVG(cost) AS c FROM visits WHERE (age >= 60) GROUP BY ward'
    """
    named = ", ".join(f"{quoted(name)} AS ({sql_of(one)})" for name, one in select.named)
    shown = (_as(text(one.value), one.name) for one in select.outputs)
    parts = [f"WITH {named}"] if named else []
    parts += ["SELECT " + ", ".join(shown), "FROM " + _source(select.source)]
    for word, node in (("WHERE", select.where), ("HAVING", select.having)):
        if word == "HAVING" and select.group_by:
            parts.append("GROUP BY " + ", ".join(text(key) for key in select.group_by))
        if node is not None:
            parts.append(f"{word} {text(node)}")
    if select.order_by:
        parts.append("ORDER BY " + ", ".join(_ordered(one) for one in select.order_by))
    parts += [f"{word} {text(node)}" for word, node in (("LIMIT", select.limit), ("OFFSET", select.offset)) if node]
    return " ".join(parts)


def text(node: Node) -> str:
    """Return an expression as text, with every bracket."""
    match node:
        case Name(name=name, qualifier=qualifier):
            return quoted(name) if qualifier is None else f"{quoted(qualifier)}.{quoted(name)}"
        case Literal(value=value):
            return _literal(value)
        case Parameter(name=name):
            return f"${name}"
        case Star():
            return "*"
        case Case(branches=branches, otherwise=otherwise):
            written = " ".join(f"WHEN {text(condition)} THEN {text(value)}" for condition, value in branches)
            return f"CASE {written}{'' if otherwise is None else f' ELSE {text(otherwise)}'} END"
        case Call(function=function, arguments=arguments):
            return _call(function, arguments)


def quoted(name: str) -> str:
    """Return a name, in quotes where it needs them."""
    if _PLAIN.fullmatch(name) and name not in _RESERVED:
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _literal(value: int | Fraction | str | bool | None) -> str:
    if isinstance(value, str):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, int) or value.denominator == 1:
        return str(value)
    digits = value.denominator.bit_length()  # 2^n and 5^n divide 10^n
    scaled = value * 10**digits
    if scaled.denominator != 1:
        return f"({value.numerator} / {value.denominator})"  # no decimal number is this one
    written = str(abs(scaled.numerator)).zfill(digits + 1)
    return ("-" if value < 0 else "") + f"{written[:-digits]}.{written[-digits:].rstrip('0')}"


def _call(function: str, arguments: tuple[Node, ...]) -> str:
    parts = [text(argument) for argument in arguments]
    if function in ("and", "or"):
        return "(" + f" {function.upper()} ".join(parts) + ")"
    if function in _SIGNS:
        return f"({parts[0]} {_SIGNS[function]} {parts[1]})"
    if function in _AFTER:
        return f"({parts[0]} {_AFTER[function]})"
    if function in _CASTS:
        return f"CAST({parts[0]} AS {_CASTS[function]})"
    match function:
        case "neg":
            return f"(- {parts[0]})"
        case "not":
            return f"(NOT {parts[0]})"
        case "between":
            return f"({parts[0]} BETWEEN {parts[1]} AND {parts[2]})"
        case "in":
            return f"({parts[0]} IN ({', '.join(parts[1:])}))"
        case "date" | "timestamp":
            return f"{function.upper()} {parts[0]}"
        case "count_distinct":
            return f"COUNT(DISTINCT {parts[0]})"
        case "percentile_cont":
            return f"PERCENTILE_CONT({parts[1]}) WITHIN GROUP (ORDER BY {parts[0]})"
        case "filter":
            return f"{parts[0]} FILTER (WHERE {parts[1]})"
    return f"{function.upper()}({', '.join(parts)})"


def _as(written: str, name: str | None) -> str:
    return written if name is None else f"{written} AS {quoted(name)}"


def _ordered(one: Ordered) -> str:
    nulls = " NULLS FIRST" if one.nulls_first else ""
    return text(one.value) + (" DESC" if one.descending else "") + nulls


def _source(source: Source) -> str:
    if isinstance(source, Joined):
        word = "JOIN" if source.kind == "inner" else "LEFT JOIN"
        using = f"USING ({', '.join(quoted(name) for name in source.using)})"
        how = using if source.on is None else f"ON {text(source.on)}"
        return f"{_source(source.left)} {word} {_source(source.right)} {how}"
    written = f"({sql_of(source.select)})" if isinstance(source, Derived) else quoted(source.name)
    return written if source.alias is None else f"{written} AS {quoted(source.alias)}"
