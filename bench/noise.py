"""Noise: how fast it is drawn and accounted for, against OpenDP in its own environment and NumPy's insecure samplers.

Everything is timed in one run, in turns. Ours is always the public call, with the array that it allocates.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import Peer, Report, Row, Timer, interleaved, parser, timer, versions

from discreet import dp
from discreet.dp import randomness

MILLION = 1_000_000
SCALES = (1, 10, 10_000, MILLION)
HEAVY = {"scipy", "pyarrow", "duckdb", "sqlglot"}
ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
LAPLACE, DISCRETE, ROUNDED = "discrete Laplace", "discrete Gaussian", "rounded Gaussian"

# Sizes at which OpenDP is timed: its time is linear in the number of values, which `linear` checks.
PEER_INTEGERS, PEER_REALS, PEER_ADMISSIONS = 20_000, 5_000, 5_000

# The bars: so many times as fast; for AGED and IMPORT, at most so many times as long; LEAK is a correlation.
VECTOR = {LAPLACE: (300, 0.8), DISCRETE: (250, 0.3), ROUNDED: (250, 0.3)}  # OpenDP, NumPy
REALS, THOUSAND, SINGLE, FILTER = 500, 30, 1, 1000
AGED, IMPORT, LEAK = 1.5, 2.0, 0.05

Others = dict[str, tuple[Timer, float | None]]
"""What ours is held against: a timer and a bar for each name."""


def mechanism(law: str, scale: int) -> dp.Laplace | dp.DiscreteGaussian | dp.Gaussian:
    """Return ours for the name of a law."""
    if law == LAPLACE:
        return dp.Laplace(sensitivity=ONE, scale=scale)
    return (dp.DiscreteGaussian if law == DISCRETE else dp.Gaussian)(sensitivity=ONE, sigma=scale)


def asked_of_peer(law: str, kind: str, scale: int, count: int) -> dict[str, object]:
    """Return the arguments of the peer's nearest mechanism; it knows one Gaussian."""
    return {"law": "laplace" if law == LAPLACE else "gaussian", "kind": kind, "scale": scale, "count": count}


class Noise:
    """One run of all figures."""

    def __init__(self, report: Report, peer: Peer | None, *, quick: bool) -> None:
        self.report, self.peer, self.quick = report, peer, quick
        self.rounds = 3 if quick else 9

    def compare(self, work: str, ours: Timer, others: Others, unit: str) -> None:
        """Time ours and the others in turns, and keep a row for each of the others."""
        if others:
            times = interleaved({"ours": ours, **{name: once for name, (once, _) in others.items()}}, self.rounds)
            for name, (_, bar) in others.items():
                self.report.add(Row(work, name, times["ours"], times[name], unit, bar))

    def imports(self) -> None:
        """What an import costs, in fresh interpreters, and what it brings in."""
        used = (
            "from discreet import dp; dp.Laplace, dp.Gaussian, dp.PrivacyFilter, dp.compose"  # names load at first use
        )
        statements = ("import numpy", "import discreet", "from discreet import dp", used)
        with TemporaryDirectory() as folder:
            timers = {s: partial(import_seconds, s, folder) for s in statements}
            times = interleaved(timers, 5 if self.quick else 15)
        for statement in statements[1:]:
            numpy = times["import numpy"]
            self.report.add(Row(statement, "import numpy", times[statement], numpy, "call", IMPORT, "at most"))
            heavy = sorted(HEAVY & set(fresh(f"{statement}; import sys; print(*sys.modules)").split()))
            verdict = "MISS" if heavy else "pass"
            self.report.fact(f"heavy modules after {statement}", " ".join(heavy) or "none", "", "none", verdict)

    def vectors(self) -> None:
        """A million integers."""
        random, zeros = np.random.default_rng(), np.zeros(MILLION, dtype=np.int64)
        for law, (bar, numpy_bar) in VECTOR.items():
            draw = random.laplace if law == LAPLACE else random.normal
            for scale in SCALES:
                insecure = timer(partial(draw, 0.0, scale, MILLION), units=MILLION, calls=3)
                others: Others = {f"NumPy {draw.__name__} (insecure)": (insecure, numpy_bar)}
                if self.peer:
                    asked = asked_of_peer(law, "int", scale, PEER_INTEGERS)
                    others["OpenDP ints"] = self.peer.timer("release", units=PEER_INTEGERS, calls=1, **asked), bar
                ours = timer(partial(mechanism(law, scale).release, zeros), units=MILLION, calls=3)
                self.compare(f"1e6 integers, {law}, scale {scale:g}", ours, others, "value")

    def linear(self) -> None:
        """How long OpenDP takes for a value among a million, relative to one in the vector that it is timed with."""
        for law in (LAPLACE, DISCRETE) if self.peer and not self.quick else ():
            few, many = (asked_of_peer(law, "int", 10, count) for count in (PEER_INTEGERS, MILLION))
            small = min(float(self.peer.ask("release", calls=1, **few)) for _ in range(3)) / PEER_INTEGERS
            if small * MILLION < 15:  # seconds
                large = float(self.peer.ask("release", calls=1, **many)) / MILLION
                self.report.fact(f"OpenDP ints, {law}: a value in 1e6 / in 2e4", "", f"{large / small:.2f}x", "1x", "")

    def reals(self) -> None:
        """A million real numbers."""
        values = np.arange(MILLION) % 1000 + 0.1
        for law in (LAPLACE, ROUNDED) if self.peer else ():
            asked = asked_of_peer(law, "float", 10, PEER_REALS)
            theirs = self.peer.timer("release", units=PEER_REALS, calls=1, **asked)
            ours = timer(partial(mechanism(law, 10).release, values), units=MILLION)
            name = f"1e6 reals on the grid, {law.split()[1]}, scale 10"
            self.compare(name, ours, {"OpenDP floats": (theirs, REALS)}, "value")

    def small(self) -> None:
        """One release of a thousand values, and of one, by a mechanism that is ready."""
        for kind, laws in (("int", tuple(VECTOR)), ("float", (LAPLACE, ROUNDED))) if self.peer else ():
            one: int | float = 0 if kind == "int" else 0.1
            thousand = np.zeros(1000, dtype=np.int64) if kind == "int" else np.arange(1000) + 0.1
            for law in laws:
                release = mechanism(law, 10).release
                for count, given, calls, bar in ((1000, thousand, 10, THOUSAND), (0, one, 3000, SINGLE)):
                    asked = asked_of_peer(law, kind, 10, count)
                    theirs = self.peer.timer("release", units=calls, calls=calls, **asked)
                    ours = timer(partial(release, given), calls=max(calls, 200))
                    name = f"one release of {count or 1:,} {kind}{'s' if count else ''}, {law}, scale 10"
                    self.compare(name, ours, {f"OpenDP {kind}s": (theirs, bar)}, "call")

    def filters(self) -> None:
        """One admission, and one refusal, after many others."""
        many = MILLION // 20 if self.quick else MILLION
        pure, renyi = dp.Budget(epsilon=many), dp.Budget(epsilon=10, delta=1e-9)
        cheap = [dp.Loss.pure(epsilon=Fraction(k, 10_000)) for k in range(1, 201)]
        priced = [renyi.price(epsilon=Fraction(k, 10**8)) for k in range(1, 201)]
        self.aged("epsilon", pure, cheap, dp.Loss.pure(epsilon=2 * many), many)
        self.aged("(epsilon, delta)", renyi, priced, dp.Loss.zcdp(rho=1000), many)

    def aged(self, name: str, budget: dp.Budget, losses: Sequence[dp.Loss], large: dp.Loss, many: int) -> None:
        """Time a filter on this budget after many admissions."""
        old = dp.PrivacyFilter(budget)
        admitted = sum(old.admit(losses[i % len(losses)]) for i in range(many))
        if admitted < many or old.admit(large):
            raise RuntimeError(f"the filter admitted {admitted:,} of {many:,}, and must refuse what is too large.")
        for verb, asked in (("admit", losses), ("refuse", [large])):
            after = partial(admissions, lambda: old, asked)
            first = partial(admissions, lambda: dp.PrivacyFilter(budget), asked)
            times = interleaved({"after": after, "first": first}, 3 * self.rounds)
            work = f"one {verb} after {many:,} others, {name}"
            self.report.add(Row(work, f"the first {verb}", times["after"], times["first"], "call", AGED, "at most"))
        if self.peer and budget.is_pure:
            age, bar = (PEER_ADMISSIONS // 5, None) if self.quick else (PEER_ADMISSIONS, FILTER)
            theirs = self.peer.timer("admit", units=5, others=age, calls=5)
            ours = partial(admissions, lambda: old, losses)
            others: Others = {f"OpenDP filter after {age:,}": (theirs, bar)}
            self.compare(f"one admit after {many:,} others, {name}", ours, others, "call")

    def leaks(self) -> None:
        """How much the time of a scalar release tells of the noise in it."""
        count = 2000 if self.quick else 6000
        for law in VECTOR:
            for scale in (10, 10_000):
                ours = correlation(*draws(mechanism(law, scale), count))
                asked = asked_of_peer(law, "int", scale, count)
                theirs = f"{correlation(*self.peer.ask('draws', **asked)):.3f}" if self.peer else ""
                what = f"correlation of time and |noise|, {law}, scale {scale:g}, {count:,} draws"
                verdict = "pass" if abs(ours) < LEAK else "MISS"
                self.report.fact(what, f"{ours:.3f}", theirs, f"< {LEAK}", verdict)

    def keystream(self) -> None:
        """Random bytes."""
        for size in (1 << 12, 1 << 16, 1 << 20):
            calls = max(1, (1 << 22) // size)
            ours = timer(lambda size=size: randomness.system().words(size // 8, 64), units=size, calls=calls)
            system = timer(partial(os.urandom, size), units=size, calls=calls)
            self.compare(f"keystream, {size >> 10} KiB a call", ours, {"os.urandom": (system, None)}, "byte")


def admissions(which: Callable[[], dp.PrivacyFilter], losses: Sequence[dp.Loss]) -> float:
    """Return the seconds of one admission or refusal by the filters that `which` returns, four hundred times."""
    asked = [(which().admit, losses[i % len(losses)]) for i in range(400)]
    before = time.perf_counter()
    for admit, loss in asked:
        admit(loss)
    return (time.perf_counter() - before) / len(asked)


def draws(ours: dp.Laplace | dp.DiscreteGaussian | dp.Gaussian, count: int) -> tuple[list[int], list[int]]:
    """Return nanoseconds and noise of releases of one count, one by one, after some that bring the tables in.

    The count is large, because Python keeps one object for each small integer: there the output tells on itself.
    """
    times, noise = [], []
    for _ in range(200):
        ours.release(MILLION)
    for _ in range(count):
        before = time.perf_counter_ns()
        released = ours.release(MILLION)
        times.append(time.perf_counter_ns() - before)
        noise.append(released - MILLION)
    return times, noise


def correlation(times: Sequence[int], noise: Sequence[int]) -> float:
    """Return that of time and magnitude; the slowest hundredth counts as its fastest, lest interruptions drown it."""
    clipped = np.minimum(times, np.quantile(times, 0.99))
    return float(np.corrcoef(clipped, np.abs(noise))[0, 1])


def fresh(program: str, **settings: str) -> str:
    """Return what a program prints in a new interpreter, with these variables in its environment."""
    run = [sys.executable, "-P", "-c", program]
    return subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}).stdout


def import_seconds(statement: str, folder: str) -> float:
    """Return the seconds of an import in a new interpreter, its start not included, by byte code kept in a folder."""
    clock = "__import__('time').perf_counter()"
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
    return float(fresh(f"before = {clock}\n{statement}\nprint({clock} - before)", **kept))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has OpenDP")
    chosen = options.parse_args()
    script = Path(__file__).parent / "peers" / "opendp_noise.py"
    with Peer(chosen.peer_python, script) if chosen.peer_python else nullcontext() as peer:
        found = versions("numpy", "cryptography", "python-flint")
        found["peer"] = peer.ask("versions") if peer else "none: give --peer-python to compare with OpenDP"
        report = Report("noise", found)
        run = Noise(report, peer, quick=chosen.quick)
        for part in (run.imports, run.small, run.vectors, run.linear, run.reals, run.filters, run.leaks, run.keystream):
            part()
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
