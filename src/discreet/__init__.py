"""A private query engine: ask a table about everyone and about no one.

A query carries its sensitivity; a mechanism turns sensitivity into loss; the ledger turns loss into permission;
permission turns an exact value into an answer.

>>> import discreet as dc
>>> session = dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger())
>>> answer = session.sql("SELECT sex, COUNT(*) AS n FROM census GROUP BY sex", epsilon=0.1)
>>> answer.columns["sex"], answer.errors["n"]
(('Female', 'Male'), 30)
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# The public names in the order of the main path, each with the module that has it. Nothing is loaded before use.
_WHERE = {
    "Table": "discreet.engine.table",
    "load_tables": "discreet.engine.catalog",
    "census": "discreet.engine.census",
    "Category": "discreet.dp",
    "Integer": "discreet.dp",
    "Real": "discreet.dp",
    "Bins": "discreet.dp",
    "Boolean": "discreet.dp",
    "Date": "discreet.dp",
    "Datetime": "discreet.dp",
    "Text": "discreet.dp",
    "Budget": "discreet.dp",
    "Session": "discreet.session",
    "col": "discreet.engine.terms",
    "when": "discreet.engine.term_cases",
    "count": "discreet.engine.term_aggregates",
    "count_distinct": "discreet.engine.term_aggregates",
    "sum": "discreet.engine.term_aggregates",
    "mean": "discreet.engine.term_aggregates",
    "variance": "discreet.engine.term_aggregates",
    "stddev": "discreet.engine.term_aggregates",
    "median": "discreet.engine.term_aggregates",
    "quantile": "discreet.engine.term_aggregates",
    "memory_ledger": "discreet.ledger",
    "Ledger": "discreet.ledger",
    "Answer": "discreet.answer",
    "Quote": "discreet.answer",
    "Refused": "discreet.errors",
    "BudgetExceeded": "discreet.errors",
    "NotSupported": "discreet.errors",
    "NeedsDeclaration": "discreet.errors",
    "InvalidParameter": "discreet.errors",
    "LedgerError": "discreet.errors",
    "Unavailable": "discreet.errors",
    "Failed": "discreet.errors",
}
_PACKAGES = ("dp", "release")

if TYPE_CHECKING:
    from discreet import dp as dp
    from discreet import release as release
    from discreet.answer import Answer as Answer
    from discreet.answer import Quote as Quote
    from discreet.dp import Bins as Bins
    from discreet.dp import Boolean as Boolean
    from discreet.dp import Budget as Budget
    from discreet.dp import Category as Category
    from discreet.dp import Date as Date
    from discreet.dp import Datetime as Datetime
    from discreet.dp import Integer as Integer
    from discreet.dp import Real as Real
    from discreet.dp import Text as Text
    from discreet.engine.catalog import load_tables as load_tables
    from discreet.engine.census import census as census
    from discreet.engine.table import Table as Table
    from discreet.engine.term_aggregates import count as count
    from discreet.engine.term_aggregates import count_distinct as count_distinct
    from discreet.engine.term_aggregates import mean as mean
    from discreet.engine.term_aggregates import median as median
    from discreet.engine.term_aggregates import quantile as quantile
    from discreet.engine.term_aggregates import stddev as stddev
    from discreet.engine.term_aggregates import sum as sum  # noqa: A004
    from discreet.engine.term_aggregates import variance as variance
    from discreet.engine.term_cases import when as when
    from discreet.engine.terms import col as col
    from discreet.errors import BudgetExceeded as BudgetExceeded
    from discreet.errors import Failed as Failed
    from discreet.errors import InvalidParameter as InvalidParameter
    from discreet.errors import LedgerError as LedgerError
    from discreet.errors import NeedsDeclaration as NeedsDeclaration
    from discreet.errors import NotSupported as NotSupported
    from discreet.errors import Refused as Refused
    from discreet.errors import Unavailable as Unavailable
    from discreet.ledger import Ledger as Ledger
    from discreet.ledger import memory_ledger as memory_ledger
    from discreet.session import Session as Session
else:  # unknown to type checkers, which then find a name that is misspelt

    def __getattr__(name: str) -> object:
        if name in _PACKAGES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _WHERE:
            raise AttributeError(f"module 'discreet' has no attribute {name!r}")
        found: object = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = found  # the next use does not come here
        return found


def __dir__() -> list[str]:
    return [*_WHERE, *_PACKAGES, "__version__"]
