"""WS-10: hostile text in names, aliases, constants, comments, dollar quotes, U& and stacked statements.

5,000 strings. What is inside quotes is one Literal or one Name, whole and unchanged; what is not is refused or is a
question like any other. The constants of a tree reach an engine as numbers and parameters only.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import discreet as dc
from discreet.engine.parser import parse
from discreet.engine.syntax import Literal, Name, Select
from tests.broken import parsers as broken
from tests.sizes import sized
from tests.sql_trees import bare, check_ours, parts

Parse = Callable[[str], Select]
STRINGS = sized(500, 5_000)

SEEDS = [
    "'; DROP TABLE t; --",
    "' OR '1'='1",
    "'' OR 1=1 --",
    "\\' OR 1=1 --",
    "\\",
    '"; DROP TABLE t; --',
    '""; SELECT 1',
    "*/ DROP TABLE t /*",
    "/* nested /* twice */ */",
    "--",
    "$$; SELECT 1; $$",
    "$tag$ x $tag$",
    "U&'\\0027 OR 1=1'",
    "E'\\x27'",
    "x'27'",
    "`; DROP TABLE t",
    "] ; DROP TABLE t",
    "\u02bc OR 1=1",
    "\uff07 OR 1=1",
    "\u2018; DROP TABLE t",
    "a\nb",
    "a\r\n--b",
    "a\tb",
    "\x1b[31mred",
    "\u202etxet",
    "%s %(name)s {0} ${x} $1 ? :name @v",
    "{% raw %}",
    "query('SELECT 1')",
    "read_csv('/etc/passwd')",
    "1; ATTACH 'x.db'",
    "UNION SELECT * FROM secrets",
    "\N{SNOWMAN}" * 30,
    "a" * 300,
    "",
    " ",
    "\0",
    "\ud800",
]


def corpus(count: int) -> list[str]:
    """The seeds, and strings put together from pieces of them."""
    pick = random.Random(10)
    made = [*SEEDS]
    while len(made) < count:
        pieces = [pick.choice(SEEDS) for _ in range(pick.randint(1, 4))]
        cut = ["".join(piece[: pick.randint(1, len(piece))] if piece else "" for piece in pieces)]
        made.append(pick.choice((" ", "", "\n")).join(cut + pieces[: pick.randint(0, 1)]))
    return made


def read(text: str, parser: Parse = parse) -> Select | None:
    try:
        tree = parser(text)
    except dc.NotSupported:
        return None
    check_ours(tree)
    return bare(tree)


BASE = read("SELECT ward AS w, COUNT(*) AS n FROM visits WHERE ward = 'x' GROUP BY ward")
PLACES = {
    "constant": ("SELECT ward AS w, COUNT(*) AS n FROM visits WHERE ward = '{}' GROUP BY ward", "'"),
    "column": ("SELECT ward AS w, COUNT(*) AS n FROM visits WHERE \"{}\" = 'x' GROUP BY ward", '"'),
    "alias": ("SELECT ward AS \"{}\", COUNT(*) AS n FROM visits WHERE ward = 'x' GROUP BY ward", '"'),
    "table": ("SELECT ward AS w, COUNT(*) AS n FROM \"{}\" WHERE ward = 'x' GROUP BY ward", '"'),
    "alias of a table": ("SELECT ward AS w, COUNT(*) AS n FROM visits AS \"{}\" WHERE ward = 'x' GROUP BY ward", '"'),
}


def check_inside(place: str, hostile: str, parser: Parse = parse) -> bool:
    """In quotes, with quotes doubled, a string is one Literal or one Name of a tree that is else the same."""
    pattern, quote = PLACES[place]
    tree = read(pattern.replace("{}", hostile.replace(quote, quote * 2)), parser)
    if tree is None:
        return False
    harmless = read(pattern.replace("{}", "marker"))
    found, marked = list(parts(tree)), list(parts(harmless))
    assert len(found) == len(marked)
    assert [(a, b) for a, b in zip(found, marked, strict=True) if type(a) is not type(b)] == []
    strings = [(a, b) for a, b in zip(found, marked, strict=True) if isinstance(a, str) and a != b]
    assert strings in ([(hostile, "marker")], []), "the text is somewhere else too"
    return True


@pytest.mark.parametrize("place", PLACES)
def test_in_quotes_it_is_one_constant_or_one_name(place: str) -> None:
    kept = sum(check_inside(place, hostile) for hostile in corpus(STRINGS))
    assert kept > STRINGS // 10  # most names are refused: they are long, or hold what cannot be printed


def test_a_constant_is_kept_whole() -> None:
    for hostile in corpus(STRINGS):
        tree = read(PLACES["constant"][0].replace("{}", hostile.replace("'", "''")))
        if "\0" in hostile or "\ud800" in hostile:
            assert tree is None
        else:
            assert tree is not None
            assert [part.value for part in parts(tree) if isinstance(part, Literal)] == [hostile]


def test_as_it_is_it_is_refused_or_a_question_of_its_own() -> None:
    """Nothing outlives the parser but names, constants and our own words, wherever the string is put."""
    for hostile in corpus(STRINGS):
        for pattern, _ in PLACES.values():
            read(pattern.replace("{}", hostile))
        for text in (hostile, f"SELECT {hostile}", f"SELECT x FROM t {hostile}", f"SELECT x FROM t WHERE {hostile}"):
            read(text)


def test_in_a_comment_it_is_nothing() -> None:
    text = "SELECT ward AS w, COUNT(*) AS n FROM visits {} WHERE ward = 'x' GROUP BY ward"
    for hostile in corpus(STRINGS):
        if not {"*/", "/*"} & {hostile[i : i + 2] for i in range(len(hostile))}:
            assert read(text.format(f"/* {hostile} */")) in (None, BASE)
        line = hostile.replace("\n", " ").replace("\r", " ")
        assert read(text.format(f"-- {line}\n")) in (None, BASE)


def test_after_a_semicolon_it_is_refused() -> None:
    text = "SELECT ward AS w, COUNT(*) AS n FROM visits WHERE ward = 'x' GROUP BY ward"
    for hostile in corpus(STRINGS):
        tree = read(f"{text}; {hostile}")
        if tree is not None:  # blanks and comments are no statement
            assert tree == BASE
            assert not hostile.strip() or hostile.lstrip().startswith(("--", "/*"))
    for statement in ("DROP TABLE t", "SELECT 1", ";", "ATTACH 'x'", "COPY t TO 'x'", "SET threads = 1"):
        assert read(f"{text}; {statement}") is None


@pytest.mark.parametrize(
    "quotes", ["$${}$$", "$q${}$q$", "U&'{}'", 'U&"{}"', "E'{}'", "x'{}'", "N'{}'", "`{}`", "[{}]"]
)
def test_other_quotes_are_refused(quotes: str) -> None:
    for hostile in ("a", "27", "'", "\\0027", "x; DROP TABLE t"):
        tree = read("SELECT x FROM t WHERE y = " + quotes.replace("{}", hostile))
        assert tree is None


def test_a_parser_that_drops_the_second_statement_is_rejected() -> None:
    assert read("SELECT x FROM t; DROP TABLE t", broken.reads_the_first_statement) is not None
    assert read("SELECT x FROM t; DROP TABLE t") is None


def test_a_parser_of_another_dialect_is_rejected() -> None:
    """MySQL reads '\\' as a quote that goes on: the text after it changes sides."""
    assert all(check_inside("constant", hostile) for hostile in SEEDS[:20])
    with pytest.raises(AssertionError):
        assert all(check_inside("constant", hostile, broken.reads_another_dialect) for hostile in SEEDS[:20])


def test_a_text_put_in_as_it_is_is_rejected() -> None:
    text = broken.puts_texts_in_as_they_are("SELECT x FROM t WHERE y = {}", "a' OR 'b' = 'b")
    tree = read(text)
    assert tree is not None
    assert [part.value for part in parts(tree) if isinstance(part, Literal)] != ["a' OR 'b' = 'b"]
    assert [part.name for part in parts(tree) if isinstance(part, Name)] == ["x", "y"]
