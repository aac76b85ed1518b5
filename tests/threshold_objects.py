"""The logistic tests that several test files ask."""

from __future__ import annotations

from fractions import Fraction

from discreet import dp

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
THREE = dp.Sensitivity(l1=3, neighbours=dp.Neighbours.REPLACE)
BUDGET = dp.Budget(epsilon=1, delta="1e-9")
FAR = 10**6
"""So far above the threshold that a miss never occurs, or below it a hit."""


def logistic_test(
    make: type[dp.ThresholdTest] = dp.ThresholdTest, slope: object = Fraction(1, 50), **more: object
) -> dp.ThresholdTest:
    return make(threshold=0, sensitivity=ONE, slope=slope, **more)  # type: ignore[arg-type]
