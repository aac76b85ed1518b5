"""Selection: choosing one of a million candidates, or ten, against OpenDP in its own environment.

Everything is timed in one run, in turns. Ours is always the public call; both read the same scores from NumPy arrays.
OpenDP has two noises: Gumbel, which is the law of our noisy max and exponential mechanism, and exponential, which is
the law of permute-and-flip. All are epsilon-DP here, for scores that move by at most 1.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import Peer, Report, Row, Timer, interleaved, parser, timer, versions

from discreet import dp

MILLION = 1_000_000
LISTED = 100_000  # candidates in a Python list
EPSILON, TEN = 1, 10
ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
GUMBEL, EXPONENTIAL = "Gumbel", "exponential"

NOISY_MAX = 50  # the bar: so many times as fast

Selection = dp.NoisyMax | dp.NoisyTopK | dp.Exponential | dp.PermuteAndFlip

# Ours, the noises of OpenDP's that it is held against, and the bar.
MECHANISMS: dict[str, tuple[Selection, tuple[str, ...], int | None]] = {
    "noisy max": (dp.NoisyMax(sensitivity=ONE, epsilon=EPSILON), (GUMBEL, EXPONENTIAL), NOISY_MAX),
    "exponential mechanism": (dp.Exponential(sensitivity=ONE, epsilon=EPSILON), (GUMBEL,), None),
    "permute-and-flip": (dp.PermuteAndFlip(sensitivity=ONE, epsilon=EPSILON), (EXPONENTIAL,), None),
    "noisy top 10": (dp.NoisyTopK(sensitivity=ONE, epsilon=EPSILON, k=TEN), (GUMBEL,), None),
}


def shapes() -> dict[str, np.ndarray]:
    """Return scores of several shapes: many near the best, few near it, in between."""
    source = np.random.default_rng(7)
    return {
        "reals within 3": source.uniform(0, 3, MILLION),
        "normal reals, 100 wide": source.normal(0, 100, MILLION),
        "integers below 4": source.integers(0, 4, MILLION),
        "integers below 1000": source.integers(0, 1000, MILLION),
    }


def kind(scores: np.ndarray) -> str:
    return "int" if scores.dtype.kind == "i" else "float"


class Choices:
    """One run of all figures."""

    def __init__(self, report: Report, peer: Peer, folder: Path, *, quick: bool) -> None:
        self.report, self.peer, self.folder, self.quick = report, peer, folder, quick
        self.rounds = 3 if quick else 5  # OpenDP takes up to half a minute for some

    def theirs(self, noise: str, file: Path, scores: np.ndarray, **more: object) -> Timer:
        """Return a timer of OpenDP's selection from the scores in a file."""
        asked = {"noise": noise, "kind": kind(scores), "k": 1, "epsilon": EPSILON, "file": str(file), **more}
        return self.peer.timer("select", units=1, calls=1, **asked)

    def compare(self, work: str, ours: Timer, theirs: dict[str, Timer], bar: int | None) -> None:
        """Time ours and theirs in turns, and keep a row for each of theirs."""
        times = interleaved({"ours": ours, **theirs}, self.rounds)
        for name in theirs:
            self.report.add(Row(work, name, times["ours"], times[name], "call", bar))

    def million(self) -> None:
        """A million candidates in an array."""
        for shape, scores in shapes().items():
            file = self.folder / (shape.replace(" ", "-") + ".npy")
            np.save(file, scores)
            for name, (mechanism, noises, bar) in MECHANISMS.items():
                k = TEN if isinstance(mechanism, dp.NoisyTopK) else 1
                theirs = {f"OpenDP {noise}": self.theirs(noise, file, scores, k=k) for noise in noises}
                ours = timer(partial(mechanism.release, scores), calls=3)
                self.compare(f"{name} of 1e6, {shape}", ours, theirs, bar)

    def listed(self) -> None:
        """Fewer, in a list: what it costs to read Python's own numbers."""
        for shape, scores in shapes().items():
            if shape in ("reals within 3", "integers below 1000"):
                file = self.folder / f"listed-{kind(scores)}.npy"
                np.save(file, scores[:LISTED])
                ours = timer(partial(MECHANISMS["noisy max"][0].release, scores[:LISTED].tolist()))
                theirs = {"OpenDP Gumbel, a list": self.theirs(GUMBEL, file, scores, as_list=True)}
                self.compare(f"noisy max of {LISTED:,} in a list, {shape}", ours, theirs, None)

    def prices(self) -> None:
        """What one choice costs, so that the same is compared."""
        for name, (mechanism, noises, _) in MECHANISMS.items():
            k = TEN if isinstance(mechanism, dp.NoisyTopK) else 1
            for noise in noises:
                loss = mechanism.loss
                ours = float(loss.rho_bound()) if noise == GUMBEL else loss.epsilon(delta=0)
                theirs = float(self.peer.ask("price", noise=noise, kind="float", k=k, epsilon=EPSILON))
                verdict = "pass" if ours <= theirs * (1 + 1e-12) else "MISS"
                currency = "rho" if noise == GUMBEL else "epsilon"
                what = f"{currency} of one {name}, OpenDP {noise}"
                self.report.fact(what, f"{ours:g}", f"{theirs:g}", "no more", verdict)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has OpenDP", required=True)
    chosen = options.parse_args()
    script = Path(__file__).parent / "peers" / "opendp_selection.py"
    with Peer(chosen.peer_python, script) as peer, TemporaryDirectory() as folder:
        report = Report("selection", {**versions("numpy", "python-flint"), "peer": peer.ask("versions")})
        run = Choices(report, peer, Path(folder), quick=chosen.quick)
        for part in (run.prices, run.million, run.listed):
            part()
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
