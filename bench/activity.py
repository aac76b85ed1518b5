"""The table of the engine's figures: rows of units whose activity is log-normal, in groups of uneven size.

It is drawn once, from a seed, and kept in a folder of the system for temporary files, or in BENCH_DATA.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 6
ROWS, UNITS = 10_000_000, 1_000_000
GROUPS = {"k100": 100, "k1000": 1_000, "k100k": 100_000}
TEXT = "t1000"  # the values of k1000 as texts, for keys that are private
LOW, HIGH = 0, 30  # values are declared to lie here; one in sixty does not


def folder() -> Path:
    """Return where tables are kept."""
    found = Path(os.environ.get("BENCH_DATA") or Path(tempfile.gettempdir()) / "discreet-bench")
    found.mkdir(parents=True, exist_ok=True)
    return found


def path(rows: int = ROWS) -> Path:
    """Return a Parquet file of so many rows, ten for each unit on average."""
    file = folder() / f"activity-{rows}-{SEED}.parquet"
    if not file.exists():
        part = file.with_suffix(f".{os.getpid()}")
        pq.write_table(drawn(rows, rows * UNITS // ROWS), part, row_group_size=1 << 20, compression="zstd")
        part.replace(file)
    return file


def drawn(rows: int, units: int) -> pa.Table:
    """Return the rows, in no order."""
    source = np.random.default_rng(SEED)
    columns: dict[str, pa.Array] = {"user_id": pa.array(_chosen(source, rows, source.lognormal(0, 1, units)))}
    for name, groups in GROUPS.items():
        columns[name] = pa.array(_chosen(source, rows, 1 / np.sqrt(10 + np.arange(groups))).astype(np.int32))
    texts = pa.array([f"group {number:03}" for number in range(GROUPS["k1000"])])
    columns[TEXT] = pa.DictionaryArray.from_arrays(columns["k1000"], texts).cast(pa.string())
    columns["value"] = pa.array(source.gamma(2.0, 5.0, rows))
    return pa.table(columns)


def _chosen(source: np.random.Generator, rows: int, weights: np.ndarray) -> np.ndarray:
    """Return places, each as often as its weight says."""
    upper = np.cumsum(weights)
    found = np.searchsorted(upper, source.random(rows) * upper[-1], side="right")
    return np.minimum(found, len(weights) - 1).astype(np.int64)


if __name__ == "__main__":
    for count in (ROWS // 10, ROWS):
        print(path(count))
