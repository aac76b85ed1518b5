import csv

import pipeline_dp

rows = list(csv.DictReader(open("visits.csv")))
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-7)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
facts = pipeline_dp.AggregateParams(
    metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.MEAN], noise_kind=pipeline_dp.NoiseKind.LAPLACE,
    max_partitions_contributed=4, max_contributions_per_partition=5, min_value=0, max_value=50)
read = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row["user_id"], partition_extractor=lambda row: row["city"],
    value_extractor=lambda row: float(row["spend"]))
found = engine.aggregate(rows, facts, read, public_partitions=["A", "B", "C", "D"])
accountant.compute_budgets()
print(list(found))
