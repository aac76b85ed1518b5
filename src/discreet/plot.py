"""Answers as pictures, by Matplotlib: every number with its error, and never more than can be read.

| an answer with                          | is drawn as                                        |
|-----------------------------------------|----------------------------------------------------|
| one row without keys                    | the number, as text                                |
| one key of days, instants or numbers    | a line in the band of its errors                   |
| another key, or more than two           | a bar with a whisker for each row                  |
| two keys                                | groups of bars: the first key along the axis       |

Several numbers have a panel each. NULL is a gap. What is left out, because nobody could read it, is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answer_display import is_number, labels_of, measured
from discreet.answer_display import label as printable
from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    from discreet.answer import Answer

PANELS, BARS, SERIES, POINTS = 6, 40, 8, 10_000  # so many can be told apart


def plot(answer: Answer, axes: Any = None) -> Any:
    """Draw the numbers of an answer; return the axes, or an array of them where there are several numbers.

    `axes` are panels of a figure of your own, one for each number; its notes are yours, too.
    """
    names = [name for name in answer.errors if is_number(answer.columns[name])]
    if not names:
        raise NotSupported("this answer has no number with an error that could be drawn.")
    shown = names[:PANELS]
    panels = _panels(len(shown), axes)
    for name, panel in zip(shown, panels, strict=True):
        left_out = _draw(answer, name, panel)
        keys = ", ".join(map(label, answer.keys))
        panel.set_title(label(f"{name} by {keys}" if keys and answer.rows else name))
        if left_out:
            panel.annotate(left_out, (1, 1), xycoords="axes fraction", ha="right", va="bottom", fontsize="x-small")
    if axes is None:
        note = label(answer.note)
        said = note if len(names) == len(shown) else f"{len(shown)} of {len(names)} numbers · {note}"
        panels[0].figure.supxlabel("\n".join(_lines(said)), fontsize="x-small", color="0.4")
    return panels[0] if len(panels) == 1 else np.array(panels)


def _panels(count: int, axes: Any) -> list[Any]:
    """Return a panel for each number: those that were given, or new ones below each other."""
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != count:
            raise InvalidParameter(f"axes= has one panel for each number; give {count}, not {len(given)}.")
        return given
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() needs Matplotlib: pip install 'discreet[plot]'") from None
    _, made = plt.subplots(count, 1, figsize=(8, 3.2 * count), layout="constrained", squeeze=False)
    return list(made[:, 0])


def _lines(text: str, most: int = 130) -> list[str]:
    """Return a note in lines that fit under a panel."""
    lines = [""]
    for part in text.split(" · "):
        joined = f"{lines[-1]} · {part}" if lines[-1] else part
        lines[-1:] = [joined] if len(joined) <= most or not lines[-1] else [lines[-1], part]
    return lines


def _draw(answer: Answer, name: str, panel: Any) -> str:
    """Draw one number of every row; return what is left out."""
    keys = list(answer.keys.values())
    if not keys and answer.rows == 1:
        return _one(answer, name, panel)
    if len(keys) == 1 and _is_ordered(keys[0]) and len(set(keys[0])) == answer.rows:
        return _line(answer, name, keys[0], panel)
    pairs = len(keys) == 2 and len(set(zip(*keys, strict=True))) == answer.rows
    if pairs and len(set(keys[1])) <= SERIES:
        return _grouped(answer, name, keys, panel)
    return _bars(answer, name, panel)


def _one(answer: Answer, name: str, panel: Any) -> str:
    text = measured(answer.columns[name][0], answer.errors_of(name)[0])
    panel.text(0.5, 0.5, text, ha="center", va="center", fontsize="xx-large", transform=panel.transAxes)
    panel.set_axis_off()
    return ""


def _is_ordered(values: Sequence[Any]) -> bool:
    """Return whether a key has an order with distances, so that a line between its values means something."""
    kinds = set(map(type, values))
    return len(values) > 1 and (kinds <= {int, float} or all(issubclass(kind, date) for kind in kinds))


def _numbers(answer: Answer, name: str, rows: Sequence[int]) -> tuple[Any, Any]:
    """Return numbers and errors of some rows: NaN for NULL, and 0 for an error that is not known."""
    values, errors = answer.columns[name], answer.errors_of(name)
    found = np.array([np.nan if values[row] is None else values[row] for row in rows], dtype=np.float64)
    return found, np.array([errors[row] or 0 for row in rows], dtype=np.float64)


def _line(answer: Answer, name: str, key: Sequence[Any], panel: Any) -> str:
    rows = sorted(range(answer.rows), key=lambda row: key[row])[:POINTS]
    values, errors = _numbers(answer, name, rows)
    along = [key[row] for row in rows]
    (drawn,) = panel.plot(along, values, marker="." if len(rows) <= BARS else None)
    panel.fill_between(along, values - errors, values + errors, alpha=0.25, color=drawn.get_color(), linewidth=0)
    panel.set(xlabel=label(next(iter(answer.keys))), ylabel=label(name))
    if issubclass(type(along[0]), date):
        panel.tick_params(axis="x", labelrotation=30)
    return _left_out(len(rows), answer.rows, "points")


def _bars(answer: Answer, name: str, panel: Any) -> str:
    rows = range(min(answer.rows, BARS))
    values, errors = _numbers(answer, name, rows)
    labels = list(map(label, labels_of(answer, BARS))) or [str(row + 1) for row in rows]
    panel.bar(rows, values, yerr=errors, capsize=3, alpha=0.8)
    _ticks(panel, labels)
    panel.set(xlabel=label(", ".join(answer.keys)), ylabel=label(name))
    return _left_out(len(rows), answer.rows, "rows")


def _grouped(answer: Answer, name: str, keys: list[Sequence[Any]], panel: Any) -> str:
    first, second = (list(dict.fromkeys(key)) for key in keys)
    shown = first[: max(1, BARS // len(second))]
    row_of = {pair: row for row, pair in enumerate(zip(*keys, strict=True))}
    width = 0.8 / len(second)
    for place, series in enumerate(second):
        there = [at for at, value in enumerate(shown) if (value, series) in row_of]
        values, errors = _numbers(answer, name, [row_of[shown[at], series] for at in there])
        left = np.array(there) + (place - (len(second) - 1) / 2) * width
        panel.bar(left, values, width=width, yerr=errors, capsize=2, alpha=0.8, label=label(series))
    _ticks(panel, [label(value) for value in shown])
    names = list(map(label, answer.keys))
    panel.set(xlabel=names[0], ylabel=label(name))
    panel.legend(title=names[1], frameon=False, fontsize="small")
    return _left_out(len(shown), len(first), names[0])


def label(value: Any) -> str:
    """Return a text on one line; a dollar sign begins no formula."""
    return printable(value).replace("$", r"\$")


def _ticks(panel: Any, labels: list[str]) -> None:
    crowded = sum(map(len, labels)) > 80
    short = [text if len(text) <= 24 else f"{text[:23]}…" for text in labels]
    panel.set_xticks(range(len(labels)), short, rotation=45 if crowded else 0, ha="right" if crowded else "center")


def _left_out(shown: int, there: int, what: str) -> str:
    return f"the first {shown:,} of {there:,}: {what}" if shown < there else ""
