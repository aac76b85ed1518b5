"""An answer as a table, CSV, JSON or Parquet, and the file that it goes into."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.commands.console import visible
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.answer import Answer

FORMATS = ("table", "csv", "json", "parquet")


class NotWritten(Exception):
    """An answer was charged and stored, and the file for it could not be written."""


def as_text(answer: Answer, *, errors: bool) -> str:
    """Return all rows for people: the error beside each number, and below them what it means."""
    from discreet.bars import aligned

    right = [name in answer.errors for name in answer.columns]
    columns = [_cells(answer, name, errors=errors) for name in answer.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return "\n".join([*aligned([list(map(_line, answer.columns)), *rows], right), answer.note])


def _cells(answer: Answer, name: str, *, errors: bool) -> list[str]:
    from discreet.answer import readable

    values = answer.columns[name]
    margins = answer.errors_of(name) if name in answer.errors else [None] * len(values)
    cells = []
    for value, margin in zip(values, margins, strict=True):
        told = "?" if margin is None or not math.isfinite(margin) else readable(margin)
        if name in answer.errors and isinstance(value, int | float) and math.isfinite(value):
            cells.append(f"{readable(value, margin)} ± {told}" if errors else readable(value, margin))
        else:
            cells.append(_line("NULL" if value is None else str(value)))
    return cells


def _line(text: str) -> str:
    return visible(text, breaks=False)


def as_csv(answer: Answer, *, errors: bool) -> str:
    """Return one header and a line for each row; NULL is an empty cell."""
    table = answer.table(errors=errors)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    writer.writerows([_cell(value) for value in row] for row in zip(*table.values(), strict=True))
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else plain(value)


def as_json(answer: Answer, *, errors: bool) -> dict[str, Any]:
    """Return the names of the columns, the rows, and what the answer says about itself."""
    from discreet.dp.rational import float_up

    table = answer.table(errors=errors)
    return {
        "columns": list(table),
        "rows": [[plain(value) for value in row] for row in zip(*table.values(), strict=True)],
        "route": answer.route,
        "charged": float_up(answer.charged),
        "protects": answer.relation.removeprefix("protects "),
        "note": answer.note,
    }


def plain(value: Any) -> Any:
    """Return a value as JSON has it: a day as its text, and no number where it is not finite."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_parquet(answer: Answer, *, errors: bool) -> bytes:
    """Return one Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    out = pa.BufferOutputStream()
    parquet.write_table(answer.to_arrow(errors=errors), out)
    written: bytes = out.getvalue().to_pybytes()
    return written


def as_bytes(answer: Answer, form: str, *, errors: bool) -> bytes:
    """Return what stands in a file of this format."""
    match form:
        case "parquet":
            return as_parquet(answer, errors=errors)
        case "csv":
            return as_csv(answer, errors=errors).encode("utf-8", "backslashreplace")
        case "json":
            return (json.dumps(as_json(answer, errors=errors), indent=2, allow_nan=False) + "\n").encode()
        case _:
            return (as_text(answer, errors=errors) + "\n").encode()


def format_of(wanted: str | None, output: str | None) -> str:
    """Return the format that was asked for, or that of the ending of the file.

    >>> format_of(None, "wards.csv"), format_of("json", "wards.csv"), format_of(None, None)
    ('csv', 'json', 'table')
    """
    ending = Path(output or "").suffix.lower().removeprefix(".")
    return wanted or (ending if ending in FORMATS else "table")


@contextmanager
def file_for(output: str) -> Iterator[Callable[[Callable[[], bytes]], None]]:
    """Yield what writes a file: whole, or not at all. Whether it can be written is known before anything is spent."""
    path = Path(output).resolve()
    beside = path.with_name(f".discreet-{uuid.uuid4().hex}")
    problem = ""
    try:
        if path.exists() and not path.is_file():  # a name that is too long raises here
            problem = "it is not a file"
        else:
            os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # the mask of the user applies
    except OSError as error:
        problem = error.strerror or "the system refuses"
    if problem:
        raise InvalidParameter(
            f"--output {output!r:.200} cannot be written: {problem}. Nothing was asked and nothing was spent."
        )
    try:
        yield lambda content: _write(content, beside, path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _write(content: Callable[[], bytes], beside: Path, path: Path) -> None:
    problem = ""
    try:
        data = content()
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        problem = error.strerror or "the system refuses"
    except (ValueError, ArithmeticError, NotImplementedError):
        problem = "this format cannot hold it"
    if problem:
        raise NotWritten(
            f"the answer could not be written to {path.name!r:.200}: {problem}. It is stored in the ledger, and asking "
            "again is free."
        )


def named(pairs: Sequence[str] | None) -> dict[str, str]:
    """Return texts such as age=60 as names and values; a text without a name is refused.

    >>> named(["age=60", "ward=a=b"])
    {'age': '60', 'ward': 'a=b'}
    """
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InvalidParameter(f"write a name and a value, for instance age=60, not {pair!r:.60}.")
        if name in found:
            raise InvalidParameter(f"{name!r:.60} is given twice; give it once.")
        found[name] = value
    return found
