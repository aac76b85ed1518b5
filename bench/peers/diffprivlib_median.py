"""The diffprivlib side of the median figures, for its own environment: a request per line in, an answer out."""

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
from diffprivlib import tools


@lru_cache(maxsize=1)
def rows(file):
    """The rows in a file, read once."""
    return np.load(file)


def median(file, lower, upper, epsilon, calls):
    """Seconds of so many medians, and the medians."""
    data = rows(file)
    before = time.perf_counter()
    found = [float(tools.median(data, epsilon=epsilon, bounds=(lower, upper))) for _ in range(calls)]
    return [time.perf_counter() - before, found]


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(median, packages=("diffprivlib", "numpy", "scikit-learn"))
