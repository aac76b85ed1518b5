"""What a question gets: a value, the error that can be claimed for it, where it came from, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class Route(Enum):
    """Where an answer came from.

    MODEL: the model answered, and a private test did not find it wrong.
    SPAN: what was measured says it well enough already; nothing was tested.
    BYPASS: by public facts the model could not know it, so it was measured without a test.
    MEASURED: a private test found the model wrong, and it was measured.
    REPEATED: asked before, and nothing has been learned since: the same answer.
    EXHAUSTED: the model answered, and there was nothing left to test it with.
    """

    MODEL = "model"
    SPAN = "span"
    BYPASS = "bypass"
    MEASURED = "measured"
    REPEATED = "repeated"
    EXHAUSTED = "exhausted"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one question of an interactive session; a 0 is an answer like any other.

    `error` is how far off `value` may be, with probability `confidence`; None where nothing can be claimed. `charged`
    is the share of the budget that this answer cost. All four are public: they follow from what was released before.

    >>> print(Reply(1200.0, 60.0, Route.MEASURED, Fraction(1, 50), Fraction(19, 20)))
    1200 +- 60 at 95 %, measured
    """

    value: float
    error: float | None
    route: Route
    charged: Fraction
    confidence: Fraction

    @property
    def certified(self) -> bool:
        """Whether an error is claimed."""
        return self.error is not None

    def __str__(self) -> str:
        if self.error is None:
            return f"{self.value:.6g}, not certified, {self.route}"
        return f"{self.value:.6g} +- {self.error:.4g} at {float(100 * self.confidence):.4g} %, {self.route}"
