"""NB-00: the recorder, in short. All its pairs, engines and broken twins are in tests/test_recorder.py."""

from __future__ import annotations

import pytest

from discreet import dp
from tests.broken import engines as broken
from tests.recorder import pairs, record


@pytest.mark.parametrize("neighbours", dp.Neighbours)
def test_the_recorder(neighbours: dp.Neighbours) -> None:
    assert record(pairs(range(40), neighbours, each=3), neighbours) > 60


def test_it_rejects_a_twin() -> None:
    with pytest.raises(AssertionError, match="l1"):
        record(
            pairs(range(400), dp.Neighbours.ADD_REMOVE, each=3),
            dp.Neighbours.ADD_REMOVE,
            declare=broken.Declared(broken.of_one_group),
        )
