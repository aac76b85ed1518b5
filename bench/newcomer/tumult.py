from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, ApproxDPBudget, KeySet, MaxRowsPerID, QueryBuilder, Session

spark = SparkSession.builder.getOrCreate()
rows = spark.read.csv("visits.csv", header=True, inferSchema=True)
session = Session.from_dataframe(ApproxDPBudget(1, 1e-7), "visits", rows, AddRowsWithID("user_id"))
cities = KeySet.from_dict({"city": ["A", "B", "C", "D"]})
grouped = QueryBuilder("visits").enforce(MaxRowsPerID(5)).groupby(cities)
count = session.evaluate(grouped.count(), ApproxDPBudget(0.5, 0))
mean = session.evaluate(grouped.average("spend", low=0, high=50), ApproxDPBudget(0.5, 0))
count.join(mean, "city").show()
