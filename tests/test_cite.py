"""What an answer cites is what was used for it, and what its mechanisms themselves name as their sources."""

import re
import typing
from fractions import Fraction

import pandas as pd
import pytest

import discreet as dc
from discreet import dp
from discreet.answer import Answer, Facts
from discreet.citations import PAPERS, THEOREMS, cited
from discreet.engine import bound, purchase
from discreet.engine.combined import Averaged

MECHANISMS = [*typing.get_args(purchase.Measuring), *typing.get_args(purchase.Naming)]


def source_of(documented: object) -> str:
    """The `Source:` of a docstring, without the statements beside it."""
    found = re.search(r"Source:\s*(.*?)(?=\n\s*\n|\n\s*>>>|\Z)", str(documented.__doc__), re.DOTALL)
    assert found, f"{documented} names no source"
    return " ".join(found[1].split())


def works(source: str) -> set[tuple[str, str]]:
    """The last author before each year, and the year."""
    plain = re.sub(r"\"[^\"]*\",? ?", "", source)
    return {(name, year) for name, year in re.findall(r"([A-Z]\w+), ((?:19|20)\d\d)", plain)}


def cited_works(names: list[str]) -> set[tuple[str, str]]:
    papers = [PAPERS[key] for name in names for key in THEOREMS[name].papers]
    return {(paper.authors.split()[-1], str(paper.year)) for paper in papers}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_the_sources_of_every_mechanism_are_cited(mechanism: type) -> None:
    assert works(source_of(mechanism)) == cited_works([mechanism.__name__])


def test_the_sources_of_the_budget_are_those_of_its_filters() -> None:
    assert works(source_of(dp.Budget)) == cited_works(["pure filter", "Renyi filter", "zCDP filter"])


def test_every_form_of_bounding_is_cited() -> None:
    assert set(typing.get_args(bound.Form)) <= set(THEOREMS)


def test_combined_releases_are_cited() -> None:
    module = __import__(Averaged.__module__, fromlist=["_"])
    assert works(source_of(module)) == cited_works(["Averaged"])


@pytest.mark.parametrize("name", THEOREMS)
def test_the_papers_of_a_theorem_are_those_that_its_text_names(name: str) -> None:
    theorem = THEOREMS[name]
    named = set(re.findall(r"(?:19|20)\d\d", theorem.source))
    assert named == {str(PAPERS[key].year) for key in theorem.papers}
    for key in theorem.papers:
        assert any(author.split()[-1] in theorem.source for author in PAPERS[key].authors.split(" and "))


def test_a_source_that_is_not_cited_is_seen() -> None:
    assert works('Nobody, Somebody, "On 1999", 2001, Theorem 3; Else, 2002 (x).') == {
        ("Somebody", "2001"),
        ("Else", "2002"),
    }


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.key)
def test_every_paper_has_an_entry_that_is_whole(paper: object) -> None:
    entry = typing.cast("typing.Any", paper).bibtex
    assert re.match(r"@(article|inproceedings|misc)\{\w+,\n", entry)
    assert entry.count("{") == entry.count("}")
    assert all(f"  {field} = {{" in entry for field in ("author", "title", "year"))
    assert all(line.endswith("},") for line in entry.splitlines()[1:-2])


def test_every_paper_is_used() -> None:
    assert set(PAPERS) == {key for theorem in THEOREMS.values() for key in theorem.papers}


class TestCitations:
    def test_they_print_what_was_used_and_where_it_is_proved(self) -> None:
        lines = repr(cited(["Gaussian", "weighted"])).splitlines()
        assert lines[0].startswith("Normal noise")
        assert lines[1].strip().startswith("Balle, Wang")
        assert len(lines) == 4

    def test_a_bibliography_has_each_paper_once(self) -> None:
        entries = cited(["PartitionSelection", "NoisyKeys", "Laplace"]).bibtex()
        assert entries.count("@") == 5
        assert entries.count("DesfontainesVGM2022") == 1

    def test_an_unknown_theorem_is_refused(self) -> None:
        with pytest.raises(dc.InvalidParameter, match="no theorem 'Magic'"):
            cited(["Magic"])

    def test_an_answer_cites_what_its_facts_say(self) -> None:
        used = Answer({"n": (1,)}, {"n": 1}, "x", "direct", Fraction(0), Facts(used=("Laplace", "rows", "pure filter")))
        assert used.cite() == cited(["Laplace", "rows", "pure filter"])
        assert "Ghosh" in repr(used.cite())


class TestSessions:
    """What a session's answers know of themselves, from what was really used."""

    COLUMNS: typing.ClassVar = {"age": dc.Integer(0, 110), "ward": dc.Category(["a", "b"]), "code": dc.Text()}

    def session(self, budget: dc.Budget, **options: typing.Any) -> dc.Session:
        rows = pd.DataFrame(
            {"who": range(900), "age": 40, "ward": ["a", "b", "b"] * 300, "code": ["x", "y", "z"] * 300}
        )
        table = dc.Table(rows, name="t", columns=self.COLUMNS, **options)
        return dc.Session(table, budget=budget, ledger=dc.memory_ledger())

    def test_a_count_for_an_epsilon(self) -> None:
        with self.session(dc.Budget(epsilon=1)) as session:
            found = session.sql("SELECT ward, COUNT(*) AS n, AVG(age) AS age FROM t GROUP BY ward", epsilon=0.5)
        assert found.facts.used == ("Laplace", "rows", "pure filter")
        assert (found.facts.counts, found.facts.quotients, found.facts.names_keys) == ({"n"}, {"age"}, False)
        assert found.consistent().columns["n"] == found.columns["n"]

    def test_units_normal_noise_and_a_median(self) -> None:
        budget = dc.Budget(rho=1)
        with self.session(budget, unit="who", rows_per_unit=100) as session:
            text = "SELECT MEDIAN(age) AS age, COUNT(DISTINCT who) AS people, SUM(age) AS years FROM t"
            found = session.sql(text, rho="0.2")
        assert {"QuantileTree", "Gaussian", "zCDP filter"} <= set(found.facts.used)
        assert set(found.facts.used) & {"weighted", "groups"}
        assert found.facts.counts == {"people"}
        assert "Hay" in repr(found.cite())

    def test_private_keys(self) -> None:
        budget = dc.Budget(epsilon=8, delta=1e-6, delta_add=5e-7)
        with self.session(budget, unit="who", rows_per_unit=1) as session:
            text = "SELECT code, COUNT(*) AS n FROM t GROUP BY code"
            found, again = session.sql(text, epsilon=4), session.sql(text, epsilon=4)
        assert found.columns["code"] == ("x", "y", "z")
        assert found.facts.used[0] in {"PartitionSelection", "NoisyKeys"}
        assert {"PartitionSelection", "NoisyKeys"} < set(
            again.facts.used
        )  # a stored release says only that keys were named
        assert {"sampled", "Renyi filter"} <= set(found.facts.used)
        assert "not named" in found.note

    def test_releases_that_were_combined(self) -> None:
        with self.session(dc.Budget(epsilon=4)) as session:
            session.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.1")
            found = session.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.12")
        assert found.facts.used == ("Averaged", "Laplace", "rows", "pure filter")
        assert "Birnbaum" in repr(found.cite())
