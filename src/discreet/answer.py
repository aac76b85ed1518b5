"""What a session shows: answers and quotes. All arithmetic here is on released numbers and public facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet import answer_display, answer_frames
from discreet.answer_display import percent as percent
from discreet.answer_display import readable as readable
from discreet.column import Arithmetic, Column, column_of
from discreet.dp import Loss
from discreet.errors import NotSupported

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from discreet.citations import Citations

Value = str | int | float | bool | date | None
Number = int | float
Errors = Number | Sequence[Number | None]

_FORMAT = 3


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an answer beside its numbers: all of it follows from the question and the budget."""

    used: tuple[str, ...] = ()  # the theorems it rests on, by their names in `citations.py`
    counts: frozenset[str] = frozenset()  # the columns of counts: the true ones are not below 0
    quotients: frozenset[str] = frozenset()  # those that are NULL where the number of rows may be 0
    names_keys: bool = False  # groups come from the table: those that few units share are missing


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Arithmetic):
    """Released numbers, each with its error: the true value is within it at `confidence`, each number for itself.

    Guarantee: everything in it, and everything computed from it, is covered by the loss that was charged.

    `errors[name]` is one number for all rows of a column, or one for each row; None where it is not known, or where
    the value is NULL. `answer["n"]` is a column, and columns and answers of one number take + - * / (`column.py`).
    """

    columns: Mapping[str, Sequence[Value]]
    errors: Mapping[str, Errors]
    relation: str
    route: str = field(compare=False)
    charged: Fraction = field(compare=False)
    facts: Facts = field(default=Facts(), compare=False)
    confidence: Fraction = Fraction(19, 20)
    processing: tuple[str, ...] = ()  # what was done to the numbers after they were released

    @property
    def value(self) -> Value:
        """The number, of an answer that is one number."""
        return self.columns[self._single()][0]

    @property
    def error(self) -> Number | None:
        """How far off it may be at the confidence that is stated, of an answer that is one number."""
        return self.errors_of(self._single())[0]

    @property
    def low(self) -> float | None:
        """The lower end of its interval, of an answer that is one number."""
        return self._column().low

    @property
    def high(self) -> float | None:
        """The upper end of its interval, of an answer that is one number."""
        return self._column().high

    def _single(self) -> str:
        if len(self.errors) != 1 or self.rows != 1:
            raise NotSupported("this answer is not one number; use to_pandas(), or .columns and .errors.")
        return next(iter(self.errors))

    def _column(self) -> Column:
        if len(self.errors) != 1 or self.rows != 1:
            raise NotSupported('this answer is not one number; take a column of it, such as answer["n"].')
        return column_of(self, self._single())

    def __getitem__(self, name: str) -> Column:
        """Return a column, which takes + - * /."""
        return column_of(self, name)

    @property
    def rows(self) -> int:
        """How many rows it has: as many as the declared groups, unless HAVING, LIMIT or private keys say otherwise."""
        return len(next(iter(self.columns.values())))

    @property
    def keys(self) -> dict[str, Sequence[Value]]:
        """The columns that say what each row is about."""
        return {name: values for name, values in self.columns.items() if name not in self.errors}

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

    def _numbers(self) -> frozenset[str]:
        return frozenset(self.errors) | {f"{name}_error" for name in self.errors}

    def to_arrow(self, *, errors: bool = True) -> pa.Table:
        """Return an Arrow table."""
        return answer_frames.to_arrow(self.table(errors=errors), self._numbers())

    def to_pandas(self, *, errors: bool = True) -> pd.DataFrame:
        """Return a pandas frame with a RangeIndex."""
        return answer_frames.to_pandas(self.table(errors=errors), self._numbers())

    def to_polars(self, *, errors: bool = True) -> pl.DataFrame:
        """Return a polars frame."""
        return answer_frames.to_polars(self.table(errors=errors), self._numbers())

    def to_bytes(self) -> bytes:
        """Return the answer as canonical JSON: the same answer is the same bytes, whatever it was charged."""
        fields = {
            "format": _FORMAT,
            "columns": [[name, [_written(value) for value in values]] for name, values in self.columns.items()],
            "errors": {name: list(e) if isinstance(e, Sequence) else e for name, e in self.errors.items()},
            "relation": self.relation,
            "confidence": str(self.confidence),
            "processing": list(self.processing),
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Answer:
        """Return an answer that was stored, which is free."""
        fields = json.loads(data)
        if fields.get("format") != _FORMAT:
            raise NotSupported("this answer was stored by another version of discreet; read it with that one.")
        return Answer(
            columns={name: tuple(map(_read, values)) for name, values in fields["columns"]},
            errors={name: tuple(e) if isinstance(e, list) else e for name, e in fields["errors"].items()},
            relation=fields["relation"],
            route="cache",
            charged=Fraction(0),
            confidence=Fraction(fields["confidence"]),
            processing=tuple(fields["processing"]),
        )

    @property
    def note(self) -> str:
        """One line on what the errors mean, what was paid, what is protected, and what is missing."""
        return answer_display.note(self)

    def __repr__(self) -> str:
        return answer_display.as_text(self)

    def _repr_html_(self) -> str:
        return answer_display.as_html(self)

    def bars(self, *, width: int | None = None, ascii_only: bool | None = None) -> str:
        """Return a bar chart with error bars, for a terminal; of the first number of each row."""
        return answer_display.as_bars(self, width=width, ascii_only=ascii_only)

    def plot(self, axes: Any = None) -> Any:
        """Draw it by Matplotlib and return the axes: see `discreet.plot`. Several numbers have a panel each."""
        from discreet.plot import plot

        return plot(self, axes)

    def cite(self) -> Citations:
        """Return the theorems and papers that this answer rests on, as text and for BibTeX."""
        from discreet.citations import cited

        return cited(self.facts.used)

    def consistent(self, total: Answer | int | None = None) -> Answer:
        """Return it with counts that are not negative, and add up to a total, if the groups make up all that it counts.

        Guarantee: post-processing of released numbers, which costs nothing. The errors hold at the same confidence.
        Source: Hay, Rastogi, Miklau, Suciu, 2010 (least squares); `consistency.py` says why the errors hold.

        >>> facts = dict(relation="protects a patient", route="direct", charged=Fraction(0))
        >>> counts = Facts(counts=frozenset({"n"}))
        >>> wards = Answer({"ward": ("a", "b", "c"), "n": (52, 40, -7)}, {"n": 10}, **facts, facts=counts)
        >>> wards.consistent().columns["n"], wards.consistent(total=90).columns["n"]
        ((52, 40, 0), (51, 39, 0))
        """
        from discreet.consistency import consistent

        return consistent(self, total)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Answer):
            return _compared(self) == _compared(other)
        if isinstance(other, int | float | Fraction | Decimal | Column):
            self.__lt__(other)  # says what to compare
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]


def _compared(answer: Answer) -> tuple[object, ...]:
    return answer.columns, answer.errors, answer.relation, answer.confidence, answer.processing


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


def _expected(error: Number | str) -> str:
    if isinstance(error, str):
        return error
    return readable(error)


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
