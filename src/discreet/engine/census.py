"""The table that ships with the package: 48,842 people of a census, with what is public about its columns."""

from pathlib import Path

from discreet import dp
from discreet.engine.table import Domain, Table

_WORKCLASS = ["Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"]
_WORKCLASS += ["Without-pay", "Never-worked"]
_EDUCATION = ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad"]
_EDUCATION += ["Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"]
_MARITAL = ["Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent"]
_MARITAL += ["Married-AF-spouse"]
_OCCUPATION = ["Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing"]
_OCCUPATION += ["Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty"]
_OCCUPATION += ["Protective-serv", "Sales", "Tech-support", "Transport-moving"]
_RELATIONSHIP = ["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"]
_RACE = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]


def census() -> Table:
    """Return the census table that ships with the package.

    The domains are those of the printed description of the data set, with the labels of the file.

    >>> census().name
    'census'
    """
    columns: dict[str, Domain] = {
        "age": dp.Integer(17, 90),
        "workclass": dp.Category(_WORKCLASS),
        "education": dp.Category(_EDUCATION),
        "education_num": dp.Integer(1, 16),
        "marital_status": dp.Category(_MARITAL),
        "occupation": dp.Category(_OCCUPATION),
        "relationship": dp.Category(_RELATIONSHIP),
        "race": dp.Category(_RACE),
        "sex": dp.Category(["Female", "Male"]),
        "capital_gain": dp.Integer(0, 99_999),
        "capital_loss": dp.Integer(0, 9_999),
        "hours_per_week": dp.Integer(1, 99),
        "income": dp.Category(["<=50K", ">50K"]),
    }
    path = Path(__file__).parents[1] / "data" / "census.parquet"
    return Table(path, columns=columns, name="census", version="1")
