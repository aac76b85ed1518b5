"""The noise of the sparse vector family at one budget: how much a question gets, and what is found in a planted stream.

Nothing is timed here. The scale of the noise is that of 1 / slope for the logistic test, and that of one value for
AboveThreshold redrawn after every hit, whose noisy threshold comes on top. In the stream most values lie below the
threshold and a few above it, all by the same distance; an error is one that is missed, or a false alarm.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from common import Report, parser, versions

from discreet import dp
from discreet.dp.threshold_calibration import greatest
from discreet.dp.threshold_loss import ThresholdHit

EPSILON, DELTA = Fraction(1), Fraction(1, 10**9)
PROMISE = dp.Loss.approximate(epsilon=EPSILON, delta=DELTA)
ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
LONG, PLANTED, CUTOFF = 100_000, 40, 50
NARROWER = 3.5  # the bar: so many times less noise
DISTANCES = (1_000, 1_500, 2_000, 3_000, 4_000)  # Sparse begins to see in this range


def logistic_scale(hits: int) -> float:
    """1 / slope where so many hits, and as many Gaussian values of that scale, use the whole budget."""
    slope = greatest(
        lambda e: (hits * ThresholdHit(e) + hits * dp.Loss.gaussian(mu=e)).epsilon_bound(DELTA) <= EPSILON, bits=20
    )
    return float(1 / slope)


def redrawn_scale(hits: int) -> float:
    """The scale of a value's noise in AboveThreshold, where so many of it use half the budget in zCDP."""
    rho = greatest(lambda rho: dp.Loss.zcdp(rho=rho).epsilon_bound(DELTA) <= EPSILON, bits=20)
    each = Fraction(str(float(rho / hits) ** 0.5))  # hits * each^2 / 2 = rho / 2
    watch = dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=each)
    return float(watch._query_noise.scale)  # type: ignore[attr-defined]


def scales(report: Report) -> None:
    """How much noise one question gets."""
    for hits in (50, 100, 500):
        ours, theirs = logistic_scale(hits), redrawn_scale(hits)
        verdict = "pass" if theirs >= NARROWER * ours else "MISS"
        what = f"scale of query noise, {hits} hits, against AboveThreshold redrawn (zCDP)"
        report.fact(what, f"{ours:.4g} (1/{theirs / ours:.2f})", f"{theirs:.4g}", f"1/{NARROWER} or less", verdict)


def errors(watch: dp.ThresholdTest | dp.Sparse, values: np.ndarray, above: np.ndarray) -> tuple[int, int]:
    """Return how many of those above are missed, and how many false alarms there are, until it halts."""
    found, start = np.zeros(values.size, dtype=bool), 0
    while start < values.size and not watch.halted:
        answers = watch.ask_many(values, start=start)
        found[start : start + answers.size] = answers
        start += answers.size
    return int((above & ~found).sum()), int((found & ~above).sum())


def opponents() -> dict[str, tuple[Fraction, Fraction]]:
    """Return epsilon and delta of Sparse as printed, and of Sparse charged by the exact curve of its c runs."""
    each = greatest(lambda e: (CUTOFF * dp.Loss.pure(epsilon=e)).epsilon_bound(DELTA) <= EPSILON, Fraction(1), bits=10)
    return {"Sparse as printed": (EPSILON, DELTA), "Sparse charged exactly": (CUTOFF * each, Fraction(0))}


def planted(report: Report, *, quick: bool) -> None:
    """What each finds, and what it reports by mistake: ours at half the distance."""
    source, runs = np.random.default_rng(7), 3 if quick else 20
    slope = dp.ThresholdTest(threshold=0, sensitivity=ONE, loss=PROMISE, cutoff=CUTOFF).slope
    for name, (epsilon, delta) in opponents().items():
        for distance in DISTANCES:
            ours, theirs = np.zeros(2), np.zeros(2)
            for _ in range(runs):
                above = np.zeros(LONG, dtype=bool)
                above[source.choice(LONG, PLANTED, replace=False)] = True
                values = np.where(above, distance, -distance)
                test = dp.ThresholdTest(threshold=0, sensitivity=ONE, slope=slope, cutoff=CUTOFF)
                notes = dp.Sparse(threshold=0, cutoff=CUTOFF, sensitivity=ONE, epsilon=epsilon, delta=delta)
                ours += errors(test, values // 2, above)
                theirs += errors(notes, values, above)
            verdict = "pass" if ours.sum() <= theirs.sum() else "MISS"
            what = (
                f"missed of {PLANTED} + false alarms of {LONG:,}, {distance // 2} from the threshold, {name} {distance}"
            )
            report.fact(what, _sum(ours / runs), _sum(theirs / runs), "no more", verdict)


def _sum(counts: np.ndarray) -> str:
    return f"{counts[0]:.4g} + {counts[1]:.4g}"


def table(report: Report) -> None:
    """What a chooser would say."""
    for hits in (1, 5, 20, 100, 500):
        found = dp.best_sparse_vector(
            hits=hits,
            questions=LONG,
            loss=PROMISE,
            threshold=0,
            sensitivity=ONE,
            failure_probability=0.05,
            values=False,
        )
        others = ", ".join(f"{offer.technique.__name__} {float(offer.alpha):.4g}" for offer in found.offers[1:])
        best = f"{found.best.technique.__name__} {float(found.best.alpha):.4g}"
        report.fact(f"alpha of {hits} hits among {LONG:,}, chance 0.05", best, others, "", "")


def main() -> None:
    options = parser(__doc__)
    chosen = options.parse_args()
    report = Report("noise of threshold tests", versions("numpy", "python-flint"))
    scales(report)
    planted(report, quick=chosen.quick)
    table(report)
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
