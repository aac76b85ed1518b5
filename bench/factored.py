"""Synthetic tables of 14 columns, 6e17 cells: all 3-way marginals by a mixture of products, beside MST and AIM.

The table is Adult, the error the mean total variation of its 364 3-way marginals, both sides scaled to add up to 1, at
epsilon 1 and delta 1e-9 for one row added or removed. No dense model holds it, so ours is `release.factored`. Peers
are scored on as many rows as the table has, because reading 364 marginals off a clique tree takes them longer than the
fit does: beside them stand rows of ours. Ours cannot be seeded: "five seeds" are five runs.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import Peer, Report, parser, versions
from offline import (
    DELTA,
    HISTOGRAM,
    MST,
    OPENDP_AIM,
    ORDER,
    PEERS,
    SCRIPTS,
    Errors,
    Truth,
    bootstrap,
    greatest_rho,
    shown,
)
from tables import load

from discreet import dp, release
from discreet.release.factored import FactoredModel, synthesize_rows

SECONDS = 300  # that ours may take
MEGABYTES = 4000
LIMIT = {MST: 600.0, OPENDP_AIM: 1200.0}  # seconds after which a peer is stopped


def fitted(truth: Truth, epsilon: float) -> FactoredModel:
    """Return a model of the table."""
    universe = truth.table.universe
    return synthesize_rows(
        universe, truth.table.rows, workload=release.all_marginals(universe, order=ORDER),
        loss=dp.Loss.approximate(epsilon=epsilon, delta=DELTA), sensitivity=HISTOGRAM,
    )  # fmt: skip


def ours(truth: Truth, epsilon: float) -> Errors:
    """One run: measure, fit twice (once for the errors that are estimated), and draw as many rows as there are."""
    before = time.perf_counter()
    model = fitted(truth, epsilon)
    drawn = model.sample(truth.rows)
    seconds = time.perf_counter() - before
    rows = np.stack([np.asarray(drawn[column]) for column in truth.table.sizes], axis=1)
    return Errors([truth.missed(lambda axes: model.marginal(axes) / model.rows)], [truth.missed_by(rows)], [seconds])


def peer(name: str, truth: Truth, python: str, folder: Path, limit: float, seed: int) -> Errors:
    """One run of a peer, scored on its rows."""
    script, _, mechanism = SCRIPTS[name]
    rows, out = folder / "rows.npy", folder / "found.npz"
    np.save(rows, truth.table.rows)
    with Peer(python, PEERS / script) as process:
        seconds = process.ask(
            "fit", limit=limit, mechanism=mechanism, rows=str(rows), sizes=truth.table.sizes, order=ORDER, epsilon=1,
            delta=DELTA, rho=greatest_rho(1), seed=seed, out=str(out), model=False,
        )["seconds"]  # fmt: skip
    with np.load(out) as found:
        return Errors([], [truth.missed_by(found["rows"])], [seconds])


def product(truth: Truth) -> float:
    """The error of the product of the columns, which are taken as they are: what there is to learn."""
    shares = [truth.table.share((axis,)) for axis in range(len(truth.table.shape))]
    return truth.missed(lambda axes: np.einsum("a,b,c->abc", *(shares[axis] for axis in axes)))


def beside(report: Report, name: str, truth: Truth, own: Errors, python: str, limit: float, runs: int) -> None:
    """A peer beside ours, on rows."""
    found = Errors()
    with TemporaryDirectory() as folder:
        for seed in range(runs):
            try:
                one = peer(name, truth, python, Path(folder), limit, seed)
            except TimeoutError:
                report.fact(f"rows, {name}", shown(own.rows), f"not finished in {limit:g} s", "no more", "pass")
                return
            except RuntimeError as error:
                report.fact(f"rows, {name}", "", str(error), "", "")
                return
            found.rows += one.rows
            found.seconds += one.seconds
    verdict = "pass" if statistics.fmean(own.rows) < statistics.fmean(found.rows) else "MISS"
    took = f"{shown(found.rows)} in {statistics.fmean(found.seconds):.0f} s"
    report.fact(f"rows, {name}", shown(own.rows), took, "less", verdict)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=5, metavar="N", help="runs of ours")
    options.add_argument("--peer-runs", type=int, default=1, metavar="N", help="runs of each peer")
    options.add_argument("--mbi-python", metavar="PYTHON", help="an interpreter that has mbi 2.0")
    options.add_argument("--opendp-python", metavar="PYTHON", help="an interpreter that has OpenDP with mbi")
    chosen = options.parse_args()
    table = load("adult-14", Path(), "all figures")
    assert table is not None  # it is shipped
    truth = Truth(table, 0.5)
    report = Report("factored", versions("numpy", "scipy"))
    runs = [ours(truth, 1.0) for _ in range(1 if chosen.quick else chosen.runs)]
    own = Errors(*([value for run in runs for value in getattr(run, name)] for name in ("model", "rows", "seconds")))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    report.fact("columns taken as independent, without privacy", "", f"{product(truth):.4f}", "", "")
    report.fact("rows drawn without privacy", "", shown(bootstrap(truth, np.random.default_rng(7)).rows), "", "")
    report.fact("model", shown(own.model), "", "", "")
    report.fact("rows", shown(own.rows), "", "", "")
    report.fact("seconds", shown(own.seconds), "", f"<= {SECONDS}", "pass" if max(own.seconds) <= SECONDS else "MISS")
    report.fact(
        "megabytes, the truth included", f"{peak:.0f}", "", f"<= {MEGABYTES}", "pass" if peak <= MEGABYTES else "MISS"
    )
    for name in (MST, OPENDP_AIM):
        python = getattr(chosen, SCRIPTS[name][1])
        if python:
            beside(report, name, truth, own, python, LIMIT[name], chosen.peer_runs)
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
