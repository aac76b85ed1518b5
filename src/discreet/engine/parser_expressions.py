"""From an expression of the parser to ours: every node by its exact type and by all of its parts, or a refusal.

Where SQL has several ways to write one thing, it has one here: `x NOT IN (1)` is not(in(x, 1)), `year(x)` is
date_part('year', x). The parser is not imported: its classes come from `parser.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discreet.engine import parser_names as names
from discreet.engine.parser_nodes import LONGEST_NAME, Nodes, position, refuse
from discreet.engine.syntax import Call, Case, Literal, Name, Node, Parameter, Star, flattened

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

MAX_NODES = 10_000  # of a question, with those that a simple CASE repeats
LONGEST_NUMBER = 60  # digits, and the exponent: a constant beyond is on no declared grid
_NUMBER = re.compile(r"([0-9]+)(\.[0-9]*)?(?:[eE]([+-]?[0-9]+))?")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class Expressions(Nodes):
    """Reads the expressions of one question."""

    def __init__(self, classes: ModuleType, text: str, tokens: Sequence[Token]) -> None:
        super().__init__(classes, text, tokens)
        self._made = 0
        self._readers = self._by_type()

    def _by_type(self) -> Mapping[type, Callable[[exp.Expr], Node]]:
        own = {name[6:]: getattr(self, name) for name in dir(self) if name.startswith("_node_")}
        own |= dict.fromkeys(names.SHAPES, self._shaped) | dict.fromkeys(names.PART_NODES, self._part)
        return {getattr(self.classes, name): reader for name, reader in own.items()}

    def node(self, tree: Any) -> Node:
        """Return an expression."""
        self._made += 1
        if self._made > MAX_NODES:
            refuse(f"the question has more than {MAX_NODES:,} parts", "shorten it")
        reader = self._readers.get(type(tree))
        if reader is None:
            self.refuse_node(tree)
        return reader(tree)

    def nodes(self, trees: Iterable[object]) -> tuple[Node, ...]:
        """Return several expressions."""
        return tuple(self.node(tree) for tree in trees)

    # Functions and operators.

    def call(self, function: str, arguments: tuple[Node, ...], tree: object) -> Call:
        """Return a call with the position of its own name, or else of its first argument."""
        start = tree.meta.get("start") if isinstance(tree, self.classes.Expr) else None
        if start is None and self.is_unplaced(tree):
            start = self.start(tree)
        at = position(self.text, start) if isinstance(start, int) else None
        if at is None and arguments:
            at = arguments[0].at
        return Call(function, arguments, at)

    def _shaped(self, tree: exp.Expr) -> Node:
        shape = names.SHAPES[type(tree).__name__]
        self.only(tree, (*shape.parts, *shape.optional, shape.rest, *shape.flags))
        trees = [tree.args.get(part) for part in shape.parts]
        trees += [tree.args[part] for part in shape.optional if tree.args.get(part) is not None]
        trees += tree.args.get(shape.rest) or []
        if shape.function == "in" and len(trees) < 2:
            refuse("IN has an empty list", "write at least one value", self.at(tree))
        return self.call(shape.function, self.nodes(trees), tree)

    def _node_Neg(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this",))
        operand = self.node(tree.this)
        value = operand.value if isinstance(operand, Literal) else None
        if isinstance(value, int | Fraction) and not isinstance(value, bool):
            return Literal(-value, operand.at)
        return self.call("neg", (operand,), tree)

    def _logical(self, tree: exp.Expr) -> Node:
        kind, operands = type(tree), []
        while type(tree) is kind:  # a chain is as deep to its left as it is long
            self.only(tree, ("this", "expression"))
            operands.append(tree.expression)
            tree = tree.this
        parts = self.nodes([tree, *reversed(operands)])
        return flattened("and" if kind is self.classes.And else "or", parts, parts[0].at)

    _node_And = _node_Or = _logical

    def _node_NullSafeNEQ(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression"))
        same = self.call("is_not_distinct", self.nodes((tree.this, tree.expression)), tree)
        return Call("not", (same,), same.at)

    def _node_Is(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression"))
        of = tree.expression
        if self.is_a(of, "Null"):
            function = "is_null"
        elif self.is_a(of, "Boolean"):
            function = "is_true" if of.this else "is_false"
        else:
            refuse("IS takes NULL, TRUE or FALSE", "write = or IS NOT DISTINCT FROM", self.at(of))
        return self.call(function, (self.node(tree.this),), tree)

    def _node_Like(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression", "negate"))
        pattern = self.node(tree.expression)
        if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)) and not isinstance(pattern, Parameter):
            refuse("LIKE takes a constant pattern", "write LIKE 'fixed prefix%'", pattern.at or self.at(tree))
        found = self.call("like", (self.node(tree.this), pattern), tree)
        return Call("not", (found,), found.at) if tree.args.get("negate") else found

    def _node_StartsWith(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression"))
        prefix = self.node(tree.expression)
        if not (isinstance(prefix, Literal) and isinstance(prefix.value, str)) or set("%_\\") & set(prefix.value):
            refuse("STARTS_WITH takes a constant text with no %, _ or \\", "write such a text", prefix.at)
        return self.call("like", (self.node(tree.this), Literal(prefix.value + "%", prefix.at)), tree)

    def _node_Case(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "ifs", "default"))
        branches = []
        for one in tree.args.get("ifs") or []:
            if not self.is_a(one, "If"):
                self.refuse_node(one)
            self.only(one, ("this", "true"))
            condition = self.node(one.this)
            if tree.this is not None:
                condition = Call("eq", (self.node(tree.this), condition), condition.at)
            branches.append((condition, self.node(one.args.get("true"))))
        if not branches:
            refuse("CASE has no WHEN", "write CASE WHEN condition THEN value END", self.at(tree))
        default = tree.args.get("default")
        return Case(tuple(branches), None if default is None else self.node(default), branches[0][0].at)

    def _node_If(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "true", "false"))
        condition, otherwise = self.node(tree.this), tree.args.get("false")
        branches = ((condition, self.node(tree.args.get("true"))),)
        return Case(branches, None if otherwise is None else self.node(otherwise), condition.at)

    def _node_Cast(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "to"))
        to: Any = tree.args.get("to")
        kind = ""
        if self.is_a(to, "DataType") and not [part for part, value in to.args.items() if value and part != "this"]:
            kind = str(getattr(to.this, "value", ""))
        value = self.node(tree.this)
        is_text = isinstance(value, Literal) and isinstance(value.value, str)
        if is_text and kind in ("DATE", *names.INSTANTS):
            return self.call("date" if kind == "DATE" else "timestamp", (value,), tree)
        if kind not in names.CASTS:
            refuse("this cast is not offered", "cast to INTEGER, DOUBLE or DATE", value.at)
        return self.call(names.CASTS[kind], (value,), tree)

    # Parts of days and instants.

    def _part(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this",))
        part = Literal(names.PART_NODES[type(tree).__name__])
        return self._with_part("date_part", part, self.node(tree.this), tree)

    def _with_part(self, function: str, part: Literal, value: Node, tree: exp.Expr) -> Call:
        call = self.call(function, (value,), tree)
        return Call(function, (Literal(part.value, part.at or call.at), value), call.at)

    def _word(self, tree: Any, allowed: Collection[str]) -> Literal:
        """Return the name of a part or a unit of time, which may stand in quotes."""
        word = ""
        if self.is_a(tree, "Var") or (self.is_a(tree, "Literal") and tree.args.get("is_string")):
            word = str(tree.this).lower()
        if word not in allowed:
            refuse("this part of a date is not offered", f"write one of: {', '.join(allowed)}", self.at(tree))
        return Literal(names.PARTS[word], self.at(tree))

    def _node_Extract(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression"))
        return self._with_part("date_part", self._word(tree.this, names.PARTS), self.node(tree.expression), tree)

    def _node_TimestampTrunc(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "unit"))
        unit = self._word(tree.args.get("unit"), names.UNITS)
        return self._with_part("date_trunc", unit, self.node(tree.this), tree)

    _node_DateTrunc = _node_TimestampTrunc

    # Aggregates.

    def _node_Count(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "big_int"))
        of = tree.this
        if self.is_a(of, "Star"):
            self.only(of, ())
            return self.call("count", (Star(self.at(of)),), tree)
        if self.is_a(of, "Distinct"):
            self.only(of, ("expressions",))
            if len(of.expressions) == 1:
                return self.call("count_distinct", self.nodes(of.expressions), tree)
        if of is None:
            refuse("COUNT() counts nothing", "write COUNT(*)", self.at(tree))
        return self.call("count", (self.node(of),), tree)

    def _node_PercentileCont(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression"))
        if tree.args.get("expression") is None:
            refuse(
                "PERCENTILE_CONT needs an order", "write PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)", self.at(tree)
            )
        return self.call("percentile_cont", self.nodes((tree.this, tree.expression)), tree)

    def _node_WithinGroup(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression"))
        of, order = tree.this, tree.expression
        instead = "write PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)"
        if not self.is_a(of, "PercentileCont") or of.args.get("expression") is not None:
            refuse("WITHIN GROUP is offered for PERCENTILE_CONT only", instead, self.at(of))
        if not self.is_a(order, "Order") or len(order.expressions) != 1:
            refuse("WITHIN GROUP takes ORDER BY one expression", instead, self.at(order))
        self.only(order, ("expressions",))
        by = order.expressions[0]
        if not self.is_a(by, "Ordered"):
            self.refuse_node(by)
        if by.args.get("desc"):
            refuse("WITHIN GROUP (... DESC) is not offered", "leave out DESC and write 1 - q for q", self.at(by))
        self.only(by, ("this",))
        return self.call("percentile_cont", self.nodes((by.this, of.this)), of)

    def _node_Filter(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expression"))
        where = tree.expression
        if not self.is_a(where, "Where"):
            self.refuse_node(where)
        self.only(where, ("this",))
        return self.call("filter", (self.node(tree.this), self.node(where.this)), tree)

    # Names, constants, and functions that the parser does not know.

    def _node_Anonymous(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "expressions"))
        called = tree.this.lower() if isinstance(tree.this, str) else ""
        if called in names.PARTS and len(tree.expressions) == 1:
            value = self.node(tree.expressions[0])
            return self._with_part("date_part", Literal(names.PARTS[called]), value, tree)
        function, count = names.CALLED.get(called, ("", 0))
        if not function:
            self.refuse_function(self.called(tree), self.at(tree))
        if len(tree.expressions) != count:
            of = "one argument" if count == 1 else f"{count} arguments"
            refuse(f"{called.upper()} takes {of}", "write as many", self.at(tree))
        if function in ("date_part", "date_trunc"):
            allowed = names.PARTS if function == "date_part" else names.UNITS
            part = self._word(tree.expressions[0], allowed)
            return self._with_part(function, part, self.node(tree.expressions[1]), tree)
        return self.call(function, self.nodes(tree.expressions), tree)

    def _node_Paren(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this",))
        return self.node(tree.this)

    def _node_Column(self, tree: exp.Expr) -> Node:
        if self.is_a(tree.this, "Star"):
            self.refuse_node(tree.this)
        if tree.args.get("db") or tree.args.get("catalog"):
            refuse("a name has at most one dot here", "write table.column", self.at(tree))
        self.only(tree, ("this", "table"))
        table = tree.args.get("table")
        return Name(self.name(tree.this), None if table is None else self.name(table), self.at(table or tree))

    def _node_Literal(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this", "is_string"))
        at, written = self.at(tree), str(tree.this)
        if tree.args.get("is_string"):
            return Literal(written, at)
        found = _NUMBER.fullmatch(written)
        if found is None or len(written) > LONGEST_NUMBER or abs(int(found[3] or 0)) > LONGEST_NUMBER:
            refuse(f"a number has at most {LONGEST_NUMBER} digits", "write fewer", at)
        return Literal(int(written) if found[2] is None and found[3] is None else Fraction(written), at)

    def _node_Boolean(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this",))
        return Literal(bool(tree.this), self.at(tree))

    def _node_Null(self, tree: exp.Expr) -> Node:
        self.only(tree, ())
        return Literal(None, self.at(tree))

    def _node_Placeholder(self, tree: exp.Expr) -> Node:
        self.only(tree, ("this",))
        if not isinstance(tree.this, str) or not _PARAMETER.fullmatch(tree.this) or len(tree.this) > LONGEST_NAME:
            refuse("a parameter has a name here", 'write $age and give parameters={"age": 60}', self.at(tree))
        return Parameter(tree.this, self.token(tree.this, after="$"))
