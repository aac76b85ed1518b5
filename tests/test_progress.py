"""`progress`: a bar on a terminal and nothing elsewhere, with the time that is left if all steps take as long."""

import io

import pytest

from discreet.release.progress import ProgressBar


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_bar_says_how_far_it_is_and_what_is_left() -> None:
    clock, terminal = Clock(), Terminal()
    bar = ProgressBar("fit", terminal, clock)
    clock.now = 10.0
    bar(10, 40)
    assert terminal.getvalue() == "\rfit [#######.......................] 10/40, about 30 s left   "
    clock.now = 10.05
    bar(11, 40)  # too soon after
    assert terminal.getvalue().count("\r") == 1
    clock.now = 40.0
    bar(40, 40)
    assert terminal.getvalue().endswith("[" + "#" * 30 + "] 40/40, about 0 s left   \n")


@pytest.mark.parametrize("spent", [0.0, 0.4])
def test_what_is_quick_shows_nothing(spent: float) -> None:
    clock, terminal = Clock(), Terminal()
    bar = ProgressBar("fit", terminal, clock)
    clock.now = spent
    bar(1, 1)
    assert terminal.getvalue() == ""


def test_nothing_is_written_where_there_is_no_terminal() -> None:
    clock, file = Clock(), io.StringIO()
    bar = ProgressBar("fit", file, clock)
    clock.now = 100.0
    bar(1, 2)
    assert file.getvalue() == ""
