"""Questions that are refused, what the refusal says, and what to write instead."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import bound
from tests.asked import plan


def cases(listed: str) -> list[tuple[str, str, str]]:
    """A question; a pattern of its refusal, after !; and the remedy, after >. Comments are as in SQL."""
    lines = [line for line in listed.splitlines() if line and not line.startswith("--")]
    triples = list(zip(lines[::3], lines[1::3], lines[2::3], strict=True))
    assert all(said[0] == "!" and instead[0] == ">" for _, said, instead in triples)
    return [(text, said[1:], instead[1:]) for text, said, instead in triples]


def check(text: str, said: str, instead: str) -> None:
    """The refusal says what, where it can where, and what to do; and what it says to do is accepted."""
    with pytest.raises(dc.Refused, match=said) as caught:
        plan(text)
    message = str(caught.value)
    assert caught.value.__cause__ is None
    assert "; " in message
    assert message.endswith(".")
    assert len(message) < 600
    bound(plan(instead), neighbours=dp.Neighbours.ADD_REMOVE)
