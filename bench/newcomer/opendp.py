import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_csv("visits.csv"), privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-7), split_evenly_over=1,
    privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
    margins=[dp.polars.Margin(by=["city"], max_length=1_000_000, max_groups=100)])
total = pl.col("spend").fill_null(0.0).fill_nan(0.0).dp.sum(bounds=(0.0, 50.0))
query = context.query().truncate_per_group(5).group_by("city").agg(dp.len(), total)
print(query.release().collect().with_columns(mean=pl.col("spend") / pl.col("len")))
