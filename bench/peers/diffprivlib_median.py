"""The diffprivlib side of the median figures, for its own environment: a request per line in, an answer out."""

import importlib.metadata
import json
import platform
import sys
import time
from functools import lru_cache

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


def versions():
    """What runs here."""
    names = ("diffprivlib", "numpy", "scikit-learn")
    return {"python": platform.python_version(), **{n: importlib.metadata.version(n) for n in names}}


def main():
    tasks = {task.__name__: task for task in (median, versions)}
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps(tasks[request.pop("task")](**request)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
