"""The Tumult Analytics side of the group-by figures, for its own environment: a request per line in, an answer out.

Each aggregate is a question of its own there: the count and the sum are asked, and the mean is the one over the other.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

sessions = {}


def load(file, key, workers, memory):
    """Seconds of starting Spark and opening the table."""
    before = time.perf_counter()
    spark = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.driver.memory", memory)
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.parquet(file).select("user_id", key, "value")
    protected = AddRowsWithID(id_column="user_id")
    sessions[key] = Session.from_dataframe(PureDPBudget(1e6), "activity", rows, protected_change=protected)
    return {"seconds": time.perf_counter() - before}


def release(key, groups, rows_per_unit, low, high, epsilon):
    """Seconds of one question, and how many rows it counted."""
    before = time.perf_counter()
    keys = KeySet.from_dict({key: list(range(groups))})
    grouped = QueryBuilder("activity").enforce(MaxRowsPerID(rows_per_unit)).groupby(keys)
    session, each = sessions[key], PureDPBudget(epsilon / 2)
    counts = session.evaluate(grouped.count("n"), each).toPandas()
    totals = session.evaluate(grouped.sum("value", low, high, "total"), each).toPandas()
    found = counts.merge(totals, on=key).eval("mean = total / n")
    return {"seconds": time.perf_counter() - before, "rows": float(found["n"].sum())}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(load, release, packages=("tmlt.analytics", "tmlt.core", "pyspark"))
