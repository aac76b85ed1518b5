"""Wrong online mechanisms that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.release.certified_online import CertifiedInteractive
from discreet.release.effects import coordinates
from discreet.release.interactive import Interactive
from discreet.release.online_fit import ReleasedEffect
from discreet.release.reply import Reply, Route

_final = Interactive  # twins change one method each; the classes are final for everybody else
_certified = CertifiedInteractive


class LearnsTheTruth(_final):  # type: ignore[misc]
    """Updates the model with the exact marginal, and shows the noisy value."""

    def _measured(self, query: Any, stream: Any) -> Any:
        found = super()._measured(query, stream)
        exact = [
            ReleasedEffect(part, coordinates(self._truth(part), tuple(self.universe.shape[a] for a in part)), 1.0)
            for part in [query.axes]
        ]
        self.knowledge.learn(exact)
        return found


class ThresholdOfPrivateRows(_final):  # type: ignore[misc]
    """Tests at a hundredth of the rows that there are."""

    def _begin(self, stream: Any) -> None:
        super()._begin(stream)
        self._gate.threshold = int(self._truth.cells.sum()) // 100


class StartsFromPrivatePrior(_final):  # type: ignore[misc]
    """Starts from the true shares of single columns: they are not much, after all."""

    def _begin(self, stream: Any) -> None:
        super()._begin(stream)
        for axis in range(len(self.universe.shape)):
            self.knowledge.values[(axis,)] = coordinates(self._truth((axis,)), (self.universe.shape[axis],))
        self.knowledge.refit()


class StepOfPrivateRows(_final):  # type: ignore[misc]
    """Learns at a rate that is divided by the true number of rows."""

    def _measured(self, query: Any, stream: Any) -> Any:
        rows = float(self._truth.cells.sum())
        kept = self.knowledge._disbelief
        self.knowledge._disbelief = lambda effects, _: kept(effects, rows)
        return super()._measured(query, stream)


class StopsByPrivateNorm(_final):  # type: ignore[misc]
    """Stops testing once the model is near to the table."""

    def _reply(self, *given: Any) -> Reply:
        if float(np.linalg.norm(self._truth.cells - self.model.cells)) < 4000:
            self._gate = None
        return super()._reply(*given)


class ErrorOfTheTruth(_final):  # type: ignore[misc]
    """Shows how far off the answer really is."""

    def _error(self, query: Any, estimate: float, *, tested: bool) -> float:
        return float(self._truth.distance(query, estimate))


class ZeroIsNoAnswer(_final):  # type: ignore[misc]
    """Measures again where an answer is 0: `if not answer`."""

    def _ask(self, query: Any, stream: Any) -> Reply:
        kept = self._answered.get(query.key)
        if kept is not None and not kept.value:
            del self._answered[query.key]
            return self._learned(query, Route.MEASURED, self._measurement + self._test, stream)
        return super()._ask(query, stream)


class MissesCostNothingAndHitsNeither(_final):  # type: ignore[misc]
    """Gives the price of a test back whether it was a hit or not."""

    def _learned(self, query: Any, route: Route, price: Any, stream: Any) -> Reply:
        if route is Route.MEASURED:
            self._permit._give_back(self._test)
        return super()._learned(query, route, price, stream)


class ReadsBeforeItIsWritten(_final):  # type: ignore[misc]
    """Measures first, and writes down what it cost afterwards."""

    def _begin(self, stream: Any) -> None:
        for part in self._instrument.prior(self._truth, stream):
            self.knowledge.learn(part)
        self._permit.take(self.plan.loss_of_prior)
        self._gate = self.plan.gate()
        self._hold()
        self._write()


class HoldsNothing(_final):  # type: ignore[misc]
    """Writes down what was spent on hits that were reported, so that a crash between hit and answer forgets one."""

    def _state(self) -> bytes:
        held = [charge for charge in (self._test, self._measurement) if charge is not None]
        for charge in held:
            self._permit._give_back(charge)
        try:
            return super()._state()
        finally:
            self._test = self._measurement = None
            self._hold()


class AnswersFirst(_final):  # type: ignore[misc]
    """Answers, and writes the state when the next question comes."""

    _late = False

    def _write(self) -> None:
        self._late = True

    def _ask(self, query: Any, stream: Any) -> Reply:
        if self._late:
            super()._write()
            self._late = False
        return super()._ask(query, stream)


class CounterReset(_final):  # type: ignore[misc]
    """Starts again with a full budget after a restart."""

    def _restore(self, before: Any) -> None:
        super()._restore(before)
        self._permit = self.purse.permit(Fraction(0))


class GoesOnAfterAFailedWrite(_final):  # type: ignore[misc]
    """Answers on when the state could not be written."""

    def _write(self) -> None:
        try:
            super()._write()
        except OSError:
            self._closed = False


class GoesOnAfterAnInterrupt(_final):  # type: ignore[misc]
    """Answers on when a measurement was broken off, though what it holds next was never written down."""

    def _ask(self, query: Any, stream: Any) -> Reply:
        try:
            return super()._ask(query, stream)
        except KeyboardInterrupt:
            self._closed = False
            raise


class GivesBackAndGoesOn(_final):  # type: ignore[misc]
    """Answers on when it was closed: the model is still there, and a test was free until now."""

    def close(self) -> bytes:
        test, measurement, gate = self._test, self._measurement, self._gate
        state = super().close()
        self._closed, self._test, self._measurement, self._gate = False, test, measurement, gate
        return state


class RefundsCertifiedHits(_certified):  # type: ignore[misc]
    """Gives the price of a test back when it was a hit."""

    def _learned(self, query: Any, route: Route, price: Any, stream: Any) -> Reply:
        self._permit._give_back(self._test)
        return super()._learned(query, route, price, stream)
