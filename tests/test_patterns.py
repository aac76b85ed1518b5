"""LIKE: by its definition, and in time."""

from __future__ import annotations

import pytest

from discreet.engine.patterns import matches
from tests.tree_meaning import like as by_definition


@pytest.mark.parametrize(
    ("value", "pattern", "like"),
    [
        ("abcabd", "%ab_", True),
        ("abcabd", "a%d%", True),
        ("abcabd", "%c%b%c%", False),
        ("ab", "a_%", True),
        ("ab", "ab_", False),
        ("aa", "a%a%a", False),
        ("a%b", "a%b", True),
        ("a.b", "a_b", True),
        ("axb", "a.b", False),
        ("a\nb", "a_b", True),
        ("", "%", True),
        ("", "_", False),
    ],
)
def test_patterns(value: str, pattern: str, like: bool) -> None:
    assert matches(pattern, value) == like == by_definition(value, pattern)


def test_a_pattern_of_many_parts_takes_no_longer() -> None:
    assert not matches("%a" * 2_000 + "b", "a" * 5_000)
