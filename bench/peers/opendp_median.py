"""The OpenDP side of the median figures, for its own environment: a request per line in, an answer out.

Its median is the best of a list of candidates, which whoever asks has to make up: here they are spread evenly over the
range. Exponential noise on the scores is permute-and-flip, OpenDP's best for a pure epsilon.
"""

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")


def measurement(candidates, scale):
    """The private median as OpenDP makes it, for rows added or removed."""
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    return space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, alpha=0.5, scale=scale)


@lru_cache
def mechanism(lower, upper, candidates, epsilon):
    """The private median with the least noise that keeps to epsilon, whatever the candidates."""
    scale = dp.binary_search_param(
        lambda s: measurement([0.0, 1.0], s), d_in=1, d_out=float(epsilon), bounds=(0.0, 1e9)
    )
    return measurement(np.linspace(lower, upper, candidates + 2)[1:-1].tolist(), scale)


@lru_cache(maxsize=1)
def rows(file):
    """The rows in a file, read once."""
    return np.load(file)


def median(file, lower, upper, candidates, epsilon, calls):
    """Seconds of so many medians, and the medians."""
    asked, data = mechanism(lower, upper, candidates, epsilon), rows(file)
    before = time.perf_counter()
    found = [asked(data) for _ in range(calls)]
    return [time.perf_counter() - before, found]


def price(lower, upper, candidates, epsilon):
    """What one median costs, in epsilon."""
    return mechanism(lower, upper, candidates, epsilon).map(1)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(median, price, packages=("opendp", "numpy"))
