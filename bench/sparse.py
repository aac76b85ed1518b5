"""Sparse vectors: how fast a stream is watched, beside the textbook loop on OpenDP's noise and NumPy's insecure blocks.

Everything is timed in one run, in turns. Ours is the public calls, from the constructor to the last answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import Peer, Report, Row, Timer, interleaved, parser, timer, versions
from numpy.typing import NDArray

from discreet import dp

COUNT = 100_000
THRESHOLD, BELOW, HIT = 5_000_000, 1000, 10_000_000  # far apart: the same hits in every run
BLOCK = 1 << 14
ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
NUMPY = 0.5  # at least so many times as fast as NumPy's insecure noise
CHANCE, QUESTIONS, CUTOFF, DELTA = 0.05, 1000, 10, 1e-6  # of the statements of accuracy that are held against draws

Values = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Planted:
    """A stream of so many hits among values far below the threshold; the scales are those of the notes at epsilon 1."""

    hits: int
    bar: int  # at least so many times as fast as the loop on OpenDP's noise

    @property
    def values(self) -> Values:
        """The stream."""
        values = np.random.default_rng(1).integers(0, BELOW, COUNT)
        if self.hits:
            values[np.arange(500, COUNT, COUNT // self.hits)] = HIT
        return values

    @property
    def cutoff(self) -> int:
        """How many hits it may report."""
        return max(self.hits, 1)

    def ours(self, values: Values) -> list[int]:
        """Watch it, by the public calls."""
        watch: dp.AboveThreshold | dp.Sparse
        if self.hits:
            watch = dp.Sparse(threshold=THRESHOLD, cutoff=self.cutoff, sensitivity=ONE, epsilon=1, delta=0)
        else:
            watch = dp.AboveThreshold(threshold=THRESHOLD, sensitivity=ONE, epsilon=1)
        hits, start = list[int](), 0
        while start < values.size and not watch.halted:
            answers = watch.ask_many(values, start=start)
            start += answers.size
            if answers[-1]:
                hits.append(start - 1)
        return hits

    def numpy(self, values: Values, random: np.random.Generator) -> list[int]:
        """Watch it with NumPy's floating-point noise, a block at a time."""
        hits, start = list[int](), 0
        noisy = THRESHOLD + random.laplace(0, 2 * self.cutoff)
        while start < values.size and len(hits) < self.cutoff:
            block = values[start : start + BLOCK]
            compared, place = block + random.laplace(0, 4 * self.cutoff, block.size), 0
            while (above := np.flatnonzero(compared[place:] >= noisy)).size:
                place += int(above[0])
                hits.append(start + place)
                place += 1
                if len(hits) == self.cutoff:
                    break
                noisy = THRESHOLD + random.laplace(0, 2 * self.cutoff)
            start += BLOCK
        return hits


class Sparse:
    """One run of all figures."""

    def __init__(self, report: Report, peer: Peer | None, folder: Path, *, quick: bool) -> None:
        self.report, self.peer, self.folder = report, peer, folder
        self.rounds = 3 if quick else 9

    def streams(self) -> None:
        """A stream without a hit, and one with a hundred."""
        for planted in (Planted(0, 200), Planted(100, 50)):
            values, file = planted.values, self.folder / f"{planted.hits}.npy"
            np.save(file, values)
            wanted = np.flatnonzero(values == HIT).tolist()
            random = np.random.default_rng()
            insecure = partial(planted.numpy, values, random)
            agree(wanted, planted.ours(values), insecure())
            others: dict[str, tuple[Timer, float]] = {
                "NumPy blocks (insecure)": (timer(insecure, units=COUNT, calls=3), NUMPY)
            }
            if self.peer:
                others["loop on OpenDP vectors"] = self.loop(planted, file, wanted), planted.bar
            ours = timer(partial(planted.ours, values), units=COUNT, calls=3)
            times = interleaved({"ours": ours, **{name: once for name, (once, _) in others.items()}}, self.rounds)
            for name, (_, bar) in others.items():
                work = f"1e5 questions, {planted.hits or 'no'} hits"
                self.report.add(Row(work, name, times["ours"], times[name], "value", bar))

    def accuracies(self) -> None:
        """How much larger the alpha that is promised is than the one that would have done, on the hardest stream."""
        fixed = {"threshold": 0, "sensitivity": ONE, "epsilon": 1}
        logistic = {"threshold": 0, "sensitivity": ONE, "loss": dp.Loss.approximate(epsilon=1, delta=DELTA)}
        watches: dict[str, Watch] = {
            "AboveThreshold": dp.AboveThreshold(**fixed),
            f"Sparse, c = {CUTOFF}": dp.Sparse(cutoff=CUTOFF, delta=0, **fixed),
            f"Sparse, c = {CUTOFF}, delta {DELTA:g}": dp.Sparse(cutoff=CUTOFF, delta=DELTA, **fixed),
            f"NumericSparse, c = {CUTOFF}": dp.NumericSparse(cutoff=CUTOFF, delta=0, **fixed),
            f"NumericSparse, c = {CUTOFF}, delta {DELTA:g}": dp.NumericSparse(cutoff=CUTOFF, delta=DELTA, **fixed),
            f"SparseVector, c = {CUTOFF}": dp.SparseVector(cutoff=CUTOFF, **fixed),
            f"ThresholdTest, c = {CUTOFF}, delta {DELTA:g}": dp.ThresholdTest(cutoff=CUTOFF, **logistic),
            f"LogisticSparseVector, c = {CUTOFF}, delta {DELTA:g}": dp.LogisticSparseVector(cutoff=CUTOFF, **logistic),
        }
        for name, watch in watches.items():
            promised = float(watch.accuracy(failure_probability=CHANCE, questions=QUESTIONS))
            seen = float(np.quantile([needed(watch) for _ in range(20 * 10 * self.rounds)], 1 - CHANCE))
            what = f"alpha of {name}: promised, and enough in draws"
            self.report.fact(what, f"{promised:.0f}", f"{seen:.0f}", f"ratio {promised / seen:.2f}", "")

    def loop(self, planted: Planted, file: Path, wanted: list[int]) -> Callable[[], float]:
        """Return a timer of the loop of the peer."""

        def once() -> float:
            assert self.peer is not None
            scales = {"threshold_scale": 2 * planted.cutoff, "query_scale": 4 * planted.cutoff}
            asked = {"file": str(file), "threshold": THRESHOLD, "cutoff": planted.cutoff, **scales}
            seconds, hits = self.peer.ask("watch", **asked)
            agree(wanted, hits)
            return float(seconds) / COUNT

        return once


Watch = dp.AboveThreshold | dp.Sparse | dp.NumericSparse | dp.SparseVector | dp.ThresholdTest | dp.LogisticSparseVector


def noise(scale: Fraction, count: int) -> Values:
    """Return draws of the noise of a watch."""
    return dp.Laplace(sensitivity=ONE, scale=scale).release(np.zeros(count, dtype=np.int64))


def noises(watch: Watch, cutoff: int) -> tuple[Values | NDArray[np.float64], Values]:
    """Return noise of all questions and of the thresholds that they meet."""
    source = np.random.default_rng()
    match watch:
        case dp.ThresholdTest():
            return source.logistic(0, float(1 / watch.slope), QUESTIONS), np.zeros(1, dtype=np.int64)
        case dp.LogisticSparseVector():
            queries = source.logistic(0, float(2 / watch.hit_epsilon), QUESTIONS)
            return queries, noise(1 / watch.threshold_epsilon, 1)
        case _:
            thresholds = 1 if isinstance(watch, dp.SparseVector) else cutoff
            return noise(watch._query_noise.scale, QUESTIONS), noise(watch._threshold_noise.scale, thresholds)


def needed(watch: Watch) -> float:
    """Return the least alpha that one run keeps: c values have to hit, spread evenly, and the others must not."""
    cutoff = watch.hits_left or 1
    queries, thresholds = noises(watch, cutoff)
    hits = np.linspace(0, QUESTIONS - 1, cutoff + 1).astype(int)[1:]
    compared = queries - thresholds[np.minimum(hits.searchsorted(np.arange(QUESTIONS)), thresholds.size - 1)]
    compared[hits] *= -1
    if isinstance(watch, dp.NumericSparse):
        return float(max(compared.max(), np.abs(noise(watch._value_noise.scale, cutoff)).max()))
    return float(compared.max())


def agree(wanted: list[int], *found: list[int]) -> None:
    """Refuse to time what does not do the work."""
    if any(hits != wanted for hits in found):
        raise RuntimeError("the hits that are reported are not those that were planted.")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has OpenDP")
    chosen = options.parse_args()
    script = Path(__file__).parent / "peers" / "opendp_sparse.py"
    with (
        TemporaryDirectory() as folder,
        Peer(chosen.peer_python, script) if chosen.peer_python else nullcontext() as peer,
    ):
        found = versions("numpy", "cryptography", "python-flint")
        found["peer"] = peer.ask("versions") if peer else "none: give --peer-python to compare with OpenDP"
        report = Report("sparse vectors", found)
        run = Sparse(report, peer, Path(folder), quick=chosen.quick)
        for part in (run.streams, run.accuracies):
            part()
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
