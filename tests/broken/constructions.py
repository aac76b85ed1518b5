"""Wrong constructions that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import release


@dataclass(frozen=True)
class CertifiedProjection:
    """The plain projection, with its bound claimed for values that are off."""

    projection: release.EntropyProjection

    def start(self) -> Any:
        return self.projection.start()

    def updated(self, state: Any, query: release.LinearQuery, value: Fraction, **facts: Fraction) -> Any:
        return self.projection.updated(state, query, value, **facts)

    def bound(self, alpha: Fraction, *, noise: Fraction = Fraction(0)) -> int:
        return self.projection.bound(alpha)


def scores_in_floats(workload: release.Workload, histogram: np.ndarray, model: release.Structure) -> list[float]:
    """|Q(D) - Q(S)| in floats."""
    truth = workload.answers(release.Marginals(histogram, workload.shape)).astype(np.float64)
    return list(np.abs(truth - model.answers(workload)))
