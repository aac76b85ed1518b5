"""What a session shows: answers and quotes. All arithmetic here is on released numbers and public facts."""

from __future__ import annotations

import html
import itertools
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp import Loss
from discreet.errors import NotSupported

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Value = str | int | bool
Number = int | float

_ROWS_SHOWN = 24  # fits a terminal; to_pandas() has them all
_BARS_SHOWN = 100  # one can still scroll to the first
_FORMAT = 1


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """Released numbers, each with its error: the true value is within `errors[name]` at 95 %, each for itself.

    Guarantee: everything in it, and everything computed from it, is covered by the loss that was charged.
    """

    columns: Mapping[str, Sequence[Value]]
    errors: Mapping[str, Number]
    epsilon: Fraction
    relation: str
    route: str = field(compare=False)
    charged: Fraction = field(compare=False)

    @property
    def value(self) -> Number:
        """The number, of an answer that is one number."""
        return int(self.columns[self._single()][0])

    @property
    def error(self) -> Number:
        """Half the width of the interval at 95 %, of an answer that is one number."""
        return self.errors[self._single()]

    def _single(self) -> str:
        if len(self.errors) != 1 or self.rows != 1:
            raise NotSupported("this answer is not one number; use to_pandas(), or .columns and .errors.")
        return next(iter(self.errors))

    @property
    def rows(self) -> int:
        """How many rows it has: as many as the declared groups."""
        return len(next(iter(self.columns.values())))

    def arranged(self, names: Sequence[tuple[str, str]]) -> Answer:
        """Return the same numbers for `names` of (new, old): renamed, reordered, rows in the order of the keys."""
        keys = [old for _, old in names if old not in self.errors]
        ranks = [{value: rank for rank, value in enumerate(dict.fromkeys(self.columns[key]))} for key in keys]
        places = [[rank[value] for value in self.columns[key]] for key, rank in zip(keys, ranks, strict=True)]
        order = sorted(range(self.rows), key=lambda row: [place[row] for place in places])
        columns = {new: tuple(self.columns[old][row] for row in order) for new, old in names}
        errors = {new: self.errors[old] for new, old in names if old in self.errors}
        return replace(self, columns=columns, errors=errors)

    def table(self, *, errors: bool = True) -> dict[str, Sequence[Value] | Sequence[Number]]:
        """Return the columns with `<name>_error` beside each number."""
        out: dict[str, Sequence[Value] | Sequence[Number]] = {}
        for name, values in self.columns.items():
            out[name] = values
            if errors and name in self.errors:
                out[f"{name}_error"] = [self.errors[name]] * len(values)
        return out

    def to_arrow(self, *, errors: bool = True) -> pa.Table:
        """Return an Arrow table."""
        import pyarrow as pa

        return pa.table({name: pa.array(values) for name, values in self.table(errors=errors).items()})

    def to_pandas(self, *, errors: bool = True) -> pd.DataFrame:
        """Return a pandas frame with a RangeIndex."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_pandas() needs pandas: pip install 'discreet[pandas]'") from None
        return pd.DataFrame({name: list(values) for name, values in self.table(errors=errors).items()})

    def to_polars(self, *, errors: bool = True) -> pl.DataFrame:
        """Return a polars frame."""
        try:
            import polars as pl
        except ImportError:
            raise ImportError("to_polars() needs polars: pip install 'discreet[polars]'") from None
        return pl.DataFrame({name: list(values) for name, values in self.table(errors=errors).items()})

    def to_bytes(self) -> bytes:
        """Return the answer as canonical JSON: the same answer is the same bytes, whatever it was charged."""
        fields = {
            "format": _FORMAT,
            "columns": [[name, list(values)] for name, values in self.columns.items()],
            "errors": dict(self.errors),
            "epsilon": str(self.epsilon),
            "relation": self.relation,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Answer:
        """Return a stored answer, which is free."""
        fields = json.loads(data)
        if fields.get("format") != _FORMAT:
            raise NotSupported("this answer was stored by another version of discreet; read it with that one.")
        columns = {name: tuple(values) for name, values in fields["columns"]}
        epsilon = Fraction(fields["epsilon"])
        return Answer(columns, fields["errors"], epsilon, fields["relation"], route="cache", charged=Fraction(0))

    @property
    def note(self) -> str:
        """One line on what the errors mean, what was paid, and what is protected."""
        paid = "free" if self.charged == 0 else f"{percent(self.charged)} of the budget"
        return f"± at 95 %, each number for itself · {self.route}, {paid} · {self.relation}"

    def _cells(self) -> list[list[str]]:
        """Return the rows as text, errors beside the numbers, at most as many as are shown."""
        shown = {name: list(itertools.islice(values, _ROWS_SHOWN)) for name, values in self.columns.items()}
        texts = [
            [f"{value:,} ± {readable(self.errors[name])}" if name in self.errors else _label(value) for value in values]
            for name, values in shown.items()
        ]
        return [list(row) for row in zip(*texts, strict=True)]

    def __repr__(self) -> str:
        right = [name in self.errors for name in self.columns]
        return "\n".join([*_aligned([list(self.columns), *self._cells()], right), *self._more(_ROWS_SHOWN), self.note])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells()
        )
        more = f" · {self.rows - _ROWS_SHOWN:,} more rows" if self.rows > _ROWS_SHOWN else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{html.escape(self.note + more)}</p>"

    def bars(self, *, width: int | None = None, ascii_only: bool | None = None) -> str:
        """Return a bar chart with error bars, for a terminal; of the first number of each row."""
        number = next(iter(self.errors))
        columns = {name: list(itertools.islice(values, _BARS_SHOWN)) for name, values in self.columns.items()}
        keys = [values for name, values in columns.items() if name not in self.errors]
        labels = [", ".join(map(_label, row)) for row in zip(*keys, strict=True)] or [number]
        values = [int(value) for value in columns[number]]
        drawn = _bars(labels, values, self.errors[number], width=width, ascii_only=ascii_only)
        return "\n".join([drawn, *self._more(_BARS_SHOWN)])

    def _more(self, shown: int) -> list[str]:
        """Return the line that says how many rows are not shown, if any."""
        return [f"... {self.rows - shown:,} more rows"] if self.rows > shown else []


@dataclass(frozen=True, slots=True)
class Cost:
    """What a question costs: its share of the budget, its loss, and how many questions like it still fit.

    A stored answer costs nothing, and any number fits: None.
    """

    share: Fraction
    loss: Loss
    fits: int | None


@dataclass(frozen=True, slots=True, repr=False)
class Quote:
    """The price of a question and the error of its answer, from public facts and released answers alone."""

    cost: Cost
    errors: Mapping[str, Number]
    route: str
    advice: str

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} ± {readable(error)}" for name, error in self.errors.items())
        fits = "free" if self.cost.fits is None else f"{self.cost.fits:,} like this one fit"
        return f"{percent(self.cost.share)} of the budget ({fits}) · {errors} at 95 % · {self.route}\n{self.advice}"


def percent(share: Fraction) -> str:
    """Return a share as people write it.

    >>> percent(Fraction(1, 10)), percent(Fraction(1, 3000))
    ('10 %', '0.0333 %')
    """
    return f"{float(100 * share):.3g} %"


def readable(number: Number) -> str:
    """Return a number as people write it."""
    return f"{number:,}" if isinstance(number, int) or number == int(number) else f"{number:,.3g}"


def _label(value: Value) -> str:
    """Return a value of a key on one line, with no sign that a terminal would obey."""
    text = str(value)
    return text if text.isprintable() else repr(text)[1:-1]


def _aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Return lines of columns, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(right))]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


_UNICODE, _ASCII = "█├─┼┤±", "#|-+|~"  # bar, left end, whisker, the number itself, right end, plus or minus


def _bars(
    labels: Sequence[str], values: Sequence[int], error: Number, *, width: int | None, ascii_only: bool | None
) -> str:
    bar, left, line, middle, right, sign = tuple(_ASCII if _wants_ascii(ascii_only) else _UNICODE)
    texts = [f"{value:,} {sign} {readable(error)}" for value in values]
    room = (width or shutil.get_terminal_size().columns) - max(map(len, labels)) - max(map(len, texts)) - 5
    length, top = max(room, 10), max(1, max(values) + error)

    def place(number: Number) -> int:
        return min(length, max(0, round(number / top * length)))

    rows = []
    for label, value, text in zip(labels, values, texts, strict=True):
        low, at, high = place(value - error), place(value), place(value + error)
        cells = list(bar * at + " " * (length + 1 - at))
        cells[low : high + 1] = line * (high + 1 - low)
        cells[low], cells[high], cells[at] = left, right, middle
        rows.append([label, "".join(cells), text])
    return "\n".join(_aligned(rows, [False, False, True]))


def _wants_ascii(ascii_only: bool | None) -> bool:
    if ascii_only is not None:
        return ascii_only
    try:
        _UNICODE.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False
