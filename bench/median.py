"""Private medians: their error beside OpenDP's and diffprivlib's, and the time of smooth sensitivity beside sorting.

The rows are normal with a spread of 1, somewhere in a range of 1,000. An error is the distance from the median of the
rows, on average over all answers. What has no range is held against the estimate that is not private, by its distance
from the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import Peer, Report, Row, interleaved, parser, timer, versions
from numpy.typing import NDArray

from discreet import dp

ROWS, SPREAD, WIDTH = 1_000_000, 1, 1_000
EPSILON, DELTA, CHANCE = 1, 1e-9, 0.05
BULK = 4  # spreads over which the middle of normal rows would lie, were they even: the `spread` of best_quantile
OF_GLOBAL = 100  # the bar: the error of Laplace noise on global sensitivity is so many times ours
CANDIDATES = (1_000, 100_000, 1_000_000)  # of OpenDP's median, spread evenly over the range
BETA = 0.1
SORTING = 3  # the bar: so many times as long as sorting, at most
UNBOUNDED, STEP, DELTA_UNBOUNDED = 100_000, "1e-5", 1e-6

REPLACED = "exponential, REPLACE"  # under it a row moves the score of the median twice as far

Reals = NDArray[np.float64]
Ask = Callable[[], list[float]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows in a file, and the range that they lie in; where in it differs from sample to sample."""

    rows: Reals
    file: Path
    lower: float

    @property
    def upper(self) -> float:
        """The other end."""
        return self.lower + WIDTH

    @classmethod
    def drawn(cls, folder: Path, count: int) -> Iterator[Sample]:
        """Draw so many samples."""
        source = np.random.default_rng(1)
        for number in range(count):
            file, rows = folder / f"{number}.npy", source.normal(0, SPREAD, ROWS)
            np.save(file, rows)
            yield cls(rows, file, round(float(source.uniform(-0.9, -0.1)) * WIDTH, 3))

    def errors(self, answers: list[float]) -> Reals:
        """Return how far answers are from the median."""
        return np.abs(np.array(answers) - np.median(self.rows))


def ours(
    sample: Sample,
    method: str,
    calls: int,
    delta: float,
    proposal: object = None,
    relation: dp.Neighbours = dp.Neighbours.ADD_REMOVE,
) -> list[float]:
    """Answers of one method; those of a test that say UNSTABLE are left out."""
    asked = partial(
        dp.private_median,
        sample.rows,
        neighbours=relation,
        epsilon=EPSILON,
        delta=delta,
        lower=sample.lower,
        upper=sample.upper,
        method=method,
        proposal=proposal,
    )
    return [float(answer) for answer in (asked() for _ in range(calls)) if answer is not dp.UNSTABLE]


def by_global_sensitivity(sample: Sample, calls: int) -> list[float]:
    """The median plus Laplace noise for the whole range, within the range."""
    whole = dp.Sensitivity(l1=WIDTH, neighbours=dp.Neighbours.ADD_REMOVE)
    noise = dp.Laplace(sensitivity=whole, epsilon=EPSILON).release(np.full(calls, np.median(sample.rows)))
    return np.clip(noise, sample.lower, sample.upper).tolist()


class Medians:
    """One run of all figures."""

    def __init__(self, report: Report, peers: dict[str, Peer], folder: Path, *, quick: bool) -> None:
        self.report, self.peers, self.quick = report, peers, quick
        self.samples, self.calls = list(Sample.drawn(folder, 2 if quick else 10)), 5
        self.rounds = 3 if quick else 9
        self.forecast = dp.best_quantile(
            rows=ROWS,
            spread=BULK * SPREAD,
            q="0.5",
            neighbours=dp.Neighbours.ADD_REMOVE,
            epsilon=EPSILON,
            delta=DELTA,
            lower=0,
            upper=WIDTH,
            failure_probability=CHANCE,
        )

    def theirs(self, sample: Sample) -> dict[str, Ask]:
        """Return the medians of the peers."""
        asked = {"file": str(sample.file), "lower": sample.lower, "upper": sample.upper, "epsilon": EPSILON}
        found: dict[str, Ask] = {}
        if "diffprivlib" in self.peers:
            found["diffprivlib"] = lambda: self.peers["diffprivlib"].ask("median", **asked, calls=self.calls)[1]
        if "opendp" in self.peers:
            for count in CANDIDATES[: 2 if self.quick else None]:
                asking = partial(self.peers["opendp"].ask, "median", **asked, candidates=count, calls=self.calls)
                found[f"OpenDP, {count:,} candidates"] = lambda asking=asking: asking()[1]
        return found

    def errors(self) -> None:
        """The error of each method, on the same rows, and of each peer."""
        seen: dict[str, list[Reals]] = {}
        proposals = {offer.method: offer.proposal for offer in self.forecast.offers}
        for sample in self.samples:
            methods: dict[str, Ask] = {
                "exponential": partial(ours, sample, "exponential", 2 * self.calls, 0),
                "smooth": partial(ours, sample, "smooth", 2 * self.calls, DELTA),
                "propose-test-release": partial(
                    ours, sample, "propose-test-release", 2 * self.calls, DELTA, proposals["propose-test-release"]
                ),
                REPLACED: partial(ours, sample, "exponential", 2 * self.calls, 0, relation=dp.Neighbours.REPLACE),
                "Laplace on global sensitivity": partial(by_global_sensitivity, sample, 1_000),
                **self.theirs(sample),
            }
            for name, ask in methods.items():
                seen.setdefault(name, []).append(sample.errors(ask()))
        self.compare({name: np.concatenate(errors) for name, errors in seen.items()})

    def compare(self, seen: dict[str, Reals]) -> None:
        """Hold the best of ours against each of theirs, and show what the forecast was worth."""
        typical = {name: float(errors.mean()) for name, errors in seen.items()}
        best = self.forecast.best.method
        globally = typical.pop("Laplace on global sensitivity")
        for name in ("exponential", "smooth", "propose-test-release"):
            error = typical.pop(name)
            verdict = ("pass" if OF_GLOBAL * error <= globally else "MISS") if name == best else ""
            aim = f"1/{OF_GLOBAL} or less" if name == best else f"1/{globally / error:,.0f}"
            self.report.fact(f"error of {name}, Laplace on global", f"{error:.3g}", f"{globally:.3g}", aim, verdict)
        chosen, replaced = float(seen[best].mean()), typical.pop(REPLACED)
        spread = _uncertainty(seen[best])
        for name, error in typical.items():
            verdict = "pass" if chosen <= error + 2 * math.hypot(spread, _uncertainty(seen[name])) else "MISS"
            self.report.fact(f"error of {best}, {name}", f"{chosen:.3g}", f"{error:.3g}", "no more, by chance", verdict)
        if "diffprivlib" in typical:
            what = f"error of {REPLACED}, diffprivlib"
            self.report.fact(what, f"{replaced:.3g}", f"{typical['diffprivlib']:.3g}", "the same rate", "")
        for offer in self.forecast.offers:
            kept = float((seen[offer.method] <= offer.error).mean())
            what = f"forecast of {offer.method}, kept by"
            self.report.fact(what, f"{offer.error:.3g}", f"{kept:.0%}", f"{1 - CHANCE:.0%} if rows were even", "")

    def times(self) -> None:
        """Smooth sensitivity beside sorting; and whole answers, beside the peers'."""
        sample = self.samples[0]
        facts = {"lower": sample.lower, "upper": sample.upper}
        for relation in dp.Neighbours:
            bound = partial(dp.smooth_sensitivity.median, sample.rows, **facts, beta=BETA, neighbours=relation)
            found = interleaved(
                {"ours": timer(bound, calls=5), "sort": timer(partial(np.sort, sample.rows), calls=5)}, self.rounds
            )
            work = f"smooth sensitivity of the median, {relation.name}"
            self.report.add(Row(work, "np.sort of 1e6", found["ours"], found["sort"], "call", SORTING, way="at most"))
        asked = {"file": str(sample.file), **facts, "epsilon": EPSILON, "calls": 1}
        others = {name: {} if name == "diffprivlib" else {"candidates": CANDIDATES[1]} for name in self.peers}
        timers = {"ours": timer(partial(ours, sample, "exponential", 1, 0))}
        for name, more in others.items():
            timers[name] = partial(lambda name, more: self.peers[name].ask("median", **asked, **more)[0], name, more)
        found = interleaved(timers, 3)
        for name, more in others.items():
            against = name + "".join(f", {count:,} candidates" for count in more.values())
            self.report.add(
                Row("private median of 1e6, exponential", against, found["ours"], found[name], "call", None)
            )

    def unbounded(self) -> None:
        """Medians and means without a range: the distance from the truth, and that of no privacy."""
        for name, law in LAWS.items():
            rows = [law.rows(source) for source in map(np.random.default_rng, range(10 if self.quick else 100))]
            plain = {"median": [float(np.median(r)) for r in rows], "mean": [float(r.mean()) for r in rows]}
            for what, truth in (("median", law.median), ("mean", law.mean)):
                ask = {"median": dp.private_median_unbounded, "mean": dp.private_mean_unbounded}[what]
                fixed = {"neighbours": dp.Neighbours.ADD_REMOVE, "epsilon": EPSILON, "delta": DELTA_UNBOUNDED}
                answers = [ask(r, **fixed, step=STEP) for r in rows]
                kept = [float(answer) for answer in answers if answer is not dp.UNSTABLE]
                private, own = _errors(kept, truth), _errors(plain[what], truth)
                times, all_times = (p / o for p, o in zip(private, own, strict=True))
                ratio = f"{times:.2f} times, root mean square {all_times:.2f}, {len(answers) - len(kept)} unstable"
                work = f"error of the {what} of {UNBOUNDED:,}, {name}, no range; not private"
                self.report.fact(work, f"{private[0]:.3g}", f"{own[0]:.3g}", ratio, "")


@dataclass(frozen=True, slots=True)
class Law:
    """A law of rows, and its median and mean."""

    draw: Callable[[np.random.Generator, int], Reals]
    median: float
    mean: float

    def rows(self, source: np.random.Generator) -> Reals:
        """Draw a sample."""
        return self.draw(source, UNBOUNDED)


LAWS = {
    "Gaussian": Law(lambda g, n: g.normal(5, 1, n), 5.0, 5.0),
    "log-normal": Law(lambda g, n: g.lognormal(0, 1, n), 1.0, math.exp(0.5)),
    "Student, 3 degrees": Law(lambda g, n: g.standard_t(3, n), 0.0, 0.0),
    "Pareto, tail 2.5": Law(lambda g, n: 1 + g.pareto(2.5, n), 2**0.4, 5 / 3),
}


def _errors(found: list[float], truth: float) -> tuple[float, float]:
    """Return the typical error, its median, and the root mean square, to which a rare large one adds most."""
    errors = np.abs(np.array(found) - truth)
    return float(np.median(errors)), float(np.sqrt(np.mean(errors**2)))


def _uncertainty(errors: Reals) -> float:
    """Return the standard error of a mean."""
    return float(errors.std(ddof=1) / math.sqrt(errors.size))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has OpenDP")
    options.add_argument("--other-python", metavar="PYTHON", help="an interpreter that has diffprivlib")
    chosen = options.parse_args()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        peers = {
            name: stack.enter_context(Peer(python, Path(__file__).parent / "peers" / f"{name}_median.py"))
            for name, python in (("diffprivlib", chosen.other_python), ("opendp", chosen.peer_python))
            if python
        }
        found = versions("numpy", "python-flint")
        found["peers"] = {name: peer.ask("versions") for name, peer in peers.items()} or "none"
        report = Report("private medians", found)
        run = Medians(report, peers, Path(folder), quick=chosen.quick)
        for part in (run.times, run.errors, run.unbounded):
            part()
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
