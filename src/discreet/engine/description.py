"""The public facts about a table: for people, as plain data, and as one fingerprint of everything declared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet import dp
from discreet.dp.domain import Column
from discreet.dp.rational import written

Plain: TypeAlias = "bool | int | str | list[Plain] | dict[str, Plain] | None"
"""What JSON and TOML both have; a number with a fraction is a text, which loses no digit."""

_LONGEST = 100  # characters of a column in print


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Description:
    """The public facts about a table. Nothing here depends on a row."""

    name: str
    version: str
    public: bool
    unit: str | None
    rows_per_unit: int | None
    groups_per_unit: int | None
    rows_per_group: int | None
    columns: Mapping[str, Column]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Plain]:
        """Return everything that is declared as plain data, in the words of a TOML description."""
        named = ("name", "version", "public", "unit", "rows_per_unit", "groups_per_unit", "rows_per_group")
        facts: dict[str, Plain] = {name: getattr(self, name) for name in named}
        return {
            **facts,
            "origin": self.origin,
            "columns": {name: plain(domain) for name, domain in self.columns.items()},
        }

    @property
    def origin(self) -> str:
        """Where the facts come from: someone declared them, and nothing was read off the rows."""
        return "declared"

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of everything that is declared, in hexadecimal digits."""
        text = json.dumps(["table/1", self.to_dict()], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def protects(self) -> str:
        """What is protected, in words."""
        if self.public:
            return "public: it protects nobody"
        if self.unit is None:
            return "every row is its own unit"
        bounds = [f"at most {self.rows_per_unit:,} rows of one {self.unit} count"]
        if self.groups_per_unit is not None:
            bounds.append(f"in at most {self.groups_per_unit:,} groups")
        if self.rows_per_group is not None:
            bounds.append(f"at most {self.rows_per_group:,} in one group")
        return f"the unit is {self.unit}, all of whose rows are protected; {', '.join(bounds)}"

    def __repr__(self) -> str:
        width = min(max(map(len, self.columns)), 30)
        lines = [f"table {self.name}, version {self.version}; {self.protects}; declared columns:"]
        lines += [f"  {name:<{width}}  {_short(spelled(domain))}" for name, domain in self.columns.items()]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def plain(domain: Column) -> dict[str, Plain]:
    """Return a column type as a TOML description writes it."""
    match domain:
        case dp.Category():
            return {"category": list(domain.values)}
        case dp.Integer():
            return {"integer": [domain.lower, domain.upper]}
        case dp.Real():
            return {"real": [_number(domain.lower), _number(domain.upper)], "step": _number(domain.step)}
        case dp.Bins():
            return {"bins": [_number(edge) for edge in domain.edges]}
        case dp.Boolean():
            return {"boolean": True}
        case dp.Date():
            return {"date": [domain.first.isoformat(), domain.last.isoformat()]}
        case dp.Datetime():
            ends: list[Plain] = [domain.first.isoformat(), domain.last.isoformat()]
            return {"datetime": ends, "zone": domain.zone, "step": domain.step}
        case dp.Text():
            return {"text": True}


def _number(value: Fraction) -> Plain:
    return value.numerator if value.denominator == 1 else written(value).strip("'")


def spelled(domain: Column) -> str:
    """Return a column type as Python writes it."""
    match domain:
        case dp.Category():
            return f"Category({list(domain.values)!r})"
        case dp.Integer():
            return f"Integer({domain.lower}, {domain.upper})"
        case dp.Real():
            return f"Real({written(domain.lower)}, {written(domain.upper)}, step={written(domain.step)})"
        case dp.Bins():
            return f"Bins([{', '.join(map(written, domain.edges))}])"
        case dp.Date():
            return f"Date({domain.first}, {domain.last})"
        case dp.Datetime():
            return f'Datetime({domain.first}, {domain.last}, zone="{domain.zone}", step="{domain.step}")'
        case dp.Boolean() | dp.Text():
            return f"{type(domain).__name__}()"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
