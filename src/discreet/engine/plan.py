"""What is asked, in our own words: a closed set of types that every front end translates into."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A declared column that the rows are grouped by, and what the answer calls it."""

    column: str
    name: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows are in each group, and what the answer calls it."""

    name: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts of the rows of a table, by the columns that are selected, in the order of the question."""

    table: str
    outputs: tuple[Key | Count, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that the rows are grouped by, in an order that the wording of the question does not change."""
        return tuple(sorted(output.column for output in self.outputs if isinstance(output, Key)))

    @property
    def counts(self) -> tuple[str, ...]:
        """What the answer calls its counts."""
        return tuple(output.name for output in self.outputs if isinstance(output, Count))

    def renamed(self, count: str) -> list[tuple[str, str]]:
        """Return (new, old) for each column of the answer, where a stored count is called `count`."""
        return [(output.name, output.column if isinstance(output, Key) else count) for output in self.outputs]
