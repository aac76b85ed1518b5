"""Accounting: what many releases cost together, against dp-accounting's privacy loss distributions in its environment.

Everything is timed in one run, in turns. Ours is always the public call, on losses of mechanisms that are ready.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
from common import Peer, Report, Row, Timer, interleaved, parser, timer, versions

from discreet import dp

DELTA = 1e-6
RELEASES = 1000
FINE, COARSE = 1e-4, 1e-3  # dp-accounting's default interval, and a faster one
ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
ALL = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE, queries=RELEASES)

# The bars: so many times as fast; and relative differences of the answers.
DISTINCT, CALIBRATED = 5, 1000
SAME_EPSILON, SAME_SIGMA, ROUNDING = 1e-3, 1e-4, 1e-9

BRACKETS = {"wide": (1.0, 100.0), "close": (100.0, 200.0)}  # where dp-accounting looks for sigma


def scales() -> tuple[list[float], list[float]]:
    """Return the scales of half as many Laplace releases, and the sigmas of as many Gaussian ones, all distinct."""
    source = random.Random(7)
    laplace, gaussian = ([round(source.uniform(50, 200), 3) for _ in range(RELEASES // 2)] for _ in range(2))
    return laplace, gaussian


def true_epsilon(laplace: list[float], gaussian: list[float]) -> float:
    """Return epsilon at DELTA without any grid: E(1 - e^(epsilon - loss))+ as an integral of the moments of the loss.

    It is the integral of M(s) e^(-s epsilon) / (s (s + 1)) over a vertical line, which the trapezoid rule takes to
    float precision. On integers, Laplace noise of scale b has the loss +1/b or -1/b, as randomised response has.
    """
    losses, mu_squared = 1 / np.array(laplace), float(np.sum(1 / np.square(gaussian)))
    likely = 1 / (1 + np.exp(-losses))
    width = 12 / math.sqrt(mu_squared)
    steps = np.linspace(-width, width, 4001)
    moments: dict[float, np.ndarray] = {}

    def delta(epsilon: float) -> float:
        line = max(0.5, (epsilon - mu_squared / 2) / (mu_squared + float(losses @ losses)))  # near the saddle
        line = 2.0 ** round(math.log2(line))  # few lines, so that their moments are kept
        s = line + 1j * steps
        if line not in moments:
            each = [np.log(p * np.exp(s * e) + (1 - p) * np.exp(-s * e)) for p, e in zip(likely, losses, strict=True)]
            moments[line] = np.sum(each, axis=0) + s * (s + 1) * mu_squared / 2
        return float(np.sum((np.exp(moments[line] - s * epsilon) / (s * (s + 1))).real) * (steps[1] - steps[0]))

    low, high = 0.0, float(losses.sum())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle) <= 2 * math.pi * DELTA else (middle, high)
    return high


class Accounting:
    """One run of all figures."""

    def __init__(self, report: Report, peer: Peer | None, *, quick: bool) -> None:
        self.report, self.peer, self.quick = report, peer, quick
        self.rounds = 3 if quick else 7

    def compare(self, work: str, ours: Timer, theirs: dict[str, tuple[Timer, float | None]], rounds: int) -> None:
        """Time ours and theirs in turns, and keep a row for each of theirs."""
        times = interleaved({"ours": ours, **{name: once for name, (once, _) in theirs.items()}}, rounds)
        for name, (_, bar) in theirs.items():
            self.report.add(Row(work, name, times["ours"], times[name], "call", bar))

    def seconds(self, task: str, **asked: object) -> Timer:
        """Return a timer of a task of the peer that answers with seconds and a number."""
        assert self.peer is not None
        ask = self.peer.ask
        return lambda: float(ask(task, **asked)[0])

    def number(self, task: str, **asked: object) -> float:
        """Return the number of such a task."""
        assert self.peer is not None
        return float(self.peer.ask(task, **asked)[1])

    def check(self, what: str, ours: float, theirs: float, aim: str, holds: Callable[[float], bool]) -> None:
        """Keep two numbers and whether their relative difference is as it should be."""
        verdict = "pass" if holds(ours / theirs - 1) else "MISS"
        self.report.fact(what, f"{ours:.7f}", f"{theirs:.7f}", aim, verdict)

    def distinct(self) -> None:
        """A thousand releases, no two the same."""
        laplace, gaussian = scales()
        pairs = zip(laplace, gaussian, strict=True)
        losses = [
            m.loss
            for b, s in pairs
            for m in (dp.Laplace(sensitivity=ONE, scale=b), dp.Gaussian(sensitivity=ONE, sigma=s))
        ]
        if self.peer:
            self.distinct_times(losses, laplace, gaussian)
        ours = dp.compose(losses).epsilon(delta=DELTA)
        what = f"epsilon of {RELEASES:,} distinct releases"
        truth = true_epsilon(laplace, gaussian)
        self.check(f"{what} / the truth", ours, truth, f"0 to {SAME_EPSILON:g} more", above)
        for interval in (FINE, COARSE) if self.peer else ():
            asked = {"delta": DELTA, "laplace": laplace, "gaussian": gaussian, "interval": interval}
            close = self.number("compose", way="connected", **asked)
            self.check(f"{what} / connected dots, {interval:g}", ours, close, f"within {SAME_EPSILON:g}", same_epsilon)
            least = self.number("compose", way="optimistic", **asked)
            self.check(f"{what} / optimistic, {interval:g}", ours, least, "no less", not_below)
            default = self.number("compose", way="accountant", **asked)
            self.report.fact(f"{what} / accountant, {interval:g}", f"{ours:.7f}", f"{default:.7f}", "", "")

    def distinct_times(self, losses: list[dp.Loss], laplace: list[float], gaussian: list[float]) -> None:
        """How long that takes."""
        theirs = {}
        for interval in (FINE, COARSE):
            for way, name in (("accountant", "accountant"), ("connected", "connected dots")):
                asked = {"delta": DELTA, "way": way, "laplace": laplace, "gaussian": gaussian, "interval": interval}
                theirs[f"{name}, {interval:g}"] = (self.seconds("compose", **asked), DISTINCT)
        work = f"epsilon of {RELEASES:,} distinct releases"
        self.compare(f"{work}, dp.compose", timer(lambda: dp.compose(losses).epsilon(delta=DELTA)), theirs, self.rounds)
        numeric = timer(lambda: dp.composition.numeric(losses).epsilon(delta=DELTA))
        unbarred = {name: (once, None) for name, (once, _) in theirs.items() if name.startswith("accountant")}
        self.compare(f"{work}, numeric by name", numeric, unbarred, 3)

    def equal(self) -> None:
        """The noise with which a thousand counting questions together have epsilon 1."""
        make = partial(dp.Gaussian, sensitivity=ALL, epsilon=1, delta=DELTA)
        sigma = float(make().sigma)
        mu = dp.Loss.gaussian(mu=1 / make().sigma)  # of one question
        spent = dp.compose([mu] * RELEASES).epsilon(delta=DELTA)
        self.report.fact("epsilon of as many releases of our sigma", f"{spent:.12f}", "", "<= 1", passed(spent <= 1))
        ours = timer(make, calls=200)
        for interval, bracket, bar, rounds in (
            (COARSE, "wide", CALIBRATED, self.rounds),
            (COARSE, "close", None, self.rounds),
            (FINE, "wide", CALIBRATED, 1),
        ):
            if self.peer and not (self.quick and interval == FINE):
                low, guess = BRACKETS[bracket]
                asked = {"epsilon": 1.0, "delta": DELTA, "releases": RELEASES, "interval": interval}
                asked |= {"low": low, "guess": guess}
                name = f"calibrate, {interval:g}, {bracket} bracket"
                theirs = {name: (self.seconds("calibrate", **asked), bar)}
                self.compare(f"sigma of {RELEASES:,} Gaussians for epsilon 1", ours, theirs, rounds)
                if interval == COARSE:
                    found = self.number("calibrate", **asked)
                    self.check(f"sigma / {name}", sigma, found, f"within {SAME_SIGMA:g}", same_sigma)


def passed(holds: bool) -> str:
    return "pass" if holds else "MISS"


def above(difference: float) -> bool:
    return -ROUNDING <= difference <= SAME_EPSILON  # the truth is a float computation


def not_below(difference: float) -> bool:
    return difference >= 0


def same_epsilon(difference: float) -> bool:
    return abs(difference) <= SAME_EPSILON


def same_sigma(difference: float) -> bool:
    return abs(difference) <= SAME_SIGMA


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has dp-accounting")
    chosen = options.parse_args()
    script = Path(__file__).parent / "peers" / "dp_accounting_curves.py"
    with Peer(chosen.peer_python, script) if chosen.peer_python else nullcontext() as peer:
        found = versions("numpy", "scipy", "python-flint")
        found["peer"] = peer.ask("versions") if peer else "none: give --peer-python to compare with dp-accounting"
        report = Report("accounting", found)
        run = Accounting(report, peer, quick=chosen.quick)
        for part in (run.distinct, run.equal):
            part()
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
