"""From a SELECT of the parser to ours: its outputs, what it reads, and its clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from discreet.engine import parser_names as names
from discreet.engine.parser_expressions import Expressions
from discreet.engine.parser_nodes import refuse
from discreet.engine.syntax import Derived, Joined, Name, Node, Ordered, Select, Selected, Source, TableName

if TYPE_CHECKING:
    from sqlglot import exp

_JOINS = "inner and left joins are offered"
_ON = "write JOIN <table> ON <key> = <key>, or USING (<key>)"


class Selects(Expressions):
    """Reads the SELECTs of one question."""

    def question(self, tree: exp.Expr) -> Select:
        """Return the whole question."""
        if not self.is_a(tree, "Select") and type(tree).__name__ not in names.SETS:
            refuse("a question is one SELECT", "write SELECT <columns>, COUNT(*) AS n FROM <table> GROUP BY <columns>")
        return self.select(tree)

    def select(self, select: Any) -> Select:
        """Return one SELECT."""
        if not self.is_a(select, "Select"):
            self._refuse_set(type(select).__name__)
        self._only_offered(select)
        named = self._named(select.args.get("with_"))
        outputs = tuple(self._output(one) for one in select.expressions)
        if not outputs:
            refuse("the question selects nothing", "write SELECT <columns>, COUNT(*) AS n FROM <table>")
        return Select(
            outputs,
            self._from(select),
            where=self._inside(select, "where", "Where"),
            group_by=self._listed(select, "group", "Group"),
            having=self._inside(select, "having", "Having"),
            order_by=self._order(select),
            limit=self._inside(select, "limit", "Limit", "expression"),
            offset=self._inside(select, "offset", "Offset", "expression"),
            named=named,
            at=outputs[0].at,
        )

    def _only_offered(self, select: exp.Expr) -> None:
        for part, word in (("distinct", "DISTINCT"), ("qualify", "QUALIFY"), ("sample", "SAMPLE"), ("into", "INTO")):
            if select.args.get(part):
                refuse(*names.CLAUSES[part], self.token(word))
        if self.is_a(select.args.get("limit"), "Fetch"):
            refuse("FETCH is not offered", "write LIMIT and a whole number", self.token("FETCH"))
        offered = "expressions from_ joins where group having order limit offset with_"
        self.only(select, offered.split())

    def _refuse_set(self, kind: str) -> NoReturn:
        word = names.SETS.get(kind)
        if word is None:
            refuse("a SELECT is expected where something else stands", "write SELECT there")
        refuse(f"{word} is not offered", "ask each SELECT as its own question", self.token(word))

    # Clauses.

    def _inside(self, select: exp.Expr, clause: str, kind: str, part: str = "this") -> Node | None:
        tree = select.args.get(clause)
        if tree is None:
            return None
        if not self.is_a(tree, kind):
            self.refuse_node(tree)
        self.only(tree, (part,))
        return self.node(tree.args.get(part))

    def _listed(self, select: exp.Expr, clause: str, kind: str) -> tuple[Node, ...]:
        tree = select.args.get(clause)
        if tree is None:
            return ()
        if not self.is_a(tree, kind):
            self.refuse_node(tree)
        if tree.args.get("all") is not None:  # which is False for DISTINCT
            word = "ALL" if tree.args["all"] else "DISTINCT"
            refuse(f"GROUP BY {word} is not offered", "name the columns to group by", self.token("GROUP"))
        self.only(tree, ("expressions",))
        return self.nodes(tree.expressions)

    def _order(self, select: exp.Expr) -> tuple[Ordered, ...]:
        tree = select.args.get("order")
        if tree is None:
            return ()
        if not self.is_a(tree, "Order"):
            self.refuse_node(tree)
        self.only(tree, ("expressions",))
        return tuple(self._ordered(one) for one in tree.expressions)

    def _ordered(self, tree: exp.Expr) -> Ordered:
        if not self.is_a(tree, "Ordered"):
            self.refuse_node(tree)
        if self.is_a(tree.this, "Var"):
            refuse("ORDER BY ALL is not offered", "name the columns to sort by", self.token("ORDER"))
        self.only(tree, ("this", "desc", "nulls_first"))
        value = self.node(tree.this)
        first = bool(tree.args.get("nulls_first"))  # NULL is last where nothing is said, in either direction
        return Ordered(value, bool(tree.args.get("desc")), first, value.at)

    def _output(self, tree: exp.Expr) -> Selected:
        name, at = None, self.at(tree)
        if self.is_a(tree, "Alias"):
            self.only(tree, ("this", "alias"))
            name, tree = self.name(tree.args.get("alias")), tree.this
        if self.is_a(tree, "Star"):
            refuse("* is not offered", "name the columns", at)
        return Selected(self.node(tree), name, at)

    def _named(self, tree: exp.Expr | None) -> tuple[tuple[str, Select], ...]:
        if tree is None:
            return ()
        if tree.args.get("recursive"):
            refuse(*names.CLAUSES["recursive"], self.token("RECURSIVE"))
        self.only(tree, ("expressions",))
        found = []
        for one in tree.expressions:
            if not self.is_a(one, "CTE"):
                self.refuse_node(one)
            self.only(one, ("this", "alias"))
            found.append((self._alias(one) or "", self.select(one.this)))
        return tuple(found)

    # What is read.

    def _from(self, select: exp.Expr) -> Source:
        tree: Any = select.args.get("from_")
        if not self.is_a(tree, "From"):
            refuse("the question reads no table", "add FROM and the name of a table", self.at(select))
        self.only(tree, ("this",))
        source = self._source(tree.this)
        for join in select.args.get("joins") or []:
            source = self._join(source, join)
        return source

    def _source(self, tree: Any) -> Source:
        at = self.at(tree)
        if self.is_a(tree, "Table"):
            if self.is_a(tree.this, "Dot"):
                refuse(*names.CLAUSES["db"], at)
            if not self.is_a(tree.this, "Identifier"):
                refuse("a function is not a table here", "write the name of a table", at)
            self.only(tree, ("this", "alias"))
            if self.text[self.start(tree) or 0] == "'":
                refuse("a table is a name, not a text", "write the name of a declared table", at)
            return TableName(self.name(tree.this), self._alias(tree), at)
        if self.is_a(tree, "Lateral"):
            refuse(*names.CLAUSES["laterals"], self.token("LATERAL"))
        if not self.is_a(tree, "Subquery"):
            refuse("FROM reads tables and subqueries", "write the name of a table", at)
        self.only(tree, ("this", "alias"))
        alias = self._alias(tree)
        while self.is_a(tree.this, "Subquery"):
            tree = tree.this
            self.only(tree, ("this",))
        if self.is_a(tree.this, "Table"):
            refuse("a table in brackets is not offered", "leave out the brackets", at)
        return Derived(self.select(tree.this), alias, at)

    def _alias(self, tree: exp.Expr) -> str | None:
        alias = tree.args.get("alias")
        if alias is None:
            return None
        if not self.is_a(alias, "TableAlias"):
            self.refuse_node(alias)
        self.only(alias, ("this", "columns"))
        if alias.args.get("columns"):
            refuse(*names.CLAUSES["columns"], self.at(alias))
        return self.name(alias.this)

    def _join(self, left: Source, tree: exp.Expr) -> Joined:
        at = self.at(tree)
        if not self.is_a(tree, "Join"):
            self.refuse_node(tree)
        side, kind, method = (str(tree.args.get(part) or "") for part in ("side", "kind", "method"))
        words = " ".join(word for word in (method, side, kind) if word)[:60]
        if words not in ("", "INNER", "LEFT", "LEFT OUTER"):
            remedy = f"{_JOINS}; {_ON}" if words in ("CROSS", "POSITIONAL") else _JOINS
            refuse(f"{words} JOIN is not offered", remedy, at)
        self.only(tree, ("this", "on", "using", "side", "kind"))
        right = self._source(tree.this)
        on, using = tree.args.get("on"), tree.args.get("using") or []
        if on is None and not using:
            refuse("a comma, or a JOIN without ON, is not offered", _ON, at)
        names_of = tuple(self._using(one) for one in using)
        condition = None if on is None else self.node(on)
        return Joined(left, right, "left" if side else "inner", condition, names_of, at)

    def _using(self, tree: exp.Expr) -> str:
        if self.is_a(tree, "Column"):
            found = self.node(tree)
            if isinstance(found, Name) and found.qualifier is None:
                return found.name
        return self.name(tree)
