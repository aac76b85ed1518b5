"""Which two tables must look alike: the relation that every guarantee is about."""

from enum import Enum


class Neighbours(Enum):
    """How two neighbouring tables differ.

    A mechanism that is epsilon-DP under ADD_REMOVE is 2 epsilon-DP under REPLACE, and not conversely: under
    REPLACE the number of units is public. Nothing in `discreet.dp` assumes one of the two.
    """

    ADD_REMOVE = "add or remove one unit"
    REPLACE = "replace one unit by another"

    def __repr__(self) -> str:
        return f"Neighbours.{self.name}"
