"""DU-14, and ME-07 for an online mechanism: its state and what it spent are one file, and neither is there alone."""

from __future__ import annotations

import pytest

from discreet import release
from tests.broken import online as broken
from tests.test_interactive_state import check_crashes, check_resumed, every_question_is_tested

__all__ = ["every_question_is_tested"]


@pytest.mark.usefixtures("every_question_is_tested")
def test_a_crash_between_a_hit_and_its_answer_never_makes_the_hit_free() -> None:
    check_crashes(release.Interactive)
    for twin in (broken.HoldsNothing, broken.AnswersFirst, broken.ReadsBeforeItIsWritten):
        with pytest.raises(AssertionError):
            check_crashes(twin)


def test_hits_are_not_counted_anew_after_a_restart() -> None:
    check_resumed(release.Interactive)
    with pytest.raises(AssertionError):
        check_resumed(broken.CounterReset)
