"""How an answer is shown: a table for a terminal, one for a notebook, a chart of bars, and the line under them."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Iterable, Sequence
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.bars import aligned, bars
from discreet.errors import NotSupported

if TYPE_CHECKING:
    from discreet.answer import Answer

Shown = str | int | float | bool | date | None

_ROWS = 24  # fits a terminal; to_pandas() has them all
_BARS = 100  # one can still scroll to the first
_TOO_FEW = "too few to tell"
_STYLE = (
    "<style>.discreet td, .discreet th {padding: 0.1em 0.8em} .discreet .number {text-align: right} "
    ".discreet-note {font-size: smaller; opacity: 0.8}</style>"
)


def note(answer: Answer) -> str:
    """Return one line on what the errors mean, what was paid, what is protected, and what is missing."""
    paid = "free" if answer.charged == 0 else f"{percent(answer.charged)} of the budget"
    parts = [f"± at {percent(answer.confidence)}, each number for itself"]
    if answer.processing:
        parts.append(f"post-processed: {', '.join(answer.processing)}")
    parts += [f"{answer.route}, {paid}", answer.relation]
    if answer.facts.names_keys:
        parts.append("groups that few people share are not named")
    if any(None in answer.columns[name] for name in answer.facts.quotients if name in answer.columns):
        parts.append(f"{_TOO_FEW}: the number of rows may be 0")
    return " · ".join(parts)


def as_text(answer: Answer) -> str:
    """Return the first rows, each number with its error beside it, and the note."""
    right = [name in answer.errors for name in answer.columns]
    table = aligned([list(map(label, answer.columns)), *_cells(answer)], right)
    return "\n".join([*table, *_more(answer, _ROWS), note(answer)])


def as_html(answer: Answer) -> str:
    """Return the same for a notebook. Every text is escaped."""
    right = [name in answer.errors for name in answer.columns]
    head = _tags("th", map(label, answer.columns), right)
    body = "".join(f"<tr>{_tags('td', row, right)}</tr>" for row in _cells(answer))
    under = " · ".join([note(answer), *_more(answer, _ROWS)])
    table = f'<table class="discreet"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'{_STYLE}{table}<p class="discreet-note">{html.escape(under)}</p>'


def _tags(tag: str, texts: Iterable[str], right: Sequence[bool]) -> str:
    opened = (f'{tag} class="number"' if to_right else tag for to_right in right)
    return "".join(f"<{start}>{html.escape(text)}</{tag}>" for start, text in zip(opened, texts, strict=True))


def as_bars(answer: Answer, *, width: int | None, ascii_only: bool | None) -> str:
    """Return bars of the first number of each row, each with its own error, for a terminal."""
    number = next((name for name in answer.errors if is_number(answer.columns[name])), None)
    if number is None:
        raise NotSupported("this answer has no number with an error that could be drawn.")
    columns = {name: list(itertools.islice(values, _BARS)) for name, values in answer.columns.items()}
    labels = labels_of(answer, _BARS) or [number] * len(columns[number])
    values = [value if isinstance(value, int | float) else 0 for value in columns[number]]
    errors = list(itertools.islice(answer.errors_of(number), _BARS))
    texts = [measured(value, error) for value, error in zip(columns[number], errors, strict=True)]
    known = [error or 0 for error in errors]
    return "\n".join([bars(labels, values, known, texts, width=width, ascii_only=ascii_only), *_more(answer, _BARS)])


def labels_of(answer: Answer, most: int) -> list[str]:
    """Return the keys of the first rows, one text for each row; none where an answer has no keys."""
    keys = [itertools.islice(values, most) for name, values in answer.columns.items() if name not in answer.errors]
    return [", ".join(map(label, row)) for row in zip(*keys, strict=True)]


def is_number(values: Sequence[Shown]) -> bool:
    """Return whether all values that are not NULL are numbers."""
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)


def _cells(answer: Answer) -> list[list[str]]:
    """Return the rows as text, errors beside the numbers, at most as many as are shown."""
    texts = []
    for name, values in answer.columns.items():
        shown = itertools.islice(values, _ROWS)
        if name not in answer.errors:
            texts.append([label(value) for value in shown])
            continue
        missing = _TOO_FEW if name in answer.facts.quotients else "NULL"
        errors = itertools.islice(answer.errors_of(name), _ROWS)
        pairs = zip(shown, errors, strict=True)
        texts.append([missing if value is None else measured(value, error) for value, error in pairs])
    return [list(row) for row in zip(*texts, strict=True)]


def _more(answer: Answer, shown: int) -> list[str]:
    """Return the line that says how many rows are not shown, if any."""
    return [f"... {answer.rows - shown:,} more rows"] if answer.rows > shown else []


def percent(share: Fraction) -> str:
    """Return a share as people write it.

    >>> percent(Fraction(1, 10)), percent(Fraction(1, 3000))
    ('10 %', '0.0333 %')
    """
    return f"{float(100 * share):.3g} %"


def readable(number: float, error: float | None = None) -> str:
    """Return a number as people write it: to a thousandth of its error, or to three digits.

    >>> readable(1234), readable(52.38476, 1.7), readable(0.0123456)
    ('1,234', '52.38', '0.0123')
    """
    if isinstance(number, int) or number == 0:
        return f"{int(number):,}"
    if error and math.isfinite(error):
        return f"{number:,.{min(max(0, 3 - math.ceil(math.log10(error))), 15)}f}"
    whole = abs(number) >= 1000 or number == int(number)
    return f"{number:,.0f}" if whole else f"{number:,.3g}"


def measured(value: Shown, error: float | None) -> str:
    """Return a number and its error."""
    shown = readable(value, error) if isinstance(value, int | float) else label(value)
    return shown if value is None else f"{shown} ± {'?' if error is None else readable(error)}"


def label(value: Shown) -> str:
    """Return a value of a key on one line, with no sign that a terminal would obey."""
    text = "NULL" if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value)
    return text if text.isprintable() else repr(text)[1:-1]
