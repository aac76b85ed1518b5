"""The statement of a ledger: what one can hand to a board, as a table of text, CSV or one page of HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from fractions import Fraction

from discreet.ledger.ledger import Ledger
from discreet.ledger.rows import Entry

COLUMNS = ("number", "moment", "analyst", "version", "kind", "what", "share", "share_so_far", "hash")
_SHORT = 60  # characters of a question in a table for people; CSV has all of it


def lines(ledger: Ledger) -> list[tuple[str, ...]]:
    """Return every entry, oldest first, as texts: shares are of the budget in force now, exact to 12 digits."""
    found, so_far = [], Fraction(0)
    for entry in ledger.history():
        so_far += entry.share
        found.append((*_who(entry), _percent(entry.share), _percent(so_far), entry.hash))
    return found


def as_csv(ledger: Ledger) -> str:
    """Return the statement as CSV. A cell never begins with a sign that a spreadsheet takes for a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_inert(cell) for cell in line] for line in lines(ledger))
    return out.getvalue()


def as_text(ledger: Ledger) -> str:
    """Return the statement as a table for a terminal."""
    rows = [COLUMNS[:-1], *(_shortened(line)[:-1] for line in lines(ledger))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    drawn = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*drawn, *_summary(ledger)])


def as_html(ledger: Ledger) -> str:
    """Return the statement as one page that needs nothing else."""
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in COLUMNS)
    body = "".join(_html_row(line) for line in lines(ledger))
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in _summary(ledger))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Statement of a privacy budget</title>'
        "<style>body{font:15px/1.4 system-ui;margin:2em}table{border-collapse:collapse}"
        "td,th{padding:.3em .6em;border-bottom:1px solid #ccc;text-align:left}td:last-child{font:12px monospace}"
        f"</style><h1>Statement of a privacy budget</h1>{notes}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></html>\n"
    )


def _html_row(line: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _shortened(line)) + "</tr>"


def _summary(ledger: Ledger) -> list[str]:
    spent = ledger.budget.share(ledger.spent)
    return [f"budget: {ledger.budget!r}", f"spent: {_percent(spent)}; left: {_percent(1 - spent)}"]


def _who(entry: Entry) -> tuple[str, ...]:
    return (str(entry.number), entry.moment, entry.analyst, entry.version, entry.kind, entry.body)


def _shortened(line: Sequence[str]) -> tuple[str, ...]:
    what = COLUMNS.index("what")
    text = line[what] if len(line[what]) <= _SHORT else line[what][: _SHORT - 1] + "…"
    return (*line[:what], text, *line[what + 1 : -1], line[-1][:16])


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.12g} %"


def _inert(cell: str) -> str:
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
