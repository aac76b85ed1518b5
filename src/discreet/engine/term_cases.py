"""CASE written in Python: `dc.when(condition).then(value).otherwise(value)`."""

from __future__ import annotations

from discreet.engine.syntax import Case, Node
from discreet.engine.term_values import Constant, condition_of, node_of
from discreet.engine.terms import Term
from discreet.engine.written import text


def when(condition: Term) -> When:
    """Return the start of a CASE.

    >>> from discreet.engine.terms import col
    >>> when(col("age") < 18).then("child").otherwise("adult")
    <CASE WHEN (age < 18) THEN 'child' ELSE 'adult' END>
    """
    return When(condition)


class When:
    """A condition that waits for its value: `dc.when(x).then(y)`."""

    __slots__ = ("_before", "_condition")

    def __init__(self, condition: Term, before: tuple[tuple[Node, Node], ...] = ()) -> None:
        self._condition, self._before = condition_of(condition), before

    def __repr__(self) -> str:
        return f"<WHEN {text(self._condition)}>"

    def then(self, value: Term | Constant) -> Cases:
        """Return the CASE with one branch more."""
        return Cases((*self._before, (self._condition, node_of(value))))


class Cases(Term):
    """A CASE: NULL where no condition is true, unless `otherwise` says what."""

    __slots__ = ("_branches",)

    def __init__(self, branches: tuple[tuple[Node, Node], ...]) -> None:
        super().__init__(Case(branches, None))
        self._branches = branches

    def when(self, condition: Term) -> When:
        """Add a condition for the rows for which none before is true."""
        return When(condition, self._branches)

    def otherwise(self, value: Term | Constant) -> Term:
        """Return the CASE with a value for all other rows."""
        return Term(Case(self._branches, node_of(value)))
