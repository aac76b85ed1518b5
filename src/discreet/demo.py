"""The story that `discreet demo` tells: a session on the census table, then ten thousand questions on one budget."""

from __future__ import annotations

import math
import tempfile
import textwrap
from collections import Counter
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import discreet as dc
from discreet import dp, release
from discreet.dp.values import Value

SEX = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM census WHERE hours_per_week >= 40 GROUP BY sex"
AGAIN = (
    "SELECT c.SEX, AVG(c.age) AS mean_age, COUNT(*) AS people FROM census AS c "
    "WHERE NOT hours_per_week < 40 GROUP BY sex ORDER BY people DESC"
)
EDUCATION = "SELECT education, COUNT(*) AS n FROM census GROUP BY education"
BUSIEST = (
    "SELECT occupation, AVG(hours_per_week) AS hours, COUNT(*) AS n FROM census GROUP BY occupation "
    "ORDER BY hours DESC LIMIT 3"
)
MEDIAN = "SELECT income, MEDIAN(age) AS age, STDDEV(age) AS spread FROM census GROUP BY income"
OLDEST = "SELECT sex, MAX(age) AS age FROM census GROUP BY sex"

COLUMNS = ("education_num", "marital_status", "occupation", "relationship", "race", "sex", "income")
QUESTIONS = 10_000
PICTURE = "discreet-demo.png"


def demo() -> None:
    """Ask the census table what a newcomer would ask, then ten thousand questions more, and look at the ledger."""
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
        _say("48,842 people of a census, and a budget of epsilon = 1 for everything that is ever asked about them:")
        _code('session = dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger="census.ledger")')
        with dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger=Path(folder) / "census.ledger") as session:
            ask_a_session(session)
            ask_ten_thousand(QUESTIONS)
            show_the_ledger(session)


def ask_a_session(session: dc.Session) -> None:
    """Price, answer, the same answer free, a picture, medians, and refusals that say what to write instead."""
    _say("The price and the error come first. A quote reads no row and is free:")
    _code(f'session.quote("{SEX}", epsilon=0.1)')
    _show(session.quote(SEX, epsilon=0.1))

    _say("The answer. The debit was on disk before the first row was read:")
    _code(f'session.sql("{SEX}", epsilon=0.1)')
    _show(session.sql(SEX, epsilon=0.1))

    _say("The same question again, in other words and in another order: the same numbers, free.")
    _code(f'session.sql("{AGAIN}", epsilon=0.1)')
    _show(session.sql(AGAIN, epsilon=0.1))

    _say("A tenth of that price, for sixteen groups. The whiskers are where the true number is, 19 times in 20:")
    _code(f'session.sql("{EDUCATION}", epsilon=0.01).bars()')
    educated = session.sql(EDUCATION, epsilon=0.01)
    _show(educated.bars())
    _draw(educated)

    _say("Means by group; ORDER BY and LIMIT work on the released numbers:")
    _code(f'session.sql("{BUSIEST}", epsilon=0.1)')
    _show(session.sql(BUSIEST, epsilon=0.1))

    _say("Medians and spreads, from the same walk over the rows:")
    _code(f'session.sql("{MEDIAN}", epsilon=0.2)')
    _show(session.sql(MEDIAN, epsilon=0.2))

    _say("What cannot be answered is refused, free, with what to write instead:")
    for text, epsilon in ((OLDEST, "0.1"), ("SELECT race, COUNT(*) AS n FROM census GROUP BY race", "0.95")):
        _code(f'session.sql("{text}", epsilon={epsilon})')
        try:
            session.sql(text, epsilon=epsilon)
        except dc.Refused as refusal:
            _show(f"{type(refusal).__name__}: {refusal}")


def ask_ten_thousand(questions: int) -> None:
    """The same questions with noise for each, and asked of a model that learns; on the same budget."""
    universe, histogram = _seven_columns()
    _say(f"Now {questions:,} questions, and one budget of epsilon = 1, delta = 1e-9 for all of them. The first two:")
    for number in range(2):
        wanted = (f"{column} in {values}" for column, values in conditions(universe, number).items())
        _show(textwrap.fill("how many have " + " and ".join(wanted), 100, subsequent_indent="    "))
    asked = [release.where(universe, **conditions(universe, number)) for number in range(questions)]

    _say("A model answers. What it does not know is measured, and charged; what it does know is free:")
    _code(
        "online = release.Interactive(universe, histogram, sensitivity=dp.Sensitivity.histogram(neighbours=ADD_REMOVE),"
        f"\n    loss=dp.Loss.approximate(epsilon=1, delta=1e-9), questions={questions})"
        "\nreplies = online.ask_many(asked)"
    )
    loss = dp.Loss.approximate(epsilon=1, delta="1e-9")
    online = release.Interactive(
        universe, histogram, sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE), loss=loss,
        questions=questions,
    )  # fmt: skip
    replies = online.ask_many(asked)
    for number, reply in enumerate(replies[:2]):
        _show(f"{number + 1}:  {reply}")
    routes = Counter(reply.route for reply in replies)
    charged = routes[release.Route.MEASURED] + routes[release.Route.BYPASS]
    _show(f"charged: {charged} of {questions:,} questions; spent: {float(online.spent):.1%} of the budget")

    _say("This census is public, so here we may look how far off the answers are, in people:")
    truth = release.Workload(asked).answers(release.Marginals(histogram, universe.shape))
    missed = np.abs(truth - [reply.value for reply in replies])
    _show(f"{'questions':>9}   {'noise on each one':>20}   {'release.Interactive':>20}")
    for count in (questions // 100, questions // 10, questions):
        each = dp.Gaussian(sensitivity=_counts(count), epsilon=1, delta="1e-9")
        _show(f"{count:>9,}   {math.sqrt(2 / math.pi) * float(each.sigma):>20,.0f}   {missed[:count].mean():>20,.0f}")
    _show("(mean error; the noise on each question is what so many of them can be given on this budget)")


def show_the_ledger(session: dc.Session) -> None:
    """What was spent, and on what."""
    _say("The ledger has every debit, in shares of the budget, chained by hashes:")
    _code("session.history()")
    for entry in session.history():
        _show(f"{entry.number}  {entry.kind:<8} {float(entry.share):>6.1%}  {entry.hash[:12]}  {_short(entry.body)}")
    _code("session.spent, session.remaining")
    _show(f"{float(session.spent):.1%}, {float(session.remaining):.1%}")


def conditions(universe: dp.Universe, number: int) -> dict[str, list[Value]]:
    """Return three columns and about half of the values of each, picked by the bits of a hash."""
    bits = int.from_bytes(sha256(b"question %d" % number).digest())
    triples = list(combinations(universe.columns, 3))
    bits, triple = divmod(bits, len(triples))
    wanted: dict[str, list[Value]] = {}
    for name in triples[triple]:
        values = [universe.columns[name].value(place) for place in range(universe.columns[name].size)]
        bits, subset = divmod(bits, 2 ** len(values))
        wanted[name] = [value for place, value in enumerate(values) if subset >> place & 1] or values[:1]
    return wanted


def _draw(answer: dc.Answer) -> None:
    """Write a picture to a file, where Matplotlib is installed."""
    if find_spec("matplotlib") is None:
        _show(f"(pip install 'discreet[plot]' draws it into {PICTURE})")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    answer.plot(figure.subplots())
    figure.savefig(PICTURE)
    _code(f'session.sql("...").plot().figure.savefig("{PICTURE}")')
    _show(f"{PICTURE} is in this folder.")


def _seven_columns() -> tuple[dp.Universe, NDArray[np.signedinteger]]:
    """Return seven columns of the census, and how many people there are in each of their 201,600 cells."""
    from pyarrow import parquet

    columns: dict[str, dp.Category | dp.Integer] = {}
    for name, domain in dc.census().columns.items():
        match domain:
            case dp.Category(values=values) if name == "occupation":
                columns[name] = dp.Category(values, null="not stated")
            case dp.Category() | dp.Integer() if name in COLUMNS:
                columns[name] = domain
    universe = dp.Universe(columns)
    rows = parquet.read_table(files("discreet") / "data" / "census.parquet", columns=list(columns))
    return universe, universe.encode(rows)


def _counts(questions: int) -> dp.Sensitivity:
    return dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE, queries=questions)


def _say(text: str) -> None:
    print(f"\n{text}", flush=True)


def _code(text: str) -> None:
    print(textwrap.indent(text, ">>> "))


def _show(thing: object) -> None:
    print(textwrap.indent(str(thing), "    "))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
