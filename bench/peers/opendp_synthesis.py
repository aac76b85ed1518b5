"""Synthesis by OpenDP's AIM and MST, for an environment of its own: a request per line in, an answer out, both JSON.

OpenDP 0.16 fits with mbi 1.1, whose rows depend on each other where the model's columns do not: so both are handed
back, the rows and the marginals of the model. Each column gets one value more, for what is not declared; it is left out
of both.
"""

import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def fit(mechanism, rows, sizes, order, rho, out, model=True, **_):
    """Seconds of a fit and of as many rows; the rows and, if wanted, the marginals of the model go to a file."""
    table = np.load(rows)
    before = time.perf_counter()
    context = dp.Context.compositor(
        data=pl.DataFrame({column: table[:, place] for place, column in enumerate(sizes)}).lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    algorithm = {"AIM": lambda: dp.mbi.AIM(queries=order), "MST": dp.mbi.MST}[mechanism]()
    keys = {column: list(range(size)) for column, size in sizes.items()}
    fitted = context.query(rho=rho).select(*sizes).contingency_table(keys=keys, algorithm=algorithm).release()
    frame = fitted.synthesize(rows=len(table))
    seconds = time.perf_counter() - before
    marginals = {}
    if model:
        kept = []
        for column, size in sizes.items():
            values = fitted.keys[column].to_list()
            kept.append([values.index(value) for value in range(size)])
        whole = np.asarray(fitted.project(list(sizes)))[np.ix_(*kept)]
        marginals = {
            ",".join(map(str, axes)): whole.sum(axis=tuple(axis for axis in range(whole.ndim) if axis not in axes))
            for axes in combinations(range(whole.ndim), order)
        }
    np.savez(out, rows=frame.select(*sizes).drop_nulls().to_numpy().astype(np.int64), **marginals)
    return {"seconds": seconds}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(fit, packages=("opendp", "mbi", "jax"))
