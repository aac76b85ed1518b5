import discreet as dc

visits = dc.Table("visits.csv", unit="user_id", rows_per_unit=5, columns={
    "city": dc.Category(["A", "B", "C", "D"]), "spend": dc.Real(0, 50)})
session = dc.Session(visits, budget=dc.Budget(epsilon=10), ledger="visits.ledger")
print(session.sql("SELECT city, COUNT(*) AS n, AVG(spend) AS mean FROM visits GROUP BY city", epsilon=1))
