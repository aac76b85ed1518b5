"""From what was written to a plan: what is read, grouped, measured and shown; or a refusal that says what to change.

Two questions that differ only in wording, in the order of conditions, keys or aggregates, or in what they show of the
same numbers have the same `relation`, `where`, `keys` and `measures`, and so the same released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from discreet.engine.aggregates import Aggregates, aggregates_in
from discreet.engine.compare import logical
from discreet.engine.constants import Parameters
from discreet.engine.expression import Column, Constant, Expression
from discreet.engine.formulas import Formulas
from discreet.engine.keys import key_of
from discreet.engine.kinds import is_number, worth
from discreet.engine.plan import (
    Computed,
    Formula,
    Given,
    Key,
    KeyOf,
    MeanOf,
    Measure,
    Order,
    Output,
    Plan,
    QuantileOf,
    Released,
    SpreadOf,
)
from discreet.engine.refusals import invalid, refusal, shown
from discreet.engine.sources import FanOut, Sources
from discreet.engine.syntax import Call, Literal, Name, Node, Ordered, Select, Selected
from discreet.engine.syntax import Case as Written
from discreet.engine.table import Table
from discreet.engine.typed import Typer
from discreet.engine.visible import Owner, Scope
from discreet.errors import NeedsDeclaration

LONGEST_NAME = 200
_NAMES = {"count_distinct": "count", "add": "sum", "cast_integer": "cast", "cast_real": "cast", "cast_date": "cast"}
_OPERATORS = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "intdiv",
        "mod",
        "neg",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and",
        "or",
        "not",
        "is_null",
        "in",
        "between",
        "like",
    ]
)

Item = TypeVar("Item")


def plan_of(
    select: Select,
    tables: Mapping[str, Table],
    *,
    parameters: Mapping[str, object] | None = None,
    fan_out: FanOut | None = None,
) -> Plan:
    """Return the plan of a question, or a refusal that says what to change.

    `fan_out` says how many rows of a public table have the same values in some columns at most; left out, they are
    counted.
    """
    named = Parameters(parameters)
    plan = _Question(select, tables, named, fan_out or _counted).plan()
    named.check()
    return plan


def _counted(table: Table, columns: tuple[str, ...]) -> int:
    from discreet.engine.public import fan_out

    return fan_out(table, columns)


class _Question:
    """One question on its way to a plan."""

    def __init__(self, select: Select, tables: Mapping[str, Table], parameters: Parameters, fan_out: FanOut) -> None:
        self._select, self._parameters = select, parameters
        self._sources = Sources(tables, parameters, fan_out)
        self._scope: Scope = self._sources.read(select)

    def plan(self) -> Plan:
        select = self._select
        where = self._where()
        keys = self._keys()
        inside = Typer(self._scope.value, self._parameters, "an aggregate")
        aggregates = Aggregates(inside, self._owner)
        for node in self._over_groups():
            aggregates.announce(node)
        formulas = Formulas(self._typer("SELECT"), keys, aggregates)
        outputs = tuple(self._output(selected, formulas) for selected in select.outputs)
        aliases = {output.name.casefold(): output.formula for output in outputs}
        having = None if select.having is None else formulas.condition(select.having, aliases)
        order_by = tuple(self._order(ordered, outputs, aliases, formulas) for ordered in select.order_by)
        if not aggregates.measures:
            raise refusal("the question counts and sums nothing", select.at, "add COUNT(*) AS n to the SELECT")
        _check_names(outputs, select.outputs)
        _check_keys(keys, outputs, self._select)
        order, measures = _in_order(aggregates.measures)
        return Plan(
            self._sources.relation,
            where,
            keys,
            measures,
            tuple(Output(output.name, renumbered(output.formula, order)) for output in outputs),
            None if having is None else renumbered(having, order),
            tuple(Order(renumbered(by.formula, order), by.descending, by.nulls_first) for by in order_by),
            self._count(select.limit, "LIMIT"),
            self._count(select.offset, "OFFSET") or 0,
        )

    def _typer(self, place: str) -> Typer:
        return Typer(self._scope.value, self._parameters, place)

    def _over_groups(self) -> list[Node]:
        select = self._select
        having = [] if select.having is None else [select.having]
        return [*(one.value for one in select.outputs), *having, *(one.value for one in select.order_by)]

    def _owner(self, name: Name) -> tuple[Owner, bool] | None:
        unit = self._scope.unit_of(name)
        return None if unit is None else (unit, self._sources.may_lack(unit.scan))

    def _where(self) -> Expression | None:
        conditions = list(self._sources.where)
        if self._select.where is not None:
            conditions.append(self._typer("WHERE").condition(self._select.where, "WHERE"))
        together = logical("and", conditions)
        return None if isinstance(together, Constant) and together.value is True else together

    def _keys(self) -> tuple[Key, ...]:
        typer, found = self._typer("GROUP BY"), dict[str, list[Key]]()
        for node in self._select.group_by:
            expression = self._grouped(node, typer)
            alike = found.setdefault(repr(expression), [])
            if all(key.expression.kind != expression.kind for key in alike):
                alike.append(key_of(expression, node.at))
        return tuple(key for text in sorted(found) for key in found[text])

    def _grouped(self, node: Node, typer: Typer) -> Expression:
        """Return an expression of GROUP BY: a column, the name or the number of an output, or anything over rows."""
        outputs = self._select.outputs
        if isinstance(node, Literal) and isinstance(node.value, int) and not isinstance(node.value, bool):
            if not 1 <= node.value <= len(outputs):
                what = f"GROUP BY {shown(node.value)} names no output"
                raise refusal(what, node.at, f"write a number from 1 to {len(outputs)}, or the name of a column")
            node = outputs[node.value - 1].value
        elif isinstance(node, Name) and node.qualifier is None:
            named = [
                one.value for one in outputs if one.name is not None and one.name.casefold() == node.name.casefold()
            ]
            if named and not self._is_column(node):
                node = named[0]
        if next(aggregates_in(node), None) is not None:
            raise refusal("GROUP BY has an aggregate", node.at, "group by columns, and filter aggregates with HAVING")
        return typer(node)

    def _is_column(self, name: Name) -> bool:
        try:
            self._scope.meaning(name)
        except NeedsDeclaration:
            return False
        return True

    def _output(self, selected: Selected, formulas: Formulas) -> Output:
        name = selected.name if selected.name is not None else self._called(selected.value)
        if not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
            what = f"a name has 1 to {LONGEST_NAME} printable characters"
            raise refusal(what, selected.at or selected.value.at, "choose another after AS")
        return Output(name, formulas.formula(selected.value))

    def _called(self, node: Node) -> str:
        """Return what an output without AS is called."""
        if isinstance(node, Name):
            found = self._scope.meaning(node)
            return (
                found.name if isinstance(found, Column) and found.name.casefold() == node.name.casefold() else node.name
            )
        if isinstance(node, Call):
            if node.function == "filter" and node.arguments:
                return self._called(node.arguments[0])
            return "value" if node.function in _OPERATORS else _NAMES.get(node.function, node.function)
        return "case" if isinstance(node, Written) else "value"

    def _order(
        self, ordered: Ordered, outputs: Sequence[Output], aliases: Mapping[str, Formula], formulas: Formulas
    ) -> Order:
        node = ordered.value
        if isinstance(node, Literal) and isinstance(node.value, int) and not isinstance(node.value, bool):
            if not 1 <= node.value <= len(outputs):
                what = f"ORDER BY {shown(node.value)} names no output"
                raise refusal(what, node.at, f"write a number from 1 to {len(outputs)}, or the name of an output")
            formula = outputs[node.value - 1].formula
        else:
            formula = formulas.formula(node, aliases)
        return Order(formula, ordered.descending, bool(ordered.nulls_first))

    def _count(self, node: Node | None, clause: str) -> int | None:
        if node is None:
            return None
        found = self._typer(clause)(node)
        if not is_number(found) or worth(found).denominator != 1 or not 0 <= worth(found) < 2**62:
            raise invalid(f"{clause} is a whole constant of at least 0", node.at, f"write {clause} 10")
        return int(worth(found))


def _in_order(measures: Sequence[Measure]) -> tuple[dict[int, int], tuple[Measure, ...]]:
    """Return measures in an order that wording does not change, and where each has gone."""
    places = sorted(range(len(measures)), key=lambda place: repr(measures[place]))
    return {old: new for new, old in enumerate(places)}, tuple(measures[place] for place in places)


def renumbered(formula: Formula, order: Mapping[int, int]) -> Formula:
    """Return a formula whose measures have gone to other places."""
    match formula:
        case Released(measure):
            return Released(order[measure])
        case MeanOf(total, present, centre):
            return MeanOf(order[total], order[present], centre)
        case SpreadOf(total, squares, present, population, root):
            return SpreadOf(order[total], order[squares], order[present], population, root)
        case QuantileOf(histogram, share):
            return QuantileOf(order[histogram], share)
        case Computed(function, operands):
            return Computed(function, tuple(renumbered(operand, order) for operand in operands))
        case KeyOf() | Given():
            return formula


def _check_names(outputs: Sequence[Output], written: Sequence[Selected]) -> None:
    """Refuse two columns of one name in an answer, the errors beside numbers included."""
    seen: set[str] = set()
    for output, selected in zip(outputs, written, strict=True):
        names = [output.name] if isinstance(output.formula, KeyOf) else [output.name, f"{output.name}_error"]
        for name in names:
            if name.casefold() in seen:
                what = f"two columns of the answer would be called {shown(name)}"
                raise refusal(what, selected.at or selected.value.at, "name each with AS")
            seen.add(name.casefold())


def _check_keys(keys: Sequence[Key], outputs: Sequence[Output], select: Select) -> None:
    """Refuse a key that is not shown: the rows of the answer could not be told apart."""
    selected = {output.formula.key for output in outputs if isinstance(output.formula, KeyOf)}
    for place, key in enumerate(keys):
        if place not in selected:
            name = key.expression.name if isinstance(key.expression, Column) else "an expression"
            instead = f"add {name} to the SELECT" if isinstance(key.expression, Column) else "select it, too"
            raise refusal(
                f"{shown(name) if instead != 'select it, too' else name} in GROUP BY is not selected",
                select.at,
                instead,
            )
