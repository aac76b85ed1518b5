"""The OpenDP side of the group-by figures, for its own environment: a request per line in, an answer out.

Rows of a unit above the bound are left out at random; keys are given; the mean is the sum over the count, as for ours.
"""

import sys
import time
from pathlib import Path

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def query(file, key, groups, rows_per_unit, low, high, epsilon):
    """Return the private query, not planned yet."""
    context = dp.Context.compositor(
        data=pl.scan_parquet(file).select("user_id", key, "value"),
        privacy_unit=dp.unit_of(contributions=1, identifier="user_id"),
        privacy_loss=dp.loss_of(epsilon=float(epsilon)),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=20_000_000)],  # a public limit, which sums of floats need
    )
    value = pl.col("value").fill_nan(0.0).fill_null(0.0)
    return (
        context.query()
        .truncate_per_group(rows_per_unit)
        .group_by(key)
        .agg(dp.len(), value.dp.sum((float(low), float(high))))
        .with_keys(pl.LazyFrame({key: pl.Series(range(groups), dtype=pl.Int32)}))
    )


def plan(**job):
    """Seconds from the query to the release that could be run: what planning costs."""
    asked = query(**job)
    before = time.perf_counter()
    asked.release()
    return time.perf_counter() - before


def release(**job):
    """Seconds of the whole question, and how many rows it counted."""
    before = time.perf_counter()
    found = query(**job).release().collect()
    found = found.with_columns(mean=pl.col("value") / pl.col("len"))
    return {"seconds": time.perf_counter() - before, "rows": float(found["len"].sum())}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(plan, release, packages=("opendp", "polars"))
