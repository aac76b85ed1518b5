"""From the text of a question to a plan. The only module that knows the parser, and the first line of defence.

What is not named here is refused: every node of the syntax tree is matched by its exact type and by all of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NoReturn

from discreet.engine.plan import Count, Key, Plan
from discreet.engine.table import Table
from discreet.errors import NotSupported

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

MAX_CHARACTERS = 65_536
MAX_TOKENS = 500  # a question with the most groups that are returned has fewer
MAX_DEPTH = 5  # brackets in each other: no question needs two, and the time of the parser may double with each
_LONGEST_NAME = 200

FORM = "SELECT <columns>, COUNT(*) AS n FROM <table> GROUP BY <columns>"

# The parts of a SELECT that are understood and refused, and what to write instead.
_CLAUSES = {
    "where": "WHERE is not offered here; group by the column and read off the group",
    "having": "HAVING is not offered here; filter the answer, which costs nothing",
    "order": "ORDER BY is not offered here; sort the answer, which costs nothing",
    "limit": "LIMIT is not offered here; every declared group is returned, cut the answer instead",
    "offset": "OFFSET is not offered here; every declared group is returned, cut the answer instead",
    "distinct": "DISTINCT is not offered here; leave it out",
    "joins": "a question reads one table; leave out JOIN and the comma",
    "laterals": "a question reads one table; leave out LATERAL",
    "with_": "WITH is not offered here; ask the table itself",
    "sample": "sampling is not offered here; leave it out",
    "qualify": "QUALIFY is not offered here; leave it out",
    "windows": "WINDOW is not offered here; leave it out",
    "db": "a table has one name here; leave out what is before the dot",
    "hint": "hints are not offered here; leave them out",
}


def read_sql(text: str, tables: Mapping[str, Table]) -> Plan:
    """Return the plan of a question, or a refusal that says what to change.

    >>> from discreet.engine.census import census
    >>> read_sql("SELECT sex, COUNT(*) AS n FROM census GROUP BY sex", {"census": census()})
    Plan(table='census', outputs=(Key(column='sex', name='sex'), Count(name='n')))
    """
    return _Select(_parsed(text), tables).plan()


def _refuse(what: str, instead: str = f"write {FORM}") -> NoReturn:
    raise NotSupported(f"{what}; {instead}.")


def _parsed(text: str) -> exp.Select:
    import sqlglot
    from sqlglot import exp

    if not isinstance(text, str):
        _refuse(f"a question is a text, not a {type(text).__name__}")
    if len(text) > MAX_CHARACTERS or len(text.encode("utf-8", "replace")) > MAX_CHARACTERS:
        _refuse(f"the question is longer than {MAX_CHARACTERS:,} bytes", "shorten it")
    trees: list[exp.Expr | None] = []
    problem = ""
    try:
        _scan(sqlglot.tokenize(text, read="duckdb"))
        trees = [tree for tree in sqlglot.parse(text, read="duckdb") if tree is not None]
    except NotSupported:
        raise
    except RecursionError:
        problem = "the question is nested too deeply"
    except Exception:  # noqa: BLE001  a parser of hostile text may raise anything; nothing of it is shown
        problem = "the question is not SQL that can be read here"
    if problem:
        _refuse(problem)
    if len(trees) != 1 or type(trees[0]) is not exp.Select:
        _refuse("a question is one SELECT")
    return trees[0]


def _scan(tokens: list[Token]) -> None:
    """Refuse by tokens what must not reach the parser: it warns, recurses, or reads statements of many kinds."""
    from sqlglot import TokenType

    if not tokens or tokens[0].token_type is not TokenType.SELECT:
        _refuse("a question starts with SELECT")
    if len(tokens) > MAX_TOKENS:
        _refuse(f"the question has more than {MAX_TOKENS:,} words and signs", "shorten it")
    if any(token.token_type is TokenType.SEMICOLON for token in tokens[:-1]):
        _refuse("a question is one statement", "leave out what stands after the semicolon")
    if any(comment.lstrip().startswith("+") for token in tokens for comment in token.comments):
        _refuse(_CLAUSES["hint"])
    opening = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
    closing = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
    depth = 0
    for token in tokens:
        depth += (token.token_type in opening) - (token.token_type in closing)
        if depth > MAX_DEPTH:
            _refuse(f"the question has more than {MAX_DEPTH} brackets in each other")


def _only(node: exp.Expr, parts: Iterable[str]) -> None:
    """Refuse a node that has any part but the given ones."""
    for part, value in node.args.items():
        if value not in (None, False, [], "") and part not in parts:
            if part in _CLAUSES:
                _refuse(*_CLAUSES[part].split("; ", 1))
            _refuse(f"{part.strip('_').replace('_', ' ').upper()} is not offered here", "leave it out")


class _Select:
    """One SELECT on its way to a plan."""

    def __init__(self, select: exp.Select, tables: Mapping[str, Table]) -> None:
        _only(select, ("expressions", "from_", "group"))
        self._select = select
        self._table, self._qualifiers = self._source(tables)

    def plan(self) -> Plan:
        outputs = tuple(self._output(node) for node in self._select.expressions)
        plan = Plan(self._table.name, outputs)
        if not plan.counts:
            _refuse("the question counts nothing", "add COUNT(*) AS n to the SELECT")
        self._names_are_distinct(plan)
        self._groups_are_selected(plan)
        return plan

    def _source(self, tables: Mapping[str, Table]) -> tuple[Table, set[str]]:
        from sqlglot import exp

        origin = self._select.args.get("from_")
        known = ", ".join(tables)
        if type(origin) is not exp.From:
            _refuse("the question reads no table", f"add FROM and one of: {known}")
        _only(origin, ("this",))
        node = origin.this
        if type(node) is not exp.Table:
            _refuse("FROM holds the name of a table", f"write one of: {known}")
        _only(node, ("this", "alias"))
        written = self._name(node.this)
        for name, table in tables.items():
            if name.casefold() == written.casefold():
                alias = node.args.get("alias")
                return table, {self._alias(alias) if alias else name.casefold()}
        _refuse(f"there is no table {written[:60]!r}", f"write one of: {known}")

    def _alias(self, node: exp.Expr) -> str:
        from sqlglot import exp

        if type(node) is not exp.TableAlias:
            _refuse("this alias of a table cannot be read here", "leave it out")
        _only(node, ("this",))
        return self._name(node.this).casefold()

    def _output(self, node: exp.Expr) -> Key | Count:
        from sqlglot import exp

        name = None
        if type(node) is exp.Alias:
            _only(node, ("this", "alias"))
            name, node = self._name(node.args["alias"]), node.this
        if type(node) is exp.Column:
            column = self._column(node)
            return Key(column, name or column)
        if type(node) is exp.Count:
            _only(node, ("this", "big_int"))
            if type(node.this) is exp.Star:
                _only(node.this, ())
                return Count(name or "count")
            _refuse("COUNT of a column or a value is not offered here", "write COUNT(*)")
        _refuse(f"{_called(node)} cannot be selected here", f"select declared columns and COUNT(*): {FORM}")

    def _column(self, node: exp.Expr) -> str:
        from sqlglot import exp

        if type(node) is not exp.Column:
            _refuse(f"{_called(node)} cannot be grouped by here", "group by the names of declared columns")
        _only(node, ("this", "table"))
        qualifier = node.args.get("table")
        if qualifier is not None and self._name(qualifier).casefold() not in self._qualifiers:
            _refuse(
                f"no table is called {self._name(qualifier)[:60]!r} in this question",
                "leave out what is before the dot",
            )
        return self._table.column(self._name(node.this))

    def _name(self, node: object) -> str:
        from sqlglot import exp

        if type(node) is not exp.Identifier:
            _refuse("a name is expected where something else stands")
        _only(node, ("this", "quoted"))
        name = node.this
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            _refuse(f"a name is 1 to {_LONGEST_NAME} printable characters", "choose another")
        return name

    def _names_are_distinct(self, plan: Plan) -> None:
        names = [output.name for output in plan.outputs] + [f"{name}_error" for name in plan.counts]
        lowered = [name.casefold() for name in names]
        for name in names:
            if lowered.count(name.casefold()) > 1:
                _refuse(f"two columns of the answer would be called {name[:60]!r}", "name each with AS")

    def _groups_are_selected(self, plan: Plan) -> None:
        from sqlglot import exp

        group = self._select.args.get("group")
        grouped: list[str] = []
        if group is not None:
            if type(group) is not exp.Group:
                _refuse("this GROUP BY cannot be read here")
            _only(group, ("expressions",))
            grouped = [self._column(node) for node in group.expressions]
        selected = [output.column for output in plan.outputs if isinstance(output, Key)]
        for column in (*selected, *grouped):
            for times, named, instead in (
                (grouped.count(column), "in GROUP BY", "name it there once"),
                (selected.count(column), "selected", "select it once"),
            ):
                if times != 1:
                    _refuse(f"column {column!r} is {f'{named} {times} times' if times else f'not {named}'}", instead)


def _called(node: exp.Expr) -> str:
    """Return what to call a node that is refused."""
    from sqlglot import exp

    if type(node) in (exp.Star, exp.Literal):
        return "*" if type(node) is exp.Star else "a constant"
    if type(node) is exp.Anonymous:
        return f"{str(node.this)[:60]!r}"
    return node.key.upper()[:60]
