"""Public facts about columns: what values they may hold, declared by someone who knows, never read from the data."""

from __future__ import annotations

from discreet.dp.columns import Boolean, Category, Date, Integer, Listed
from discreet.dp.measured import Bins, Datetime, Real, Text
from discreet.dp.universe import Finite, Universe
from discreet.dp.values import Value

Column = Category | Integer | Real | Bins | Boolean | Date | Datetime | Text

__all__ = [
    "Bins",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Datetime",
    "Finite",
    "Integer",
    "Listed",
    "Real",
    "Text",
    "Universe",
    "Value",
]
