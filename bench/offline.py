"""Synthetic tables: all 3-way marginals by a model, and by rows drawn from it, beside peers and beside one Gaussian.

Errors are mean distances of marginals, both sides scaled to add up to 1: total variation for Adult-7 and NLTCS, twice
that, the L1 distance, for W5 and W8. Each method gets the same (epsilon, delta) for one row added or removed, through
the best accounting of its own; domains are public. A peer runs in a process and an environment of its own, is timed
from after its imports, and is stopped at a limit. Peers are scored on the marginals of their models as well as on
their rows, for some draw rows that are worse. Ours cannot be seeded: "five seeds" are five runs.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import Peer, Report, parser, versions
from tables import Table, add_folder, load

from discreet import dp, release

ORDER = 3
DELTA = 1e-9
ONE_ROW = dp.Neighbours.ADD_REMOVE
HISTOGRAM = dp.Sensitivity.histogram(neighbours=ONE_ROW)
PEERS = Path(__file__).parent / "peers"

MST, MWEM, OPENDP_AIM, OPENDP_MST, SMARTNOISE = (
    "MST on mbi 2.0", "MWEM+PGM on mbi 2.0", "OpenDP AIM", "OpenDP MST", "SmartNoise MST",
)  # fmt: skip
# The script of a peer, the option that names its interpreter, and its name for the mechanism.
SCRIPTS = {
    MST: ("mbi_synthesis.py", "mbi_python", "MST"),
    MWEM: ("mbi_synthesis.py", "mbi_python", "MWEM+PGM"),
    OPENDP_AIM: ("opendp_synthesis.py", "opendp_python", "AIM"),
    OPENDP_MST: ("opendp_synthesis.py", "opendp_python", "MST"),
    SMARTNOISE: ("smartnoise_synthesis.py", "smartnoise_python", "MST"),
}

Axes = tuple[int, ...]
Distribution = Callable[[Axes], np.ndarray]  # the cells of a marginal, which add up to 1, or should


@dataclass(frozen=True)
class Subject:
    """A table, what is held against what, and the peers that are run by default: the others take long and are worse."""

    name: str
    epsilons: tuple[float, ...]
    norm: float  # of a marginal: 1 for L1, 1/2 for total variation
    on_model: dict[float, float] = field(default_factory=dict)  # bars
    on_rows: dict[float, float] = field(default_factory=dict)
    seconds: float | None = None
    peers: tuple[str, ...] = ()


SUBJECTS = (
    Subject("w5", (1,), 1, on_rows={1: 0.040}, seconds=5, peers=tuple(SCRIPTS)),
    Subject("w8", (1,), 1, on_rows={1: 0.09}, seconds=30, peers=(MST, MWEM, OPENDP_AIM)),
    Subject("adult-7", (1, 0.1, 10), 0.5, on_model={0.1: 0.085, 1: 0.025, 10: 0.006}, peers=(MST, OPENDP_AIM)),
    Subject("nltcs", (1, 0.1, 10), 0.5, on_model={0.1: 0.023, 1: 0.0080, 10: 0.0020}, peers=(MST, OPENDP_AIM)),
)


@dataclass
class Errors:
    """What the runs of one method gave; a number a run, none for what the method does not have."""

    model: list[float] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class Truth:
    """The marginals of a table, and the distance of others from them."""

    def __init__(self, table: Table, norm: float) -> None:
        self.table, self.norm, self.rows = table, norm, len(table.rows)

    @cached_property
    def marginals(self) -> dict[Axes, np.ndarray]:
        """All marginals that are scored."""
        return {axes: self.table.marginal(axes) for axes in combinations(range(len(self.table.shape)), ORDER)}

    def missed(self, found: Distribution) -> float:
        """Return the mean distance of the marginals."""
        distances = (np.abs(found(axes) - exact / self.rows).sum() for axes, exact in self.marginals.items())
        return self.norm * statistics.fmean(distances)

    def missed_by(self, rows: np.ndarray) -> float:
        """Return the mean distance of the marginals of other rows."""
        return self.missed(Table("", self.table.sizes, rows).share)


def ours(truth: Truth, epsilon: float) -> Errors:
    """One run: fit, and draw as many rows as there are."""
    universe, histogram = truth.table.universe, truth.table.histogram
    before = time.perf_counter()
    model = release.synthesize(
        universe, histogram, workload=release.all_marginals(universe, order=ORDER),
        loss=dp.Loss.approximate(epsilon=epsilon, delta=DELTA), sensitivity=HISTOGRAM,
    )  # fmt: skip
    drawn = model.sample(truth.rows)
    seconds = time.perf_counter() - before
    rows = np.stack([np.asarray(drawn[column]) for column in truth.table.sizes], axis=1)
    on_model = truth.missed(lambda axes: model.marginal(axes) / model.rows)
    return Errors([on_model], [truth.missed_by(rows)], [seconds])


def one_gaussian(truth: Truth, epsilon: float, *, clipped: bool) -> Errors:
    """Every marginal measured once with normal noise; as it is, or clipped at 0 and scaled to add up to 1."""
    sensitivity = dp.Sensitivity.marginals(count=len(truth.marginals), neighbours=ONE_ROW)
    mechanism = dp.Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=DELTA)

    def measured(axes: Axes) -> np.ndarray:
        noisy = np.asarray(mechanism.release(truth.marginals[axes].reshape(-1)), float)
        if clipped:
            noisy = np.maximum(noisy, 0)
            noisy *= truth.rows / noisy.sum()
        return noisy.reshape(truth.marginals[axes].shape) / truth.rows

    return Errors([truth.missed(measured)])


def bootstrap(truth: Truth, source: np.random.Generator) -> Errors:
    """As many rows drawn from the table itself, without privacy: what sampling costs."""
    return Errors([], [truth.missed_by(truth.table.rows[source.integers(0, truth.rows, truth.rows)])])


def greatest_rho(epsilon: float) -> float:
    """Return the rho whose conversion gives (epsilon, delta): what peers that count in zCDP may spend."""
    least, most = 0.0, epsilon
    for _ in range(50):
        middle = (least + most) / 2
        fits = dp.Loss.zcdp(rho=middle).epsilon(delta=DELTA) <= epsilon
        least, most = (middle, most) if fits else (least, middle)
    return least


class Peers:
    """Runs of the peers, each in a process of its own."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder

    def run(self, name: str, truth: Truth, epsilon: float, seed: int) -> Errors:
        """Return the errors of one run; raise TimeoutError or RuntimeError where it does not come to an end."""
        script, option, mechanism = SCRIPTS[name]
        rows, out = self.folder / "rows.npy", self.folder / "found.npz"
        np.save(rows, truth.table.rows)
        with Peer(getattr(self.options, option), PEERS / script) as peer:
            seconds = peer.ask(
                "fit", limit=self.options.limit, mechanism=mechanism, rows=str(rows), sizes=truth.table.sizes,
                order=ORDER, epsilon=epsilon, delta=DELTA, rho=greatest_rho(epsilon), seed=seed, out=str(out),
            )["seconds"]  # fmt: skip
        with np.load(out) as found:
            tables = {axes: found[",".join(map(str, axes))] for axes in truth.marginals}
            on_rows = truth.missed_by(found["rows"])
        return Errors([truth.missed(lambda axes: tables[axes] / tables[axes].sum())], [on_rows], [seconds])

    def versions(self) -> dict[str, object]:
        """Return what runs there."""
        found: dict[str, object] = {}
        for script, option, _ in {one[:2]: one for one in SCRIPTS.values()}.values():
            with Peer(getattr(self.options, option), PEERS / script) as peer:
                found[script.removesuffix("_synthesis.py")] = peer.ask("versions")
        return found


class Offline:
    """One run of the figures."""

    def __init__(self, options: argparse.Namespace, report: Report, peers: Peers | None) -> None:
        self.options, self.report, self.peers = options, report, peers

    def subject(self, subject: Subject) -> None:
        """All figures of one table."""
        table = load(subject.name, self.options.data, f"all figures on {subject.name}")
        if table is None:
            return
        truth = Truth(table, subject.norm)
        source = np.random.default_rng(7)
        found = self.repeated(lambda _: bootstrap(truth, source))
        self.report.fact(f"{table.name}, rows drawn without privacy", "", shown(found.rows), "", "")
        for epsilon in subject.epsilons:
            self.epsilon(subject, truth, epsilon)

    def epsilon(self, subject: Subject, truth: Truth, epsilon: float) -> None:
        """All figures of one table and epsilon."""
        what = f"{truth.table.name}, epsilon {epsilon:g}"
        own = self.repeated(lambda _: ours(truth, epsilon))
        self.bar(f"{what}, model", own.model, subject.on_model.get(epsilon))
        self.bar(f"{what}, rows", own.rows, subject.on_rows.get(epsilon))
        self.bar(f"{what}, seconds", own.seconds, subject.seconds)
        for way in (False, True):
            found = self.repeated(lambda _, way=way: one_gaussian(truth, epsilon, clipped=way))
            self.beside(f"{what}, one Gaussian{', clipped' * way}, model", own.model, found.model, found.seconds)
        for name in self.chosen(subject, epsilon):
            self.peer(f"{what}, {name}", name, truth, epsilon, own)

    def chosen(self, subject: Subject, epsilon: float) -> Iterator[str]:
        """The peers to run here."""
        if self.peers is not None and (self.options.peers == "all" or epsilon == 1):
            yield from SCRIPTS if self.options.peers == "all" else subject.peers

    def peer(self, what: str, name: str, truth: Truth, epsilon: float, own: Errors) -> None:
        """A peer beside ours, on the model and on rows."""
        assert self.peers is not None
        found = Errors()
        for seed in range(self.options.peer_runs):
            try:
                one = self.peers.run(name, truth, epsilon, seed)
            except TimeoutError:
                self.report.fact(what, "", f"not finished in {self.options.limit:g} s", "", "")
                return
            except RuntimeError as error:
                self.report.fact(what, "", str(error), "", "")
                return
            found.model += one.model
            found.rows += one.rows
            found.seconds += one.seconds
        self.beside(f"{what}, model", own.model, found.model, found.seconds)
        self.beside(f"{what}, rows", own.rows, found.rows, found.seconds)

    def repeated(self, once: Callable[[int], Errors]) -> Errors:
        """Return all runs of a method."""
        runs = [once(number) for number in range(self.options.runs)]
        every = [[value for run in runs for value in getattr(run, name)] for name in ("model", "rows", "seconds")]
        return Errors(*every)

    def bar(self, what: str, values: list[float], bar: float | None) -> None:
        """Ours, held against a bar where there is one."""
        verdict = "" if bar is None else "pass" if statistics.fmean(values) <= bar else "MISS"
        self.report.fact(what, shown(values), "", "" if bar is None else f"<= {bar:g}", verdict)

    def beside(self, what: str, own: list[float], theirs: list[float], seconds: list[float]) -> None:
        """Ours beside theirs: never worse."""
        verdict = "pass" if statistics.fmean(own) <= statistics.fmean(theirs) else "MISS"
        took = f" in {statistics.fmean(seconds):.0f} s" if seconds else ""
        self.report.fact(what, shown(own), shown(theirs) + took, "no more", verdict)


def shown(values: list[float]) -> str:
    """Return the mean and the standard deviation."""
    spread = f" +- {statistics.stdev(values):.1g}" if len(values) > 1 else ""
    mean = statistics.fmean(values)
    return f"{mean:.{max(1, 3 - math.ceil(math.log10(mean)))}f}{spread}"


def main() -> None:
    names = [subject.name for subject in SUBJECTS]
    options = parser(__doc__)
    add_folder(options)
    options.add_argument("--only", nargs="+", choices=names, default=names, help="the tables to run")
    options.add_argument("--runs", type=int, default=5, metavar="N", help="runs of ours")
    options.add_argument("--peers", choices=("none", "some", "all"), default="some", help="all takes hours")
    options.add_argument("--peer-runs", type=int, default=1, metavar="N", help="runs of each peer")
    options.add_argument("--limit", type=float, default=100, metavar="SECONDS", help="after which a peer is stopped")
    for _, option, _ in {one[1]: one for one in SCRIPTS.values()}.values():
        options.add_argument("--" + option.replace("_", "-"), metavar="PYTHON", help="an interpreter that has the peer")
    chosen = options.parse_args()
    if chosen.quick:
        chosen.runs = 1
    with TemporaryDirectory() as folder:
        peers = None if chosen.peers == "none" else Peers(chosen, Path(folder))
        report = Report("offline", {**versions("numpy", "scipy"), "peers": peers.versions() if peers else {}})
        run = Offline(chosen, report, peers)
        for subject in SUBJECTS:
            if subject.name in chosen.only:
                run.subject(subject)
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
