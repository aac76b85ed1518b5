"""How long a session takes from SQL text to a plan and a price, or to a refusal. No row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common import Report
from engine_jobs import Took, is_busy, once, opened
from engine_questions import declared, questions

import discreet as dc

if TYPE_CHECKING:
    from engine_peers import Peers

MOST = 5.0  # milliseconds
TURNS = 6  # with other constants each, so that nothing is planned twice


def planning(report: Report, peers: Peers) -> None:
    """Plan all questions, and hold the slowest of a hundred against the bar."""
    session = opened(declared())
    found: list[tuple[Took, str]] = []
    planned = 0
    for turn in range(TURNS):
        for text in questions(turn):
            asked = Planned(session, text)
            took = once(asked)
            if turn:  # the first loads what planning needs
                found.append((took, text))
                planned += not asked.refused
    clock = "CPU" if is_busy() else "wall"
    every = sorted((1e3 * (took.cpu if clock == "CPU" else took.wall), text) for took, text in found)
    typical, rare = (every[int(share * len(every))][0] for share in (0.5, 0.99))
    verdict = "pass" if rare <= MOST else "MISS"
    what = f"from text to a price or a refusal, p99 of {len(every)}, {clock}; OpenDP, one question"
    report.fact(what, f"{rare:.2f} ms", peers.planning(), f"<= {MOST:g} ms", verdict)
    report.fact(f"the same, median; {planned} are planned", f"{typical:.2f} ms", "", "", "")
    report.fact(f"the slowest: {every[-1][1][:60]}", f"{every[-1][0]:.2f} ms", "", "", "")


class Planned:
    """A question that is planned and priced, or refused."""

    def __init__(self, session: dc.Session, text: str) -> None:
        self._session, self._text, self.refused = session, text, False

    def __call__(self) -> None:
        try:
            self._session.quote(self._text, epsilon=0.1)
        except dc.Refused:
            self.refused = True
