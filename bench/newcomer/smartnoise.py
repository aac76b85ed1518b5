import pandas as pd
import snsql

visits = pd.read_csv("visits.csv")
facts = {"": {"public": {"visits": {
    "max_ids": 5, "user_id": {"type": "int", "private_id": True}, "city": {"type": "string"},
    "spend": {"type": "float", "lower": 0.0, "upper": 50.0}}}}}
reader = snsql.from_df(visits, privacy=snsql.Privacy(epsilon=1.0, delta=1e-7), metadata=facts)
print(reader.execute("SELECT city, COUNT(*) AS n, AVG(spend) AS mean FROM public.visits GROUP BY city"))
