"""Wrong prices and wrong plans for what a model is learned from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.dp.loss import Loss
from discreet.dp.sensitivity import Sensitivity
from discreet.release.distances import MeasuredDistances, reach
from discreet.release.measure_once import MeasureOnce
from discreet.release.online_fit import subsets
from discreet.release.online_gate import LogisticGate, SparseGate
from discreet.release.online_measure import GaussianInstrument, LaplaceInstrument
from discreet.release.online_plan import Purse

_Gaussian, _Laplace = GaussianInstrument, LaplaceInstrument  # final for everybody else, and so are these:
_Logistic, _Sparse = LogisticGate, SparseGate


def loss_of_one_distance(measured: MeasuredDistances) -> Fraction:
    """Claims mu^2 as if a unit moved one distance, though it moves all of them."""
    return reach(measured.sensitivity) ** 2 / measured.sigma**2


class ErrorsForFree(MeasureOnce):
    """Measures the errors, and forgets that they cost something."""

    @property
    def loss(self) -> Loss:
        return self.measurement.loss


class EachEffectWithTheWhole(_Gaussian):  # type: ignore[misc]
    """Measures the marginal over every subset of the columns, each of them for the whole price."""

    def _around(self, axes: Any, *given: Any) -> Any:
        return [one for part in subsets(axes) for one in _Gaussian._around(self, part, *given)]


class ColumnsThatMoveApart(_Laplace):  # type: ignore[misc]
    """Draws the noise of the prior as if a row moved the marginal of one column only."""

    def _laplace(self, marginals: int, epsilon: Fraction) -> Any:
        return _Laplace._laplace(self, 1, epsilon)


class SlopeNotDivided(_Logistic):  # type: ignore[misc]
    """Flips coins as steep for numbers that move far as for those that move by 1."""

    def __init__(self, *, threshold: int, slope: Fraction, apart: int) -> None:
        super().__init__(threshold=threshold, slope=slope, apart=1)


class SparseGateOfCounts(_Sparse):  # type: ignore[misc]
    """Draws the noise of a sparse vector for numbers that move by 1, whatever a unit moves."""

    def __init__(self, *, sensitivity: Sensitivity, **given: Any) -> None:
        super().__init__(sensitivity=Sensitivity(l1=1, neighbours=sensitivity.neighbours), **given)


class ChargesInRho(Purse):
    """Takes rho for the Renyi divergence at the order of the budget, which is so many times as large."""

    def charge(self, loss: Loss) -> Fraction:
        return Fraction(loss.rho_bound())
