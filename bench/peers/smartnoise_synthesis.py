"""Synthesis by SmartNoise Synth's MST, for an environment of its own: a request per line in, an answer out, both JSON.

It fits with mbi 1.1, whose rows depend on each other where the model's columns do not: so both are handed back, the
rows and the marginals of the model. It takes the exact number of rows for public.
"""

import sys
import time
from functools import reduce
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from snsynth.mst import MSTSynthesizer


class Seen(MSTSynthesizer):
    """MST that remembers which values it measured one by one; the others share one cell of its model evenly."""

    def reverse_data(self, data, supports):
        self.supports = list(supports.values())
        return super().reverse_data(data, supports)


def spreading(synthesizer, frame, sizes):
    """For each column, the matrix that leads from cells of the model to values as we number them."""
    codes = np.array([list(row) for row in synthesizer._transformer.transform(frame)])
    matrices = []
    for place, column in enumerate(frame.columns):
        support = synthesizer.supports[place]
        matrix = np.zeros((sizes[column], int(support.sum()) + (not support.all())))
        numbers = np.cumsum(support) - 1
        for value, code in set(zip(frame[column], codes[:, place], strict=True)):
            if support[code]:
                matrix[value, numbers[code]] = 1
            else:
                matrix[value, -1] = 1 / np.sum(~support)
        matrices.append(matrix)
    return matrices


def fit(mechanism, rows, sizes, order, epsilon, delta, seed, out, **_):
    """Seconds of a fit and of as many rows; the rows and the marginals of the model go to a file."""
    assert mechanism == "MST"
    table = np.load(rows)
    np.random.seed(seed)
    before = time.perf_counter()
    frame = pd.DataFrame(table, columns=list(sizes))
    synthesizer = Seen(epsilon=epsilon, delta=delta)
    synthesizer.fit(frame, categorical_columns=list(sizes), preprocessor_eps=0.0)
    drawn = np.asarray(synthesizer.sample(len(table))).astype(np.int64)
    seconds = time.perf_counter() - before
    matrices = spreading(synthesizer, frame, sizes)
    cells = synthesizer.synthesizer.project([f"col{axis}" for axis in range(len(sizes))]).datavector(flatten=False)
    whole = reduce(lambda held, matrix: np.tensordot(held, matrix, (0, 1)), matrices, np.asarray(cells))
    marginals = {
        ",".join(map(str, axes)): whole.sum(axis=tuple(axis for axis in range(whole.ndim) if axis not in axes))
        for axes in combinations(range(whole.ndim), order)
    }
    np.savez(out, rows=drawn, **marginals)
    return {"seconds": seconds}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(fit, packages=("smartnoise-synth", "mbi", "jax"))
