"""What an expression means: from the tree that was written to whole numbers with a kind, a grid and a range.

Every function here is total: no value of a row can raise. Every range is proved from declarations: an integer that
might be beyond 2^62 is refused now, so that none can be then. `numbers.py` has the rules of arithmetic, `compare.py`
those of comparisons, `merging.py` those of CASE and COALESCE, `dates.py` those of days.

Normal forms, on which engines may rely and by which equal questions have equal plans:

- Operands of AND, OR, +, *, =, LEAST and GREATEST are sorted; AND and OR have no constants but NULL.
- A comparison with a constant has it on the right. Numbers and dates then use =, <>, <= and >= only.
- A value that is in no list is the place -1: `ward = 'nowhere'` is Comparison("=", ward, -1), which is false for every
  ward and NULL for NULL. The same is written for numbers with an integer just below the range.
- Arithmetic may have Days among its operands, and its kind may be Number, Day or Coded: integers all the same.
- `bin(x, width)` is such a quotient, of the kind Coded(dp.Bins).
- abs is Extreme("greatest", (x, 0 - x)); IS TRUE is Coalesce((x, FALSE)).
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.engine import compare, dates, merging, numbers, rounding
from discreet.engine.constants import Parameters, constant
from discreet.engine.expression import Constant, Day, Expression, Instant, Number, Truth
from discreet.engine.kinds import NULL, as_number, described, integer, is_null, is_text, parts, worth
from discreet.engine.patterns import like
from discreet.engine.refusals import refusal
from discreet.engine.syntax import AGGREGATES, RELEASED, Call, Literal, Name, Node, Parameter, Position, Star
from discreet.engine.syntax import Case as Written
from discreet.errors import NotSupported

MOST_NODES = 5_000  # of one expression: more than fits into the text of a question without repeating itself
MOST_LEVELS = 120  # what is nested deeper is no question, and Python's own stack ends at some

_ARGUMENTS = {
    **dict.fromkeys(
        ["neg", "not", "is_null", "is_true", "is_false", "abs", "floor", "ceil", "sign", "trunc", "round"], (1, 1)
    ),
    **dict.fromkeys(["date", "timestamp", "cast_integer", "cast_real", "cast_date"], (1, 1)),
    **dict.fromkeys(
        [
            "add",
            "sub",
            "mul",
            "div",
            "intdiv",
            "mod",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "like",
            "is_not_distinct",
            "nullif",
        ],
        (2, 2),
    ),
    **dict.fromkeys(["bin", "date_part", "date_trunc"], (2, 2)),
    "between": (3, 3),
    "round": (1, 2),
    "trunc": (1, 2),
    **dict.fromkeys(["and", "or", "coalesce", "least", "greatest"], (1, None)),
    "in": (2, None),
}


def _too_deep(node: Node) -> NotSupported:
    return refusal(f"this is nested more than {MOST_LEVELS} levels deep", node.at, "write it in a shorter way")


class Typer:
    """Gives expressions over rows their meaning.

    Guarantee: the integer of every node, and what is computed on the way to it, is within the range of its kind, or at
      most MOST in magnitude, whatever is in the rows; a row can make it NULL and never an error.

    `find` says what a name means.
    """

    def __init__(self, find: Callable[[Name], Expression], parameters: Parameters, place: str = "this") -> None:
        self._find, self._parameters, self._place = find, parameters, place
        self._made: dict[int, tuple[Node, Expression]] = {}
        self._extents: dict[int, tuple[Expression, tuple[int, int]]] = {}
        self._level = 0

    def condition(self, node: Node, clause: str) -> Expression:
        """Return a condition, or a refusal of what is none."""
        result = self(node)
        if is_null(result):
            return compare.UNKNOWN
        if not isinstance(result.kind, Truth):
            raise refusal(f"{clause} takes a condition, not {described(result)}", node.at, "compare it with something")
        return result

    def __call__(self, node: Node) -> Expression:
        """Return the meaning of an expression over one row."""
        known = self._made.get(id(node))
        if known is not None:
            return known[1]
        self._level += 1
        try:
            if self._level > MOST_LEVELS:
                raise _too_deep(node)
            result = self._meaning(node)
        finally:
            self._level -= 1
        size, depth = self._extent(result)
        if depth > MOST_LEVELS:
            raise _too_deep(node)
        if isinstance(result.kind, Number) and not numbers.has_short_step(result.kind):
            raise refusal("this number has too many digits", node.at, "write fewer digits")
        if size > MOST_NODES:
            what = f"this takes more than {MOST_NODES:,} operations for each row"
            raise refusal(what, node.at, "write it in a shorter way")
        self._made[id(node)] = node, result
        return result

    def _extent(self, expression: Expression) -> tuple[int, int]:
        """Return how many nodes an expression has, and how many are inside each other."""
        known = self._extents.get(id(expression))
        if known is None:
            inner = [self._extent(part) for part in parts(expression)]
            extent = 1 + sum(size for size, _ in inner), 1 + max((depth for _, depth in inner), default=0)
            known = self._extents[id(expression)] = expression, extent
        return known[1]

    def _meaning(self, node: Node) -> Expression:
        match node:
            case Literal():
                return constant(node.value, "a constant")
            case Parameter():
                return self._parameters.value(node)
            case Name():
                return self._find(node)
            case Written():
                branches = [(self(condition), self(value)) for condition, value in node.branches]
                return merging.case(branches, None if node.otherwise is None else self(node.otherwise), node.at)
            case Call():
                return self._call(node)
            case Star():
                raise refusal("* stands for no value", node.at, "write COUNT(*), or name a column")

    def _call(self, node: Call) -> Expression:
        name, at = node.function, node.at
        if name in AGGREGATES:
            raise refusal(
                f"the aggregate {name.upper()} cannot stand inside {self._place}",
                at,
                "aggregates stand in SELECT, HAVING and ORDER BY, and not inside each other",
            )
        if name in RELEASED:
            raise refusal(
                f"{name.upper()} is not offered on rows, where it has no value for some",
                at,
                f"apply it to an aggregate, for instance {name.upper()}(SUM(x))"
                if name != "power"
                else "multiply: x * x",
            )
        if name not in _ARGUMENTS:
            raise refusal(
                f"there is no function {name[:60].upper()} here", at, "see the list of functions in the guide to SQL"
            )
        least, most = _ARGUMENTS[name]
        if len(node.arguments) < least or (most is not None and len(node.arguments) > most):
            wanted = f"{least}" if most == least else f"{least} to {most}" if most else f"at least {least}"
            raise refusal(f"{name.upper()} has {len(node.arguments)} arguments", at, f"give it {wanted}")
        if name in ("and", "or"):
            return self._logical(node)
        return self._apply(name, [self(argument) for argument in node.arguments], node)

    def _logical(self, node: Call) -> Expression:
        """Return a chain of one operator at once: it may be long."""
        waiting, operands = list(reversed(node.arguments)), []
        while waiting:
            one = waiting.pop()
            if isinstance(one, Call) and one.function == node.function:
                waiting.extend(reversed(one.arguments))
            else:
                operands.append(self.condition(one, node.function.upper()))
        return compare.logical("and" if node.function == "and" else "or", operands)

    def _apply(self, name: str, values: list[Expression], node: Call) -> Expression:
        at = node.at
        match name:
            case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
                return compare.compare(compare.SIGNS[name], values[0], values[1], at)
            case "between":
                x, low, high = values
                return compare.logical("and", [compare.compare(">=", x, low, at), compare.compare("<=", x, high, at)])
            case "in":
                return compare.member(values[0], values[1:], at)
            case "like":
                return like(values[0], values[1], at)
            case "is_null":
                return compare.is_missing(values[0])
            case "is_not_distinct":
                return compare.not_distinct(values[0], values[1], at)
            case "not" | "is_true" | "is_false":
                condition = self.condition(node.arguments[0], "NOT" if name == "not" else "IS")
                return (
                    compare.negation(condition) if name == "not" else compare.definitely(condition, name == "is_true")
                )
            case "coalesce":
                return merging.coalesce(values, at)
            case "nullif":
                x, y = values
                return merging.null_if(x, compare.compare("=", x, y, at), at)
            case "least" | "greatest":
                return merging.extreme_of("least" if name == "least" else "greatest", values, at)
            case "date" | "cast_date" | "timestamp":
                return dates.literal(values[0], at, timed=name == "timestamp")
            case "date_part" | "date_trunc":
                return self._of_date(name, values, at)
            case "add" | "sub":
                return self._sum(name, values[0], values[1], at)
        return self._of_numbers(name, values, at)

    def _of_date(self, name: str, values: list[Expression], at: Position | None) -> Expression:
        unit, x = values
        if not is_text(unit):
            raise refusal(f"{name.upper()} takes the name of a part first", at, f"write {name}('month', x)")
        called = str(unit.value).lower()
        return dates.part(called, x, at) if name == "date_part" else dates.truncated(called, x, at)

    def _sum(self, name: str, x: Expression, y: Expression, at: Position | None) -> Expression:
        if name == "add" and isinstance(y.kind, Day | Instant):
            x, y = y, x
        if not isinstance(x.kind, Day | Instant) and not isinstance(y.kind, Day | Instant):
            one, other = (as_number(value, at, "+" if name == "add" else "-") for value in (x, y))
            return (numbers.add if name == "add" else numbers.subtract)(one, other, at)
        if name == "sub":
            x, y = (dates.day_from(str(value.value), at) if is_text(value) else value for value in (x, y))
            if isinstance(y.kind, Day | Instant):
                return dates.difference(x, y, at)
        by = as_number(y, at, "moving a date")
        return dates.shifted(x, numbers.negate(by, at) if name == "sub" else by, at)

    def _of_numbers(self, name: str, values: list[Expression], at: Position | None) -> Expression:
        x = values[0]
        if name == "cast_integer" and isinstance(x.kind, Truth):
            branches = [(x, integer(1)), (compare.negation(x), integer(0))]
            return merging.case(branches, NULL, at)
        if name == "bin" and isinstance(x.kind, Day | Instant):
            raise refusal("bins are of numbers", at, "write date_trunc('month', x)")
        x = as_number(x, at, {"neg": "-", "mul": "*", "div": "/", "intdiv": "//", "mod": "%"}.get(name, name.upper()))
        match name:
            case "mul" | "div" | "intdiv" | "mod":
                return _BINARY[name](x, as_number(values[1], at, {"mul": "*"}.get(name, "a division")), at)
            case "neg":
                return numbers.negate(x, at)
            case "abs":
                return numbers.absolute(x, at)
            case "sign":
                return numbers.sign(x)
            case "floor" | "ceil" | "trunc" | "round":
                return rounding.rounded(name, x, values[1] if len(values) > 1 else None, at)
            case "bin":
                return rounding.binned(x, values[1], at)
            case "cast_real":
                return x
        return _whole(x, at)


_BINARY = {
    "mul": numbers.multiply,
    "div": numbers.divide,
    "intdiv": numbers.int_divide,
    "mod": numbers.modulo,
}


def _whole(x: Expression, at: Position | None) -> Expression:
    """Return CAST(x AS INTEGER), which engines round in different ways, of what is whole already."""
    assert isinstance(x.kind, Number)
    if x.kind.step.denominator != 1 and not (isinstance(x, Constant) and not is_null(x) and _is_whole(x)):
        raise refusal("a cast of this number would have to round it", at, "write FLOOR(x), ROUND(x) or TRUNC(x)")
    return x


def _is_whole(x: Constant) -> bool:
    return worth(x).denominator == 1
