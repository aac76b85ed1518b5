"""What a table may declare: names, bounds and domains, checked once and in public quantities only."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

from discreet import dp
from discreet.dp.domain import Column
from discreet.engine.frame import has_utf8
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported

MOST_PER_UNIT = 1 << 20
"""The greatest contribution bound: with more than a million rows of one unit there is more noise than answer."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_LONGEST = 200  # characters of a column name
_EXACT = 2**53  # whole numbers up to here are floats, on every engine
_STEPS = 2**40  # of one number: sums over a million rows of a unit stay far below 64 bits
_LARGE = Fraction(10) ** 100
_SECONDS = 2**31  # the longest step of an instant, 68 years
_LISTED = 2**62  # the greatest number of a list: what is read from a row stays below it


def checked_columns(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the declared columns, or a refusal of one that cannot be read alike on every engine."""
    if not isinstance(columns, Mapping) or not columns:
        raise NeedsDeclaration('a table declares its columns: columns={"sex": dc.Category(["Female", "Male"])}.')
    seen: set[str] = set()
    for column, domain in columns.items():
        checked_column_name(column)
        if column.casefold() in seen:
            raise InvalidParameter(f"two columns are called {column!r}: SQL names ignore case; rename one of them.")
        if not isinstance(domain, Column):
            raise InvalidParameter(
                f"column {column!r} is declared as {domain!r:.60}; write for instance dc.Category([...]), "
                "dc.Integer(lo, hi) or dc.Boolean()."
            )
        _check_domain(column, domain)
        seen.add(column.casefold())
    return dict(columns)


def checked_column_name(name: object) -> None:
    """Refuse what cannot be the name of a column."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST:
        raise InvalidParameter(f"a column name is 1 to {_LONGEST} printable characters, not {name!r:.60}.")


def _check_domain(column: str, domain: Column) -> None:
    match domain:
        case dp.Text():
            return
        case dp.Real():
            _check_grid(column, domain)
            return
        case dp.Datetime():
            if domain.seconds > _SECONDS:
                raise InvalidParameter(f"column {column!r} has a step of more than 2^31 seconds; declare a finer one.")
            return
        case dp.Bins():
            _check_sizes(column, *domain.edges)
        case dp.Category():
            _check_values(column, domain)
        case dp.Integer():
            if max(-domain.lower, domain.upper) > _EXACT:
                raise InvalidParameter(
                    f"column {column!r} has whole numbers beyond 2^53, which not every engine has: declare tighter "
                    "bounds, or dc.Text() or a dc.Category if they are names."
                )
        case _:
            pass
    if domain.extra:
        raise NotSupported(
            f"column {column!r} declares cells with other= or null=, which a universe counts and SQL does not; "
            "leave them out here."
        )


def _check_values(column: str, domain: dp.Category) -> None:
    if isinstance(domain.values[0], int):
        if not all(isinstance(value, int) and abs(value) < _LISTED for value in domain.values):
            raise InvalidParameter(f"column {column!r} declares a number beyond 2^62; leave it out.")
    elif not all(has_utf8(value) and "\0" not in str(value) for value in domain.values):
        raise InvalidParameter(f"column {column!r} declares a value that is no Unicode text; leave it out.")


def _check_sizes(column: str, *numbers: Fraction) -> None:
    if not all(number == 0 or 1 / _LARGE <= abs(number) <= _LARGE for number in numbers):
        raise InvalidParameter(
            f"column {column!r} has a number beyond 10^100 or nearer to 0 than 10^-100, where engines round in other "
            "ways: declare it in another unit."
        )


def _check_grid(column: str, domain: dp.Real) -> None:
    _check_sizes(column, domain.lower, domain.upper, domain.step)
    low, high = grid_of(domain)
    if max(-low, high) > _EXACT or high - low > _STEPS:
        raise InvalidParameter(
            f"column {column!r} has more than 2^40 steps, or steps beyond 2^53 from 0: declare a coarser step= or "
            "tighter bounds."
        )
    if any(abs(number) > 2**1000 for number in (domain.lower, domain.upper, domain.step, 1 / domain.step)):
        raise InvalidParameter(
            f"column {column!r} has a bound or a step that is no float; declare another unit for it."
        )


def grid_of(domain: dp.Real) -> tuple[int, int]:
    """Return the first and last multiple of the step that a number in the bounds is rounded to, in steps."""
    half = Fraction(1, 2)
    return math.ceil(domain.lower / domain.step - half), math.floor(domain.upper / domain.step + half)


def checked_unit(
    unit: str | None, columns: Mapping[str, Column], bounds: Mapping[str, int | None], *, public: bool
) -> dict[str, int | None]:
    """Return the contribution bounds of a unit, or say which line is missing."""
    if not isinstance(public, bool):
        raise InvalidParameter(f"public is True or False, not {public!r:.40}.")
    given = {name: value for name, value in bounds.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_PER_UNIT:
            raise InvalidParameter(f"{name} is a whole number from 1 to {MOST_PER_UNIT:,}; got {value!r:.40}.")
    if public and (unit is not None or given):
        raise InvalidParameter("a public table protects nobody: leave out unit= and its bounds, or public=True.")
    if unit is None:
        if set(given) - {"rows_per_unit"} or given.get("rows_per_unit", 1) != 1:
            raise NeedsDeclaration(
                f'{next(iter(given))}= bounds the rows of a unit: add unit="patient_id", the column whose owner is '
                "protected. Without it every row is its own unit."
            )
        return dict.fromkeys(bounds)
    checked_column_name(unit)
    for column in columns:
        if column != unit and column.casefold() == unit.casefold():
            raise InvalidParameter(f"the unit {unit!r} and the column {column!r} differ in case; write them alike.")
    if "rows_per_unit" not in given:
        raise NeedsDeclaration(
            f"table with unit={unit!r}: add rows_per_unit=, the most rows of one unit that count, for instance "
            "rows_per_unit=20. It is chosen, not measured: what a unit has beyond it counts less."
        )
    return dict(bounds)


def checked_name(name: str | None, stem: str | None) -> str:
    """Return the name of a table: the one given, or that of its source."""
    found = name if name is not None else stem
    if found is None:
        raise InvalidParameter('a frame or a pattern has no name: add name="visits", which questions then use in FROM.')
    if not isinstance(found, str) or not _NAME.fullmatch(found):
        raise InvalidParameter(
            f'the table would be called {found!r:.60}; give it a name of letters, digits and _: name="visits".'
        )
    return found


def checked_version(version: str) -> str:
    """Return the version of a table."""
    if not isinstance(version, str) or not version.isprintable() or not 0 < len(version) <= _LONGEST:
        raise InvalidParameter(f'version is a short text such as "2", not {version!r:.60}.')
    return version
