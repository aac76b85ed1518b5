"""The OpenDP side of the selection figures, for OpenDP's own environment: a request per line in, an answer out.

Lines are JSON. A request has a `task`, which is a function below, and its arguments. Mechanisms are made once and kept,
and scores are given as NumPy arrays, which OpenDP reads a little faster than lists. Its noise is exponential where it
is to be pure and Gumbel where it is to be concentrated; both are epsilon-DP at scale 2 / epsilon.
"""

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")


@lru_cache
def mechanism(noise, kind, k, epsilon):
    """A ready-made selection of the best k, by scores of which each moves by at most 1."""
    number = {"int": int, "float": float}[kind]
    scores = dp.vector_domain(dp.atom_domain(T=int) if kind == "int" else dp.atom_domain(T=float, nan=False))
    space = scores, dp.linf_distance(T=number)
    measure = {"exponential": dp.max_divergence, "Gumbel": dp.zero_concentrated_divergence}[noise]()
    if k == 1:
        return dp.m.make_noisy_max(*space, measure, scale=2 / epsilon)
    return dp.m.make_noisy_top_k(*space, measure, k=k, scale=2 * k / epsilon)


@lru_cache(maxsize=1)
def scores(file, as_list):
    """The scores in a file; its integers are read by OpenDP in 32 bits only."""
    array = np.load(file)
    array = array.astype(np.int32) if array.dtype.kind == "i" else array
    return array.tolist() if as_list else array


def select(noise, kind, k, epsilon, file, calls, as_list=False):
    """Seconds of so many selections; the first round, which warms up, is not counted by who asks."""
    measurement, given = mechanism(noise, kind, k, epsilon), scores(file, as_list)
    before = time.perf_counter()
    for _ in range(calls):
        measurement(given)
    return time.perf_counter() - before


def price(noise, kind, k, epsilon):
    """What one selection costs, in the measure of its noise: epsilon, or rho."""
    return mechanism(noise, kind, k, epsilon).map({"int": int, "float": float}[kind](1))


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(select, price, packages=("opendp", "numpy"))
