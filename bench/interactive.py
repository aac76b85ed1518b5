"""Ten thousand questions and more on one budget: errors and times, and what each improvement is worth.

Streams: A, on seven columns of Adult, takes three columns at random and half of the values of each; N, on NLTCS, two to
five columns at random with the values that a random person has there. Every figure is over five seeds, with its
standard deviation; the budget is epsilon = 1, delta = 1e-9, rows added or removed. Errors are in people. What the
mechanism was tuned on is NLTCS, with other seeds.

Beside it: normal noise on every question, with the exact composition of all of them; and the textbook's online
mechanism with its constants (Sparse with thresholds of its own, a value for each hit, multiplicative weights with the
step of the notes) on the same streams. Then single improvements are taken back, one at a time.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from unittest.mock import patch

import numpy as np
from common import Report, parser, versions
from tables import Table, add_folder, load

from discreet import dp, release
from discreet.release import interactive, online_plan
from discreet.release.online_fit import Knowledge
from discreet.release.online_measure import Instrument
from discreet.release.query import Product

ADD_REMOVE = dp.Neighbours.ADD_REMOVE
CELLS = dp.Sensitivity.histogram(neighbours=ADD_REMOVE)
EPSILON, DELTA = 1, "1e-9"
LOSS = dp.Loss.approximate(epsilon=EPSILON, delta=DELTA)
SEEDS = (1, 2, 3, 4, 5)
TEXTBOOK_HITS = 30

Stream = list[Product]
# The greatest mean error, the greatest error of the second half, and of all.
BARS: dict[tuple[str, int], tuple[int, int | None, int | None]] = {
    ("adult-7", 10_000): (55, 350, None), ("nltcs", 10_000): (50, None, 500), ("nltcs", 100_000): (50, None, 700),
}  # fmt: skip


def one_of(size: int, places: object) -> np.ndarray:
    chosen = np.zeros(size, np.int64)
    chosen[places] = 1
    return chosen


def stream_a(table: Table, count: int, source: np.random.Generator) -> Stream:
    """Three columns, and half of the values of each."""
    found = []
    for _ in range(count):
        columns = sorted(source.choice(len(table.shape), 3, replace=False).tolist())
        sizes = [table.shape[axis] for axis in columns]
        halves = [one_of(n, source.choice(n, max(1, n // 2), replace=False)) for n in sizes]
        found.append(Product.of(table.shape, dict(zip(columns, halves, strict=True))))
    return found


def stream_n(table: Table, count: int, source: np.random.Generator) -> Stream:
    """Two to five columns, with the values of a random person."""
    found = []
    for _ in range(count):
        columns = sorted(source.choice(len(table.shape), source.integers(2, 6), replace=False).tolist())
        person = table.rows[source.integers(len(table.rows))]
        found.append(Product.of(table.shape, {a: one_of(table.shape[a], person[a]) for a in columns}))
    return found


STREAMS: dict[str, Callable[[Table, int, np.random.Generator], Stream]] = {"adult-7": stream_a, "nltcs": stream_n}


@dataclass(frozen=True)
class Errors:
    """The errors of one stream, and what was learned from how many hits."""

    missed: np.ndarray
    measured: int
    held: float  # the share of error bars that hold, of those that were given

    @property
    def figures(self) -> tuple[float, float, float]:
        """Mean; greatest of the second half; greatest of all."""
        return float(self.missed.mean()), float(self.missed[len(self.missed) // 2 :].max()), float(self.missed.max())


def truth_of(table: Table, asked: Stream) -> np.ndarray:
    exact = release.Marginals(table.histogram, table.shape)
    return np.array([query.answer(exact(query.axes)) for query in asked])


def ours(table: Table, asked: Stream, loss: dp.Loss = LOSS) -> Errors:
    online = release.Interactive(table.universe, table.histogram, sensitivity=CELLS, loss=loss, questions=len(asked))
    replies = online.ask_many(asked)
    missed = np.abs(truth_of(table, asked) - [reply.value for reply in replies])
    told = [(miss, reply.error) for miss, reply in zip(missed, replies, strict=True) if reply.error is not None]
    measured = sum(reply.charged > 0 for reply in replies)
    return Errors(missed, measured, float(np.mean([miss <= error for miss, error in told])))


def textbook(table: Table, asked: Stream) -> Errors:
    """NumericSparse on both signs of the distance, and one step of the notes for every hit, until it halts."""
    universe, people, exact = table.universe, len(table.rows), release.Marginals(table.histogram, table.shape)
    given = {"cutoff": TEXTBOOK_HITS, "sensitivity": dp.Sensitivity.counting(neighbours=ADD_REMOVE)}
    noise = dp.NumericSparse(threshold=0, epsilon=EPSILON, delta=DELTA, **given)
    alpha = noise.accuracy(failure_probability=0.05, questions=2 * len(asked))
    level = math.ceil(2 * alpha)
    watch = dp.NumericSparse(threshold=level, epsilon=EPSILON, delta=DELTA, **given)
    update = release.MultiplicativeWeights(universe, rows=people, step=release.Step.NOTES)  # the number is given away
    state, missed = update.start(), []
    for query in asked:
        count, estimate = query.count(exact(query.axes)), state.answer(query)
        answer = estimate
        for sign in (1, -1):
            if watch.halted:
                break
            found = watch.ask(sign * (count - round(estimate)))
            if found is not False and found is not None:
                answer = estimate + sign * float(found)
                value = Fraction(answer)
                state = update.updated(state, query, value, level=Fraction(level), noise=alpha)
                break
        missed.append(abs(answer - count))
    return Errors(np.array(missed), 0, math.nan)


@contextmanager
def without(what: str) -> Iterator[dp.Loss]:
    """Take one improvement back, as long as the block lasts; yields the loss to ask for."""
    constant = lambda self, effects, rows: np.full(len(effects.sets), 0.1)  # noqa: E731
    match what:
        case "pairs measured in advance":
            change = patch.object(online_plan, "measured_pairs", lambda shape: ())
        case "measuring without a test at first":
            change = patch.object(online_plan, "_BYPASSES", 0)
        case "answers from the span":
            change = patch.object(interactive, "_FINE", 0.0)
        case "marginals: each hit measures its query alone":
            change = patch.object(Instrument, "measures_marginal", lambda self, query, knowledge: False)
        case "belief by signal and noise: one slack for all":
            change = patch.object(Knowledge, "_disbelief", constant)
        case "logistic coins: a sparse vector, at the same rho":
            budget = dp.Budget(epsilon=EPSILON, delta=DELTA)
            yield dp.Loss.zcdp(rho=budget.cap.amount / budget.order)
            return
        case _:
            yield LOSS
            return
    with change:
        yield LOSS


IMPROVEMENTS = (
    "pairs measured in advance", "measuring without a test at first", "answers from the span",
    "marginals: each hit measures its query alone", "belief by signal and noise: one slack for all",
    "logistic coins: a sparse vector, at the same rho",
)  # fmt: skip


def independent(count: int) -> tuple[float, float]:
    """Mean and about the greatest error of normal noise on each question."""
    counting = dp.Sensitivity.counting(neighbours=ADD_REMOVE, queries=count)
    sigma = float(dp.Gaussian(sensitivity=counting, epsilon=EPSILON, delta=DELTA).sigma)
    return math.sqrt(2 / math.pi) * sigma, -statistics.NormalDist().inv_cdf(1 / (4 * count)) * sigma


def shown(values: list[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f} +- {spread:.1f}"


class Interactive:
    """One run of all figures."""

    def __init__(self, report: Report, *, quick: bool) -> None:
        self.report, self.quick = report, quick
        self.seeds = SEEDS[:1] if quick else SEEDS

    def asked(self, table: Table, name: str, count: int, seed: int) -> Stream:
        return STREAMS[name](table, count, np.random.default_rng(seed))

    def errors(self, table: Table, name: str, count: int) -> None:
        """The errors on five streams, against the bars."""
        runs = [ours(table, self.asked(table, name, count, seed)) for seed in self.seeds]
        mean, most = independent(count)
        figures = list(zip(*(run.figures for run in runs), strict=True))
        what = f"{table.name}, {count:,} questions"
        titles = ("mean error", "greatest of the second half", "greatest of all")
        bars = BARS.get((name, count), (None, None, None))
        for title, values, theirs, bar in zip(titles, figures, (mean, most, most), bars, strict=True):
            held = statistics.mean(values)
            verdict = "" if bar is None else ("pass" if held <= bar else "MISS")
            aim = "" if bar is None else f"<= {bar}"
            self.report.fact(f"{what}: {title}", shown(list(values)), f"noise on each: {theirs:.0f}", aim, verdict)
        kept = shown([100 * run.held for run in runs])
        verdict = "pass" if min(run.held for run in runs) >= 0.95 else "MISS"
        self.report.fact(f"{what}: error bars that hold, %", kept, "", ">= 95", verdict)
        self.report.fact(f"{what}: measured", shown([float(run.measured) for run in runs]), "", "", "")

    def certified(self, table: Table, name: str, count: int) -> None:
        """What is certified for every answer, and what the answers of one stream are really off by."""
        asked = self.asked(table, name, count, 1)
        online = release.CertifiedInteractive(
            table.universe, table.histogram, sensitivity=CELLS, loss=LOSS, questions=count, failure_probability=0.05
        )
        missed = np.abs(truth_of(table, asked) - [reply.value for reply in online.ask_many(asked)])
        error = float(online.certified_error)
        what = f"{table.name}, {count:,} questions: certified for all at 95 %; greatest on a stream"
        self.report.fact(what, f"{error:.0f}; {missed.max():.0f}", f"{len(table.rows)} people", "", "")

    def improvements(self, table: Table, name: str, count: int) -> None:
        """The textbook's mechanism, and ours without one improvement at a time, as multiples of ours."""
        seeds = self.seeds[:2]
        streams = [self.asked(table, name, count, seed) for seed in seeds]
        whole = [ours(table, asked).figures for asked in streams]
        old = [textbook(table, asked).figures for asked in streams]
        self._factor(f"{table.name}, {count:,} questions: textbook", whole, old)
        for what in IMPROVEMENTS:
            with without(what) as loss:
                found = [ours(table, asked, loss).figures for asked in streams]
            self._factor(f"{table.name}, {count:,} questions: without {what}", whole, found)

    def _factor(self, what: str, whole: list[tuple[float, ...]], other: list[tuple[float, ...]]) -> None:
        mean, most = ([figure[place] for figure in other] for place in (0, 1))
        factor = statistics.mean(mean) / statistics.mean([figure[0] for figure in whole])
        self.report.fact(f"{what}: mean; second half", f"{shown(mean)}; {shown(most)}", f"{factor:.2f}x ours", "", "")

    def times(self, table: Table, name: str, count: int) -> None:
        """Processor time of an answer of the model, and of a hit with its refit, in passes over the cells."""
        asked = self.asked(table, name, count, 1)
        universe, histogram = table.universe, table.histogram
        online = release.Interactive(universe, histogram, sensitivity=CELLS, loss=LOSS, questions=count)
        cells = histogram.astype(np.float64)
        one, kept = _seconds(cells.sum, 1000), len(universe.shape) + len(online.plan.pairs)
        model, hits = [], []
        for query in asked:
            before = time.process_time()
            reply = online.ask(query)
            taken = time.process_time() - before
            if reply.route is release.Route.MODEL:
                model.append(taken)
            elif reply.charged:
                kept += 1
                hits.append(taken / (one * kept))
        for share, bar in ((50, 50), (99, 1000)):
            found = float(np.percentile(model, share)) * 1e6
            what = f"{table.name}: answer of the model, p{share}"
            self.report.fact(what, f"{found:.0f} us", "", f"<= {bar} us", _verdict(found, bar))
        if hits:
            middle = statistics.median(hits)
            self.report.fact(
                f"{table.name}: a hit with its refit, in passes x measurements kept", f"{middle:.1f}",
                f"a pass: {one * 1e6:.0f} us", "<= 30", _verdict(middle, 30),
            )  # fmt: skip


def _seconds(work: Callable[[], object], times: int) -> float:
    """Return the processor time of one of many calls, so that other work on the machine does not count."""
    before = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - before) / times


def _verdict(found: float, bar: float) -> str:
    return "pass" if found <= bar else "MISS"


def main() -> None:
    options = parser(__doc__)
    add_folder(options)
    options.add_argument("--only", choices=("errors", "improvements", "times"), help="some of the figures")
    chosen = options.parse_args()
    report = Report("Questions online on one budget", versions("numpy", "scipy"))
    run = Interactive(report, quick=chosen.quick)
    for name, counts in (("adult-7", (10_000,)), ("nltcs", (10_000, 100_000))):
        table = load(name, chosen.data, f"the interactive figures of {name}")
        if table is None:
            continue
        counts = (1000,) if chosen.quick else counts
        if chosen.only in (None, "times") and name == "adult-7":  # the bars are for 2e5 cells
            run.times(table, name, 10_000)
        if chosen.only in (None, "errors"):
            for count in counts:
                run.errors(table, name, count)
            run.certified(table, name, counts[0])
        if chosen.only in (None, "improvements"):
            run.improvements(table, name, counts[0])
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
