"""The OpenDP side of the sparse vector figures, for its own environment: a request per line in, an answer out.

OpenDP has no sparse vector in Python, so this is the textbook loop on its vector noise, as its users would write it:
noise for a block of values at once, and a new threshold from a vector of one after each hit.
"""

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")

BLOCK = 1 << 14


@lru_cache
def noise(scale):
    """Integer Laplace noise of this scale on a vector."""
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), float(scale))


@lru_cache(maxsize=1)
def stream(file):
    """The values of a stream, read once."""
    return np.load(file)


def watch(file, threshold, cutoff, threshold_scale, query_scale):
    """Seconds of one pass, and the places of the hits."""
    values, one, many = stream(file), noise(threshold_scale), noise(query_scale)
    before = time.perf_counter()
    hits, start = [], 0
    noisy = threshold + one([0])[0]
    while start < values.size and len(hits) < cutoff:
        block = values[start : start + BLOCK]
        compared = block + np.array(many(np.zeros(block.size, dtype=np.int32)))
        place = 0
        while (above := np.flatnonzero(compared[place:] >= noisy)).size:
            place += int(above[0])
            hits.append(start + place)
            place += 1
            if len(hits) == cutoff:
                break
            noisy = threshold + one([0])[0]
        start += BLOCK
    return [time.perf_counter() - before, hits]


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(watch, packages=("opendp", "numpy"))
