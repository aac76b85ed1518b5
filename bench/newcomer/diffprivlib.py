import csv

import diffprivlib
import numpy as np

seen, spent = {}, {city: [] for city in "ABCD"}
for row in csv.DictReader(open("visits.csv")):
    seen[row["user_id"]] = seen.get(row["user_id"], 0) + 1
    if seen[row["user_id"]] <= 5:
        spent[row["city"]].append(float(row["spend"]))
accountant = diffprivlib.BudgetAccountant(epsilon=10.0, delta=0)
for city, values in spent.items():
    count = diffprivlib.tools.count_nonzero(np.ones(len(values)), epsilon=0.5 / 5, accountant=accountant)
    mean = diffprivlib.tools.mean(values, epsilon=0.5 / 5, bounds=(0, 50), accountant=accountant)
    print(city, count, mean)
