"""Bars with whiskers for a terminal, and columns of text."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

_UNICODE, _ASCII = "█├─┼┤±", "#|-+|~"  # bar, left end, whisker, the number itself, right end, plus or minus


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    errors: Sequence[float],
    texts: Sequence[str],
    *,
    width: int | None,
    ascii_only: bool | None,
) -> str:
    """Return one bar for each value, from 0, with a whisker of its error and the text beside it."""
    if not labels:
        return ""
    bar, left, line, middle, right, sign = tuple(_ASCII if _wants_ascii(ascii_only) else _UNICODE)
    said = [text.replace("±", sign) for text in texts]
    room = (width or shutil.get_terminal_size().columns) - max(map(len, labels)) - max(map(len, said)) - 5
    length, top = max(room, 10), max(1, *(value + error for value, error in zip(values, errors, strict=True)))

    def place(number: float) -> int:
        return min(length, max(0, round(number / top * length)))

    rows = []
    for label, value, error, text in zip(labels, values, errors, said, strict=True):
        low, at, high = place(value - error), place(value), place(value + error)
        cells = list(bar * at + " " * (length + 1 - at))
        cells[low : high + 1] = line * (high + 1 - low)
        cells[low], cells[high], cells[at] = left, right, middle
        rows.append([label, "".join(cells), text])
    return "\n".join(aligned(rows, [False, False, True]))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Return lines of columns, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(right))]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def _wants_ascii(ascii_only: bool | None) -> bool:
    if ascii_only is not None:
        return ascii_only
    try:
        _UNICODE.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False
