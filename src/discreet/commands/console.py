"""What is written to the two streams: a terminal is shown signs and obeys none, and machines get bytes as they are."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_QUIET = 1.0  # seconds before a line is shown at all, and between two


def visible(text: str, *, breaks: bool = True) -> str:
    r"""Return a text in which every sign that is not printed stands as an escape; with `breaks`, lines stay lines.

    >>> visible("a\x1b[31m\n", breaks=False)
    'a\\x1b[31m\\n'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or (breaks and sign == "\n") else repr(sign)[1:-1] for sign in text)


def say(text: str) -> None:
    """Write lines for people."""
    sys.stdout.write(visible(text) + "\n")


def note(text: str) -> None:
    """Write one line beside the output."""
    sys.stderr.write(visible(text, breaks=False) + "\n")


def say_json(value: object) -> None:
    """Write one JSON document, in ASCII."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def say_data(text: str) -> None:
    """Write CSV or HTML: as UTF-8 bytes into a file or a pipe, and harmless on a terminal."""
    if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(visible(text))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


@contextmanager
def elapsed(what: str) -> Iterator[None]:
    """Show the time that has passed, and nothing else, while something runs; only if a terminal is attached."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    shower = threading.Thread(target=_tick, args=(what, done), daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join()


def _tick(what: str, done: threading.Event) -> None:
    start, line = time.monotonic(), ""
    while not done.wait(_QUIET):
        minutes, seconds = divmod(round(time.monotonic() - start), 60)
        line = f"{what}: {minutes} min {seconds} s" if minutes else f"{what}: {seconds} s"
        sys.stderr.write("\r" + line)
        sys.stderr.flush()
    if line:
        sys.stderr.write("\r" + " " * (len(line) + 4) + "\r")
        sys.stderr.flush()
