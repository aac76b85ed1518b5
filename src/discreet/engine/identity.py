"""When two questions are the same: where they release the same numbers, in whatever words and whatever they show.

An expression prints everything that decides its integers but the domains of columns, and these are in the fingerprint
of their table. So equal texts mean equal numbers, and a digest of the text is what a question is known by: in the
ledger, and where an engine keeps something for later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from discreet.engine.emit import columns_of
from discreet.engine.plan import Distinct, Histogram, Measure, Plan, Present, Relation, Rows, Total, Units

_LONGEST = 160  # characters of what a question is about


def question(plan: Plan, *how: object) -> str:
    """Return the one text of all questions with these released numbers: table, version, what it is about, digest.

    `how` is what else decides the numbers: the bounds that are enforced, and the relation.
    """
    table = plan.relation.scans[0]
    return f"{table.name}/{table.version} {_about(plan)} #{_digest(grouping(plan), plan.measures, *how)}"


def grouping(plan: Plan) -> str:
    """Return the one text of all plans that put the same rows into the same groups, whatever they measure there."""
    codes = [None if key.codes is None else _printed(key.codes) for key in plan.keys]
    return _digest(joining(plan.relation), plan.where, plan.keys, codes)


def joining(relation: Relation) -> str:
    """Return the one text of all relations with the same rows."""
    return _digest([table.fingerprint for table in relation.scans], relation.joins)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _printed(codes: Sequence[int]) -> str:
    """Return what stands for the codes of a key: they say which rows are in a group, and a key does not print them."""
    return repr(codes) if isinstance(codes, range) else hashlib.sha256(repr(tuple(codes)).encode()).hexdigest()


def _about(plan: Plan) -> str:
    """Return what is measured, of which columns, for whoever reads the ledger: it distinguishes no two questions."""
    parts = [", ".join(dict.fromkeys(map(_measured, plan.measures)))]
    if plan.keys:
        parts.append(f"by {', '.join(_names(key.expression) or 'all' for key in plan.keys)}")
    if plan.where is not None:
        parts.append(f"where {_names(plan.where) or 'always the same'}")
    said = " ".join(parts)
    return said if len(said) <= _LONGEST else said[: _LONGEST - 3] + "..."


def _measured(measure: Measure) -> str:
    match measure:
        case Rows():
            return "COUNT(*)"
        case Units():
            return "COUNT(DISTINCT unit)"
        case Present(expression):
            return f"COUNT({_names(expression)})"
        case Distinct(expression):
            return f"COUNT(DISTINCT {_names(expression)})"
        case Total(expression):
            return f"SUM({_names(expression)})"
        case Histogram(expression):
            return f"QUANTILES({_names(expression)})"


def _names(part: object) -> str:
    return ", ".join(dict.fromkeys(column.name for column in columns_of(part)))
