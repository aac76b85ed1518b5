"""The PipelineDP side of the group-by figures, for its own environment: a request per line in, an answer out.

On its local backend, which takes rows as Python objects: they are made before the clock starts.
"""

import sys
import time
from pathlib import Path

import pipeline_dp
import pyarrow.parquet as pq

tables = {}


def load(file, key):
    """Seconds of making the rows."""
    before = time.perf_counter()
    read = pq.read_table(file, columns=["user_id", key, "value"])
    tables[key] = list(zip(*(column.to_pylist() for column in read.columns), strict=True))
    return {"seconds": time.perf_counter() - before}


def release(key, groups, rows_per_unit, low, high, epsilon):
    """Seconds of one question, and how many rows it counted."""
    before = time.perf_counter()
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=1e-9)
    metrics = pipeline_dp.Metrics
    asked = pipeline_dp.AggregateParams(
        metrics=[metrics.COUNT, metrics.SUM, metrics.MEAN],
        max_contributions=rows_per_unit,
        min_value=low,
        max_value=high,
    )
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    lazily = engine.aggregate(tables[key], asked, columns, public_partitions=list(range(groups)))
    budget.compute_budgets()
    found = list(lazily)
    return {"seconds": time.perf_counter() - before, "rows": float(sum(group[1].count for group in found))}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(load, release, packages=("pipeline-dp", "python-dp"))
