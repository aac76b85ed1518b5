"""What the words and signs of SQL are called in `syntax.py`, and what to write instead of those that are not there.

Only tables: the names of the parser's classes are the keys, and nothing here imports it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """The parts of a node of the parser, in the order of the arguments of a Call.

    `optional` parts may be absent, `rest` is a list of further arguments, and `flags` mean nothing here. A node with
    any other part is refused.
    """

    function: str
    parts: tuple[str, ...] = ("this",)
    optional: tuple[str, ...] = ()
    rest: str = ""
    flags: tuple[str, ...] = ()


def _two(function: str) -> Shape:
    return Shape(function, ("this", "expression"))


SHAPES = {
    "Add": _two("add"),
    "Sub": _two("sub"),
    "Mul": _two("mul"),
    "Div": _two("div"),
    "IntDiv": _two("intdiv"),
    "Mod": _two("mod"),
    "EQ": _two("eq"),
    "NEQ": _two("ne"),
    "LT": _two("lt"),
    "LTE": _two("le"),
    "GT": _two("gt"),
    "GTE": _two("ge"),
    "NullSafeEQ": _two("is_not_distinct"),
    "Not": Shape("not"),
    "Between": Shape("between", ("this", "low", "high")),
    "In": Shape("in", rest="expressions"),
    "Coalesce": Shape("coalesce", rest="expressions"),
    "Nullif": _two("nullif"),
    "Least": Shape("least", rest="expressions", flags=("ignore_nulls",)),
    "Greatest": Shape("greatest", rest="expressions", flags=("ignore_nulls",)),
    "Abs": Shape("abs"),
    "Floor": Shape("floor"),
    "Ceil": Shape("ceil"),
    "Round": Shape("round", optional=("decimals",)),
    "Trunc": Shape("trunc", optional=("decimals",)),
    "Sign": Shape("sign"),
    "Sum": Shape("sum"),
    "Avg": Shape("avg"),
    "Variance": Shape("variance"),
    "VariancePop": Shape("var_pop"),
    "Stddev": Shape("stddev"),
    "StddevSamp": Shape("stddev"),
    "StddevPop": Shape("stddev_pop"),
    "Median": Shape("median"),
    "Quantile": Shape("percentile_cont", ("this", "quantile")),
    "Sqrt": Shape("sqrt"),
    "Ln": Shape("ln"),
    "Exp": Shape("exp"),
    "Pow": _two("power"),
}

# Functions that the parser does not know, or not under this name.
CALLED = {"mean": ("avg", 1), "bin": ("bin", 2), "date_part": ("date_part", 2), "datepart": ("date_part", 2)}
CALLED |= {"date_trunc": ("date_trunc", 2), "datetrunc": ("date_trunc", 2)}

# Functions of one argument that are a part of a day or an instant.
PART_NODES = {
    "Year": "year",
    "Quarter": "quarter",
    "Month": "month",
    "Week": "week",
    "WeekOfYear": "week",
    "Day": "day",
    "DayOfMonth": "day",
    "DayOfWeek": "dayofweek",
    "DayOfWeekIso": "isodow",
    "DayOfYear": "dayofyear",
    "Hour": "hour",
    "Minute": "minute",
    "Second": "second",
}
PARTS = {name: name for name in PART_NODES.values()}
PARTS |= {"weekofyear": "week", "dayofmonth": "day", "dow": "dayofweek", "weekday": "dayofweek", "doy": "dayofyear"}
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")

CASTS = dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "INT128"), "cast_integer")
CASTS |= {"DOUBLE": "cast_real", "FLOAT": "cast_real", "DATE": "cast_date"}
INSTANTS = ("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME")

# What a refusal says of a node of the parser, and what to write instead.
_ROWS = "it would show or pick single rows"
_SUBQUERY = "put the subquery into FROM, or join its table"
REMEDIES = {
    "Window": ("window functions are not offered", "use GROUP BY"),
    "Distinct": ("DISTINCT is offered in COUNT(DISTINCT x) of one expression only", "leave it out, or GROUP BY x"),
    "Star": ("* is not a value here", "name the columns, or write COUNT(*)"),
    "Subquery": ("a subquery is not a value here", _SUBQUERY),
    "Select": ("a subquery is not a value here", _SUBQUERY),
    "Exists": ("EXISTS is not offered", "join the table on its key and count with CASE or FILTER"),
    "Any": ("ANY is not offered", "write IN with a list of constants"),
    "All": ("ALL is not offered", "write comparisons joined by AND"),
    "Min": ("MIN is not offered: one row decides it", "write PERCENTILE_CONT(0.05) WITHIN GROUP (ORDER BY x)"),
    "Max": ("MAX is not offered: one row decides it", "write PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY x)"),
    "First": (f"FIRST is not offered: {_ROWS}", "group by the column"),
    "Last": (f"LAST is not offered: {_ROWS}", "group by the column"),
    "IgnoreNulls": (f"ANY_VALUE, or IGNORE NULLS, is not offered: {_ROWS}", "group by the column"),
    "AnyValue": (f"ANY_VALUE is not offered: {_ROWS}", "group by the column"),
    "ArgMax": (f"ARG_MAX is not offered: {_ROWS}", "group by the column and ORDER BY the aggregate"),
    "ArgMin": (f"ARG_MIN is not offered: {_ROWS}", "group by the column and ORDER BY the aggregate"),
    "ArrayAgg": (f"lists are not offered: {_ROWS}", "group by the column"),
    "GroupConcat": (f"lists are not offered: {_ROWS}", "group by the column"),
    "Mode": ("MODE is not offered", "group by the column, ORDER BY COUNT(*) DESC LIMIT 1"),
    "ApproxDistinct": ("APPROX_COUNT_DISTINCT is not offered", "write COUNT(DISTINCT x)"),
    "ApproxQuantile": ("APPROX_QUANTILE is not offered", "write QUANTILE_CONT(x, q)"),
    "CountIf": ("COUNT_IF is not offered", "write COUNT(*) FILTER (WHERE condition)"),
    "PercentileDisc": ("PERCENTILE_DISC is not offered", "write PERCENTILE_CONT"),
    "ILike": ("ILIKE is not offered", "write LIKE 'fixed prefix%'"),
    "RegexpLike": ("regular expressions are not offered", "write LIKE 'fixed prefix%'"),
    "SimilarTo": ("SIMILAR TO is not offered", "write LIKE 'fixed prefix%'"),
    "Glob": ("GLOB is not offered", "write LIKE 'fixed prefix%'"),
    "Escape": ("ESCAPE is not offered", "write LIKE 'fixed prefix%', whose prefix has no % and no _"),
    "TryCast": ("TRY_CAST is not offered", "write CAST, which never fails here"),
    "Log": ("LOG is not offered", "write LN(x), or LN(x) / LN(10)"),
    "Date": ("DATE(x) is not offered", "write CAST(x AS DATE)"),
    "CurrentDate": ("a question does not know what day it is", "write the day, DATE '2026-01-31'"),
    "CurrentTimestamp": ("a question does not know what time it is", "write it, TIMESTAMP '2026-01-31 12:00:00'"),
    "Interval": ("intervals are not offered", "write the days at both ends, DATE '2026-01-31'"),
    "Rand": ("random numbers are not offered", "leave it out"),
    "DPipe": ("texts are not joined here", "group by both columns"),
    "BitwiseAnd": ("& is not offered", "write AND"),
    "BitwiseOr": ("| is not offered", "write OR"),
    "BitwiseXor": ("XOR is not offered", "write <>"),
    "Tuple": ("several values in brackets are not one value", "write them one by one"),
    "AtTimeZone": ("AT TIME ZONE is not offered", "declare the zone in dc.Datetime"),
    "Collate": ("COLLATE is not offered", "leave it out; texts are compared as they are"),
    "RawString": ("a text in dollar signs is not offered", "write it in single quotes"),
    "ByteString": ("E'...' is not offered", "write the text in single quotes"),
    "National": ("N'...' is not offered", "write the text in single quotes"),
    "Bracket": ("lists and their parts are not offered", "use declared columns"),
    "PositionalColumn": ("#1 is not offered", "name the column"),
    "Var": ("this word is not offered here", "name a declared column"),
    "Rollup": ("ROLLUP is not offered", "ask one question for each list of keys"),
    "Cube": ("CUBE is not offered", "ask one question for each list of keys"),
    "GroupingSets": ("GROUPING SETS is not offered", "ask one question for each list of keys"),
    "Dot": ("a name has at most one dot here", "write table.column"),
    "Alias": ("AS is offered for the columns of SELECT only", "leave it out here"),
}

# The parts of a SELECT, a table or a join that are not offered, and what to write instead.
CLAUSES = {
    "distinct": ("DISTINCT is not offered", "GROUP BY the columns"),
    "laterals": ("LATERAL is not offered", "join tables ON their key"),
    "sample": ("sampling is not offered", "leave it out; every row takes part"),
    "qualify": ("QUALIFY is not offered", "use HAVING"),
    "windows": ("window functions are not offered", "use GROUP BY"),
    "pivots": ("PIVOT is not offered", "GROUP BY the column and turn the answer around"),
    "hint": ("hints are not offered", "leave them out"),
    "into": ("INTO is not offered", "leave it out"),
    "locks": ("FOR UPDATE is not offered", "leave it out"),
    "db": ("a table has one name here", "leave out what is before the dot"),
    "joins": ("a JOIN inside brackets is not offered", "write the joins one after another"),
    "columns": ("names of columns after an alias are not offered", "name them with AS in the SELECT"),
    "recursive": ("WITH RECURSIVE is not offered", "write WITH, in which each name uses earlier ones"),
    "order": ("ORDER BY is not offered here", "write it at the end of the question"),
    "limit_options": ("LIMIT is a number of rows here", "write LIMIT and a whole number"),
    "ignore_nulls": ("IGNORE NULLS is not offered", "leave it out; NULL is never counted"),
    "symmetric": ("BETWEEN SYMMETRIC is not offered", "write the lesser bound first"),
    "query": ("IN with a subquery is not offered", "join the table on its key, or write a list of constants"),
    "field": ("IN takes a list in brackets", "write x IN ('a', 'b')"),
    "when": ("AT is not offered", "leave it out"),
}
SETS = {"Union": "UNION", "Except": "EXCEPT", "Intersect": "INTERSECT"}

_FUNCTIONS = """abs avg bin cast ceil coalesce count date_part date_trunc day dayofweek dayofyear exp extract floor
greatest hour if ifnull isodow least ln mean median minute month nullif percentile_cont power quantile_cont quarter
round second sign sqrt starts_with stddev stddev_pop sum trunc var_pop variance week year"""
FUNCTIONS = tuple(_FUNCTIONS.split())
