"""A dense universe of 1e8 cells: encode a table, measure 100 marginals, fit a model, ask it 10,000 questions.

Beside time, the greatest resident memory of the whole process, held against four 32-bit numbers a cell.
"""

from __future__ import annotations

import resource
import sys
import time
from itertools import combinations, islice

import numpy as np
from common import Report, parser, versions

from discreet import dp, release

SIZES = {"quick": (5, 5, 5, 5, 5, 5, 8, 8, 10, 4), "full": (5, 5, 5, 5, 5, 5, 8, 8, 10, 10)}
MEASURED, QUESTIONS, ROWS = 100, 10_000, 1_000_000
WIDTH = 4  # bytes
MOST = 4  # numbers of that width, a cell


def peak() -> int:
    """Return the greatest resident memory so far, in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used


class Dense:
    """One run, step by step."""

    def __init__(self, report: Report, sizes: tuple[int, ...]) -> None:
        self.report, self.universe = report, dp.Universe({f"c{place}": size for place, size in enumerate(sizes)})

    def step(self, what: str, since: float, more: str = "") -> None:
        """Keep how long a step took, and the memory so far."""
        shares = peak() / WIDTH / self.universe.size
        self.report.fact(what, f"{time.perf_counter() - since:.3g} s{more}", "", f"{shares:.2f} numbers a cell", "")

    def run(self) -> None:
        """All steps."""
        source = np.random.default_rng(7)
        kind = source.integers(1, 4, ROWS)  # what makes columns depend on each other
        frame = {
            name: np.minimum(source.random(ROWS) ** kind * column.size, column.size - 1).astype(np.int64)
            for name, column in self.universe.columns.items()
        }
        before = time.perf_counter()
        histogram = self.universe.encode(frame)
        self.step(f"a table of {ROWS:,} rows encoded as {self.universe.size:,} cells", before)

        before = time.perf_counter()
        marginals = [
            release.marginal(self.universe, *clique)
            for clique in islice(combinations(self.universe.columns, 3), MEASURED)
        ]
        model = release.synthesize(
            self.universe, histogram, workload=sum(marginals[1:], start=marginals[0]),
            loss=dp.Loss.approximate(epsilon=1, delta=1e-9),
            sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
        )  # fmt: skip
        self.step(f"{MEASURED} marginals measured, and a model fitted", before)

        names = list(self.universe.columns)
        queries = []
        for _ in range(QUESTIONS):
            columns = sorted(source.choice(len(names), 3, replace=False).tolist())
            chosen = {names[c]: np.flatnonzero(source.random(self.universe.shape[c]) < 0.5).tolist() for c in columns}
            queries.append(release.where(self.universe, **{name: kept or [0] for name, kept in chosen.items()}))
        before = time.perf_counter()
        answers = np.array([model.answer(query) for query in queries])
        took = time.perf_counter() - before
        self.step(f"{QUESTIONS:,} questions answered", before, f", {1e6 * took / QUESTIONS:.0f} us each")

        shares = peak() / WIDTH / self.universe.size
        verdict = "pass" if shares <= MOST else "MISS"
        self.report.fact("greatest memory, numbers of 32 bits a cell", f"{shares:.2f}", "", f"<= {MOST}", verdict)

        exact = release.Marginals(histogram, self.universe.shape)
        missed = np.abs(answers - [query.answer(exact(query.axes)) for query in queries])
        self.report.fact(
            "error of an answer: mean, and greatest", f"{missed.mean():.0f}, {missed.max():.0f}", "", "", ""
        )


def main() -> None:
    chosen = parser(__doc__).parse_args()
    report = Report("dense", versions("numpy", "scipy"))
    Dense(report, SIZES["quick" if chosen.quick else "full"]).run()
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
