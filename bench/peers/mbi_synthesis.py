"""Synthesis on mbi 2.0, for an environment of its own: a request per line in, an answer out, both JSON.

mbi 2.0 fits graphical models and ships no mechanism, so two are written here from their papers: MST (McKenna, Miklau,
Sheldon, "Winning the NIST contest: a scalable and general approach to differentially private synthetic data", 2021),
without its merging of rare values, and MWEM+PGM (McKenna, Sheldon, Miklau, "Graphical-model based estimation and
inference for differential privacy", 2019) with marginals as candidates, a score that takes the expected noise off, and
a cap on the size of the model, as AIM (McKenna, Mullins, Sheldon, Miklau, 2022) has them. Both are rho-zCDP for one
row added or removed.
"""

import math
import sys
import time
from itertools import combinations
from pathlib import Path

import jax
import mbi
import numpy as np
from mbi import estimation, junction_tree

jax.config.update("jax_enable_x64", True)

ROUNDS = 16
STEPS = 1000  # of mirror descent for each fit; four times as many for the last one
MEASURED = 0.9  # of a round's rho; the rest of it selects
MEGABYTES = 80.0
DENSE = 10**7  # cells up to which a model is written out, so that marginals of it are sums and need no elimination each


class Fitting:
    """A table, what was measured of it, and the model that was last fitted to that."""

    def __init__(self, rows, sizes, seed):
        self.rows, self.sizes = rows, sizes
        self.domain = mbi.Domain(list(sizes), list(sizes.values()))
        self.source = np.random.default_rng(seed)
        self.measured, self.model, self.whole = [], None, None

    def places(self, clique):
        return [list(self.sizes).index(column) for column in clique]

    def exact(self, clique):
        places = self.places(clique)
        cells = np.ravel_multi_index(tuple(self.rows[:, places].T), [self.sizes[column] for column in clique])
        return np.bincount(cells, minlength=self.domain.size(clique)).astype(float)

    def measure(self, clique, rho):
        """Measure a marginal with normal noise."""
        sigma = math.sqrt(1 / (2 * rho))
        noisy = self.exact(clique) + self.source.normal(0, sigma, self.domain.size(clique))
        self.measured.append(mbi.LinearMeasurement(noisy, clique, stddev=sigma))

    def fit(self, steps=STEPS):
        solver = estimation.MirrorDescent()
        self.model = solver.estimate(self.domain, self.measured, iters=steps, warm_start=self.model)
        if self.domain.size() <= DENSE:
            self.whole = np.asarray(self.model.project(list(self.sizes)).datavector(flatten=False))

    def fitted(self, clique):
        """The marginal of the model over columns in order."""
        if self.whole is None:
            return np.asarray(self.model.project(clique).datavector(flatten=False))
        kept = self.places(clique)
        return self.whole.sum(axis=tuple(axis for axis in range(self.whole.ndim) if axis not in kept))

    def missed(self, clique):
        """How far the model is off on a marginal; a row moves it by at most 1."""
        return float(np.abs(self.exact(clique) - self.fitted(clique).reshape(-1)).sum())

    def choose(self, scores, rho):
        """The exponential mechanism, of scores that move by at most 1: rho = epsilon^2 / 8."""
        scores = np.array(scores)
        weights = np.exp(math.sqrt(8 * rho) / 2 * (scores - scores.max()))
        return int(self.source.choice(len(scores), p=weights / weights.sum()))


def mst(fitting, rho, order):
    """Single columns, a tree of pairs, the pairs: a third of rho each."""
    columns = list(fitting.sizes)
    for column in columns:
        fitting.measure((column,), rho / 3 / len(columns))
    fitting.fit()
    missed = {pair: fitting.missed(pair) for pair in combinations(columns, 2)}
    part, tree = {column: column for column in columns}, []
    for _ in columns[1:]:
        open_pairs = [(a, b) for a, b in missed if part[a] != part[b]]
        chosen = open_pairs[fitting.choose([missed[pair] for pair in open_pairs], rho / 3 / (len(columns) - 1))]
        joined = {part[column] for column in chosen}
        part = {column: min(joined) if own in joined else own for column, own in part.items()}
        tree.append(chosen)
    for pair in tree:
        fitting.measure(pair, rho / 3 / len(tree))
    fitting.fit(4 * STEPS)


def mwem(fitting, rho, order):
    """A tenth of rho on single columns; then in each round the worst marginal of at most `order` columns."""
    columns = list(fitting.sizes)
    for column in columns:
        fitting.measure((column,), 0.1 * rho / len(columns))
    fitting.fit()
    each = 0.9 * rho / ROUNDS
    noise = math.sqrt(2 / math.pi) * math.sqrt(1 / (2 * MEASURED * each))  # expected, of one cell
    candidates = [clique for k in range(1, order + 1) for clique in combinations(columns, k)]
    for number in range(1, ROUNDS + 1):
        held = [measurement.clique for measurement in fitting.measured]
        limit = MEGABYTES * number / ROUNDS
        small = [c for c in candidates if junction_tree.hypothetical_model_size(fitting.domain, [*held, c]) <= limit]
        scores = [fitting.missed(clique) - noise * fitting.domain.size(clique) for clique in small]
        fitting.measure(small[fitting.choose(scores, (1 - MEASURED) * each)], MEASURED * each)
        fitting.fit(4 * STEPS if number == ROUNDS else STEPS)


def fit(mechanism, rows, sizes, order, rho, seed, out, model=True, **_):
    """Seconds of a fit and of as many rows; the rows and, if wanted, the marginals of the model go to a file."""
    table = np.load(rows)
    before = time.perf_counter()
    fitting = Fitting(table, sizes, seed)
    {"MST": mst, "MWEM+PGM": mwem}[mechanism](fitting, rho, order)
    np.random.seed(seed)
    drawn = fitting.model.synthetic_data(rows=len(table)).to_dict()
    seconds = time.perf_counter() - before
    columns = list(sizes)
    marginals = {
        ",".join(map(str, places)): fitting.fitted([columns[place] for place in places])
        for places in combinations(range(len(columns)), order)
        if model
    }
    np.savez(out, rows=np.stack([np.asarray(drawn[column]) for column in sizes], axis=1), **marginals)
    return {"seconds": seconds}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(fit, packages=("mbi", "jax"))
