"""What a session shows: answers and quotes. All arithmetic here is on released numbers and public facts."""

from __future__ import annotations

import html
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.bars import aligned, bars
from discreet.dp import Loss
from discreet.errors import NotSupported

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Value = str | int | float | bool | date | None
Number = int | float
Errors = Number | Sequence[Number | None]

_ROWS_SHOWN = 24  # fits a terminal; to_pandas() has them all
_BARS_SHOWN = 100  # one can still scroll to the first
_FORMAT = 2


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """Released numbers, each with its error: the true value is within it at 95 %, each number for itself.

    Guarantee: everything in it, and everything computed from it, is covered by the loss that was charged.

    `errors[name]` is one number for all rows of a column, or one for each row; None where it is not known, or where
    the value is NULL.
    """

    columns: Mapping[str, Sequence[Value]]
    errors: Mapping[str, Errors]
    relation: str
    route: str = field(compare=False)
    charged: Fraction = field(compare=False)

    @property
    def value(self) -> Value:
        """The number, of an answer that is one number."""
        return self.columns[self._single()][0]

    @property
    def error(self) -> Number | None:
        """Half the width of the interval at 95 %, of an answer that is one number."""
        return self.errors_of(self._single())[0]

    def _single(self) -> str:
        if len(self.errors) != 1 or self.rows != 1:
            raise NotSupported("this answer is not one number; use to_pandas(), or .columns and .errors.")
        return next(iter(self.errors))

    @property
    def rows(self) -> int:
        """How many rows it has: as many as the declared groups, unless HAVING, LIMIT or private keys say otherwise."""
        return len(next(iter(self.columns.values())))

    def errors_of(self, name: str) -> Sequence[Number | None]:
        """Return the error of every row of a column."""
        errors = self.errors[name]
        return [errors] * self.rows if isinstance(errors, int | float) else errors

    def table(self, *, errors: bool = True) -> dict[str, Sequence[Any]]:
        """Return the columns with `<name>_error` beside each number."""
        out: dict[str, Sequence[Any]] = {}
        for name, values in self.columns.items():
            out[name] = values
            if errors and name in self.errors:
                out[f"{name}_error"] = self.errors_of(name)
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
            "columns": [[name, [_written(value) for value in values]] for name, values in self.columns.items()],
            "errors": {name: list(e) if isinstance(e, Sequence) else e for name, e in self.errors.items()},
            "relation": self.relation,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Answer:
        """Return an answer that was stored, which is free."""
        fields = json.loads(data)
        if fields.get("format") != _FORMAT:
            raise NotSupported("this answer was stored by another version of discreet; read it with that one.")
        columns = {name: tuple(map(_read, values)) for name, values in fields["columns"]}
        errors = {name: tuple(e) if isinstance(e, list) else e for name, e in fields["errors"].items()}
        return Answer(columns, errors, fields["relation"], route="cache", charged=Fraction(0))

    @property
    def note(self) -> str:
        """One line on what the errors mean, what was paid, and what is protected."""
        paid = "free" if self.charged == 0 else f"{percent(self.charged)} of the budget"
        return f"± at 95 %, each number for itself · {self.route}, {paid} · {self.relation}"

    def _cells(self) -> list[list[str]]:
        """Return the rows as text, errors beside the numbers, at most as many as are shown."""
        texts = []
        for name, values in self.columns.items():
            errors = self.errors_of(name) if name in self.errors else itertools.repeat(None)
            noisy = name in self.errors
            shown = zip(itertools.islice(values, _ROWS_SHOWN), errors, strict=False)
            texts.append([_measured(value, error) if noisy else _label(value) for value, error in shown])
        return [list(row) for row in zip(*texts, strict=True)]

    def __repr__(self) -> str:
        right = [name in self.errors for name in self.columns]
        return "\n".join([*aligned([list(self.columns), *self._cells()], right), *self._more(_ROWS_SHOWN), self.note])

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
        number = next((name for name in self.errors if self._is_number(name)), None)
        if number is None:
            raise NotSupported("this answer has no number with an error that could be drawn.")
        columns = {name: list(itertools.islice(values, _BARS_SHOWN)) for name, values in self.columns.items()}
        keys = [values for name, values in columns.items() if name not in self.errors]
        labels = [", ".join(map(_label, row)) for row in zip(*keys, strict=True)] or [number] * len(columns[number])
        values = [value if isinstance(value, int | float) else 0 for value in columns[number]]
        errors = [error or 0 for error in itertools.islice(self.errors_of(number), _BARS_SHOWN)]
        pairs = zip(columns[number], errors, strict=True)
        texts = [_measured(value, error) for value, error in pairs]
        drawn = bars(labels, values, errors, texts, width=width, ascii_only=ascii_only)
        return "\n".join([drawn, *self._more(_BARS_SHOWN)])

    def _is_number(self, name: str) -> bool:
        return all(value is None or isinstance(value, int | float) for value in self.columns[name])

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
    """The price of a question and the error of its answer, from public facts and released answers alone.

    An error that depends on the table is a text: a formula in n, the number of rows, with an example.
    """

    cost: Cost
    errors: Mapping[str, Number | str]
    route: str
    advice: str

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} ± {_expected(error)}" for name, error in self.errors.items())
        fits = "free" if self.cost.fits is None else f"{self.cost.fits:,} like this one fit"
        return f"{percent(self.cost.share)} of the budget ({fits}) · {errors} at 95 % · {self.route}\n{self.advice}"


def percent(share: Fraction) -> str:
    """Return a share as people write it.

    >>> percent(Fraction(1, 10)), percent(Fraction(1, 3000))
    ('10 %', '0.0333 %')
    """
    return f"{float(100 * share):.3g} %"


def readable(number: Number, error: Number | None = None) -> str:
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


def _measured(value: Value, error: Number | None) -> str:
    """Return a number and its error."""
    shown = readable(value, error) if isinstance(value, int | float) else _label(value)
    return shown if value is None else f"{shown} ± {'?' if error is None else readable(error)}"


def _expected(error: Number | str) -> str:
    if isinstance(error, str):
        return error
    return readable(error)


def _label(value: Value) -> str:
    """Return a value of a key on one line, with no sign that a terminal would obey."""
    text = "NULL" if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value)
    return text if text.isprintable() else repr(text)[1:-1]


def _written(value: Value) -> Any:
    """Return a value as JSON has it; a day or an instant as its kind and its text."""
    if isinstance(value, datetime):
        return ["datetime", value.isoformat()]
    return ["date", value.isoformat()] if isinstance(value, date) else value


def _read(value: Any) -> Value:
    if isinstance(value, list):
        kind = {"date": date, "datetime": datetime}[value[0]]
        return kind.fromisoformat(value[1])
    return value  # type: ignore[no-any-return]
