"""A contract of accuracy: every one of many predicates within alpha n, but for a chance of beta, against Turbo.

The tables are made up in the shape of Turbo's test results of one state: result x gender x age x ethnicity, 128 cells,
1,008,532 people, and all 34,425 conjunctions of subsets. Rows are replaced, their number is public, losses are pure.
Ours is `release.Cover`: one histogram, measured once, with a bound on the error of every predicate that there is; the
violations counted beside it are a check of that bound, and not its reason.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np
from common import Report, parser, versions
from turbo import Turbo, cached

from discreet import dp, release

SHAPE = {"result": 2, "gender": 2, "age": 4, "ethnicity": 8}
ROWS, ALPHA, BETA = 1_008_532, 0.05, 0.001
REQUESTS = 70_000
BAR = 0.004
PACES = (1, 0.3, 0.1, 0.03)  # at which Turbo learns; the one that spends least is shown
REPLACED = dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE)


@dataclass(frozen=True)
class Contract:
    """So many rows, each answer within alpha of them."""

    rows: int
    alpha: float
    bar: float | None = None

    def __str__(self) -> str:
        return f"{self.rows:,} rows, alpha {self.alpha:g}"


CONTRACTS = (Contract(ROWS, ALPHA, BAR), Contract(ROWS, 0.001), Contract(10_000, 0.02))
SHORT = (1, 3, 10, 30, 100)  # requests


def predicates() -> np.ndarray:
    """Return all conjunctions of non-empty subsets, a row each."""
    found = np.ones((1, 1), np.int8)
    for size in SHAPE.values():
        subsets = np.array([bits for bits in product((0, 1), repeat=size) if any(bits)], np.int8)
        found = np.einsum("ac,bd->abcd", found, subsets).reshape(len(found) * len(subsets), -1)
    return found


def counts(rows: int, source: np.random.Generator) -> np.ndarray:
    """Return a table in which the result depends on age and ethnicity, and these on each other."""
    age = np.array([0.2, 0.35, 0.3, 0.15])
    ethnicity = source.dirichlet(np.full(8, 2.0), size=4)
    positive = np.clip(0.06 + source.normal(0, 0.025, (4, 8)), 0.005, None)
    both = age[:, None] * ethnicity
    cells = np.stack([both * (1 - positive), both * positive])[:, None] * np.array([0.47, 0.53])[None, :, None, None]
    return source.multinomial(rows, (cells / cells.sum()).reshape(-1))


def streams(count: int, source: np.random.Generator) -> dict[str, np.ndarray]:
    """Return numbers of predicates: all alike, or few of them often."""
    ranks = 1 / np.arange(1, count + 1)
    popular = source.permutation(count)
    return {
        "uniform": source.integers(0, count, REQUESTS),
        "Zipf": popular[source.choice(count, REQUESTS, p=ranks / ranks.sum())],
    }


class Contracts:
    """One run of the figures."""

    def __init__(self, options: argparse.Namespace, report: Report) -> None:
        self.report, self.runs = report, 1 if options.quick else options.runs
        self.source = np.random.default_rng(7)
        self.predicates, self.universe = predicates(), dp.Universe(SHAPE)

    def contract(self, contract: Contract) -> None:
        """The whole stream: what each spends, and how often it is off."""
        asked = contract.alpha * contract.rows
        cover = release.Cover.for_accuracy(
            self.universe, alpha=asked, failure_probability=BETA, sensitivity=REPLACED, rows=contract.rows
        )
        ours = float(cover.noise.epsilon)
        table = counts(contract.rows, self.source)
        off = [np.abs(self.predicates @ cover.release(table) - self.predicates @ table) for _ in range(5 * self.runs)]
        verdict = "" if contract.bar is None else "pass" if ours <= contract.bar else "MISS"
        aim = "" if contract.bar is None else f"<= {contract.bar:g}"
        self.report.fact(f"{contract}: epsilon for every predicate", f"{ours:.3g}", "", aim, verdict)
        chance = cover.chance_beyond(asked)
        self.report.fact(
            f"{contract}: chance that one is off by more, at most", f"{chance:.6g}", "", f"<= {BETA:g}",
            "pass" if chance <= BETA else "MISS",
        )  # fmt: skip
        share = np.mean([(one > asked).mean() for one in off])
        self.report.fact(f"{contract}: part of answers that were", f"{share:.2g}", "", f"<= {BETA:g}", "")
        for name, requests in streams(len(self.predicates), self.source).items():
            spent, missed = min(
                (self.turbo(contract, table, requests, pace) for pace in PACES), key=lambda found: np.mean(found[0])
            )
            theirs = float(np.mean(spent))
            verdict = "pass" if ours <= theirs else "MISS"
            shown = f"{theirs:.3g} +- {np.std(spent):.1g}, off {np.mean(missed):.2g}"
            self.report.fact(f"{contract}: {name}, Turbo", f"{ours:.3g}", shown, "no more", verdict)
            direct = cached(requests, rows=contract.rows, alpha=contract.alpha, beta=BETA)
            self.report.fact(f"{contract}: {name}, exact cache", f"{ours:.3g}", f"{direct:.3g}", "no more", "")

    def turbo(
        self, contract: Contract, table: np.ndarray, requests: np.ndarray, pace: float
    ) -> tuple[list[float], list[float]]:
        """What Turbo spends, and the part of its answers that is off by more, in each run."""
        spent, missed = [], []
        for _ in range(self.runs):
            turbo = Turbo(table / contract.rows, contract.rows, contract.alpha, BETA, self.source, pace)
            for number in requests:
                turbo.ask(int(number), self.predicates[number])
            spent.append(turbo.spent)
            missed.append(turbo.missed / len(requests))
        return spent, missed

    def short(self) -> None:
        """Where a cover does not pay: a few requests, answered one by one."""
        cells = {"128 cells": self.universe, "604,800 cells": dp.Universe({"a": 604_800})}
        for name, universe in cells.items():
            cover = release.Cover.for_accuracy(
                universe, alpha=ALPHA * ROWS, failure_probability=BETA, sensitivity=REPLACED, rows=ROWS
            )
            for requests in SHORT:
                direct = cached(np.arange(requests), rows=ROWS, alpha=ALPHA, beta=BETA)
                what = f"{name}: epsilon for {requests} predicates, one by one"
                self.report.fact(what, f"{float(cover.noise.epsilon):.3g}", f"{direct:.3g}", "", "")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each")
    chosen = options.parse_args()
    report = Report("contract", versions("numpy", "scipy"))
    run = Contracts(chosen, report)
    for contract in CONTRACTS:
        run.contract(contract)
    run.short()
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
