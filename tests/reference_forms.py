"""What a bounded query is, by its definition: every form of bounding, unit by unit, in Python's whole numbers."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from discreet.engine.bound import WEIGHT, BoundedMeasure, BoundedQuery
from discreet.engine.plan import Distinct, Histogram, Measure, Present, Relation, Rows, Total, Units
from tests.reference_expressions import Raw, Read, Record, Scans, cut, evaluate

Place: TypeAlias = "int | str"
Cell: TypeAlias = tuple[Place, ...]
"""Of each key its place in the declared values, or the text of a private one; of a histogram the bin, too."""
Sparse: TypeAlias = dict[Cell, int]
Tables: TypeAlias = Sequence[Sequence[Mapping[str, Raw]]]
"""The rows of every scan."""
Rank: TypeAlias = Callable[[object, Cell], int]


def by_hash(unit: object, cell: Cell) -> int:
    """The order in which a unit's groups are kept: any function of the unit and the group alone."""
    return int.from_bytes(hashlib.blake2b(repr((unit, cell)).encode(), digest_size=8).digest(), "big")


def joined(relation: Relation, tables: Tables) -> Iterator[Scans]:
    """The rows of a relation. A row without a unit is dropped where its table has one."""
    read = [list(records(table.unit, rows)) for table, rows in zip(relation.scans, tables, strict=True)]
    found: list[list[Record | None]] = [[record] for record in read[0]]
    for join in relation.joins:
        partners: dict[object, list[Record]] = defaultdict(list)
        for record in read[join.scan]:
            alone = [None] * join.scan + [record]
            own = (record.unit,) if join.by_unit else tuple(evaluate(column, alone) for _, column in join.on)
            if None not in own:
                partners[own].append(record)
        wider: list[list[Record | None]] = []
        for scans in found:
            first = scans[0]
            assert first is not None
            here = (first.unit,) if join.by_unit else tuple(evaluate(left, scans) for left, _ in join.on)
            matches: list[Record | None] = [*partners.get(here, [])]
            if not matches and join.kind == "left":
                matches = [None]
            wider += [[*scans, match] for match in matches]
        found = wider
    return iter(found)


def records(unit: str | None, rows: Sequence[Mapping[str, Raw]]) -> Iterator[Record]:
    for number, row in enumerate(rows):
        owner = number if unit is None else row[unit]
        if owner is not None:
            yield Record(row, owner)


@dataclass(slots=True)
class Group:
    """The rows of one unit in one group: how many, and what each measure needs of them."""

    count: int = 0
    present: Counter[int] = field(default_factory=Counter)  # by the number of the measure, and so below
    total: Counter[int] = field(default_factory=Counter)
    bins: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    values: dict[int, set[Read]] = field(default_factory=lambda: defaultdict(set))

    def add(self, measures: Sequence[Measure], scans: Scans) -> None:
        self.count += 1
        for number, measure in enumerate(measures):
            if isinstance(measure, Rows | Units):
                continue
            value = evaluate(measure.expression, scans)
            if value is None:
                continue
            if isinstance(measure, Histogram) and not 0 <= int(value) < measure.bins.declared:
                continue
            self.present[number] += 1
            match measure:
                case Total():
                    self.total[number] += int(value)
                case Histogram():
                    self.bins[number][int(value)] += 1
                case Distinct():
                    self.values[number].add(value)


@dataclass(slots=True)
class Unit:
    """Everything of one unit: its groups after WHERE, and its rows before."""

    rows: int = 0
    groups: dict[Cell, Group] = field(default_factory=lambda: defaultdict(Group))
    each: list[tuple[Cell, Scans]] = field(default_factory=list)


def exact(query: BoundedQuery, tables: Tables, rank: Rank = by_hash) -> tuple[Sparse, ...]:
    """The integers of every measure in the cells in which they are not 0."""
    return Oracle(query, rank).run(tables).measures


def units(query: BoundedQuery, tables: Tables, rank: Rank = by_hash) -> Sparse:
    """The number of units in each private key: what decides whether it is released."""
    return Oracle(query, rank).run(tables).units


@dataclass(frozen=True, slots=True)
class Found:
    """For each measure its integers, and how many units are in each group. Zeros are left out."""

    measures: tuple[Sparse, ...]
    units: Sparse


Kept: TypeAlias = dict[Cell, tuple[Group, int]]
"""The groups of a unit that count, each with the number of rows that count."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """One question. Broken twins change one of these steps."""

    query: BoundedQuery
    rank: Rank = by_hash

    def run(self, tables: Tables) -> Found:
        """The exact numbers of tables."""
        parts = [(name, unit, self.kept(name, unit)) for name, unit in self.gathered(tables).items()]
        measures = tuple(
            self.distinct(number, measure, parts)
            if isinstance(measure.measure, Distinct)
            else added(self.part(number, measure, unit, groups) for _, unit, groups in parts)
            for number, measure in enumerate(self.query.measures)
        )
        return Found(measures, self.counted(parts))

    def counted(self, parts: list[Part]) -> Sparse:
        """How many units, or rows where each is a unit, are in each group."""
        found: Counter[Cell] = Counter()
        for _, _, groups in parts:
            for cell, (group, _) in groups.items():
                found[cell] += group.count if self.query.form == "rows" else 1
        return dict(found)

    def gathered(self, tables: Tables) -> dict[object, Unit]:
        """The groups of each unit."""
        plan = self.query.plan
        measures = [measure.measure for measure in self.query.measures]
        places = [
            None if key.codes is None else {code: place for place, code in enumerate(key.codes)} for key in plan.keys
        ]
        found: dict[object, Unit] = defaultdict(Unit)
        for scans in joined(plan.relation, tables):
            first = scans[0]
            assert first is not None
            unit = found[first.unit]
            unit.rows += 1
            if plan.where is not None and evaluate(plan.where, scans) is not True:
                continue
            values = [evaluate(key.expression, scans) for key in plan.keys]
            cell = tuple(
                value if codes is None else codes.get(value)  # type: ignore[arg-type]  # True is 1, as a code is
                for value, codes in zip(values, places, strict=True)
            )
            if None not in cell:
                unit.groups[cell].add(measures, scans)  # type: ignore[index]
                unit.each.append((cell, scans))  # type: ignore[arg-type]
        return found

    def ranked(self, name: object, unit: Unit) -> list[Cell]:
        """The groups of a unit, those first that are kept."""
        return sorted(unit.groups, key=lambda cell: (self.rank(name, cell), repr(cell)))[: self.query.bounds.groups]

    def kept(self, name: object, unit: Unit) -> Kept:
        """The groups of a unit that count."""
        bounds = self.query.bounds
        if self.query.form == "groups":
            return {cell: (group, min(group.count, bounds.rows_each)) for cell, group in unit.groups.items()}
        if self.query.form != "sampled":
            return {cell: (group, group.count) for cell, group in unit.groups.items()}
        found: Kept = {}
        left = bounds.rows
        for cell in self.ranked(name, unit):
            n = min(left, unit.groups[cell].count, bounds.rows_each)
            if n > 0:
                found[cell] = unit.groups[cell], n
                left -= n
        return found

    def part(self, number: int, measure: BoundedMeasure, unit: Unit, groups: Kept) -> Sparse:
        """What one unit adds to each cell."""
        if self.query.form == "weighted":
            return self.weighted(measure, unit)
        found: Sparse = {}
        weighs = self.query.form == "groups" and self.query.weighs
        for cell, (group, n) in groups.items():
            for place, value in self.in_group(number, measure, group, n).items():
                most = min(self.query.bounds.groups, len(groups))
                found[cell + place] = self.cut(value * most, len(groups)) if weighs else value
        return found

    def in_group(self, number: int, measure: BoundedMeasure, group: Group, n: int) -> Sparse:
        """What one unit adds to one group, of which n rows count, before the weight of the group."""
        scale, present = measure.scale, group.present[number]
        bound = self.query.bounds.rows_each if self.query.form == "groups" else n
        match measure.measure:
            case Rows():
                return {(): n * scale}
            case Units():
                return {(): scale}
            case Present():
                return {(): min(present, bound) * scale}
            case Total():
                whole = group.total[number] * scale
                return {(): whole if present <= bound else self.cut(whole * bound, present)}
            case Histogram():
                return {
                    (place,): count * scale if present <= bound else self.cut(count * scale * bound, present)
                    for place, count in group.bins[number].items()
                }
        raise AssertionError(measure)

    def weighted(self, measure: BoundedMeasure, unit: Unit) -> Sparse:
        """What one unit of n rows adds, row by row, at the weight min(1, R / n)."""
        most, n, scale, asked = self.query.bounds.rows, unit.rows, measure.scale, measure.measure
        weight = WEIGHT if n <= most else self.cut(WEIGHT * most, n)
        found: Counter[Cell] = Counter()
        for cell, scans in unit.each:
            if isinstance(asked, Rows):
                found[cell] += weight
                continue
            assert not isinstance(asked, Units)
            value = evaluate(asked.expression, scans)
            if value is None:
                continue
            match asked:
                case Present():
                    found[cell] += weight
                case Total():
                    found[cell] += self.cut(int(value) * scale * weight, WEIGHT)
                case Histogram() if 0 <= int(value) < asked.bins.declared:
                    found[*cell, int(value)] += weight
        return dict(found)

    def distinct(self, number: int, measure: BoundedMeasure, parts: list[Part]) -> Sparse:
        """The number of different values in each group, over the triples of a unit that are kept."""
        seen: dict[Cell, set[Read]] = defaultdict(set)
        for name, _, groups in parts:
            triples = [(cell, value) for cell, (group, _) in groups.items() for value in group.values[number]]
            if self.query.form != "rows":
                triples.sort(key=lambda triple: (self.rank(name, (*triple[0], triple[1])), repr(triple)))  # type: ignore[arg-type]
                triples = self.capped(triples)
            for cell, value in triples:
                seen[cell].add(value)
        return {cell: len(values) * measure.scale for cell, values in seen.items()}

    def capped(self, triples: list[tuple[Cell, Read]]) -> list[tuple[Cell, Read]]:
        """Those values of a unit that count, of all of them in order."""
        return triples[: self.query.bounds.greatest()[0]]

    def cut(self, top: int, bottom: int) -> int:
        """A division, toward zero."""
        return cut(top, bottom)


Part: TypeAlias = tuple[object, Unit, Kept]


def added(parts: Iterator[Sparse]) -> Sparse:
    found: Counter[Cell] = Counter()
    for part in parts:
        for cell, value in part.items():
            found[cell] += value
    return {cell: value for cell, value in found.items() if value}
