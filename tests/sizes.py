"""DISCREET_TEST_SIZE scales every count: `quick`, which still rejects every broken twin, or `full`."""

import os

SETTING = "DISCREET_TEST_SIZE"


def setting() -> str:
    size = os.environ.get(SETTING, "quick")
    if size not in ("quick", "full"):
        raise ValueError(f"{SETTING} is {size!r}; it is quick or full")
    return size


def sized(quick: int, full: int) -> int:
    """The count to use: `full` in `make test-full`, `quick` otherwise."""
    return full if setting() == "full" else quick
