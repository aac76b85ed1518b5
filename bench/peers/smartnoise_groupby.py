"""The SmartNoise SQL side of the group-by figures, for its own environment: a request per line in, an answer out.

Its reader of data frames copies the frame into SQLite, once; rows of a unit above the bound are left out at random.
"""

import sys
import time
from pathlib import Path

import pandas as pd
import snsql

readers = {}


def load(file, key, rows_per_unit, low, high, epsilon, delta):
    """Seconds of opening the table."""
    before = time.perf_counter()
    rows = pd.read_parquet(file, columns=["user_id", key, "value"])
    table = {
        "rows": len(rows),
        "row_privacy": False,
        "max_ids": rows_per_unit,
        "sample_max_ids": True,
        "censor_dims": False,  # keys are public
        "clamp_counts": False,
        "user_id": {"type": "int", "private_id": True},
        key: {"type": "int"},
        "value": {"type": "float", "lower": low, "upper": high},
    }
    privacy = snsql.Privacy(epsilon=epsilon, delta=delta)
    readers[key] = snsql.from_df(rows, privacy=privacy, metadata={"": {"bench": {"activity": table}}})
    return {"seconds": time.perf_counter() - before}


def release(key):
    """Seconds of one question, and how many rows it counted."""
    asked = f"SELECT {key}, COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM bench.activity GROUP BY {key}"
    before = time.perf_counter()
    found = readers[key].execute(asked)
    return {"seconds": time.perf_counter() - before, "rows": float(sum(row[1] for row in found[1:]))}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(load, release, packages=("smartnoise-sql", "opendp", "pandas"))
