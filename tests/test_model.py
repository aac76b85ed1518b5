"""`model` and `files`: a public table that answers, draws rows that agree with it, and is read back as it was."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import dp, release
from discreet.errors import InvalidParameter
from discreet.release import files
from discreet.release.model import rounded
from tests.sizes import sized

UNIVERSE = dp.Universe(
    {
        "ward": dp.Category(["north", "south"], other="other"),
        "day": dp.Date(datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)),
        "smokes": dp.Boolean(),
        "age": 4,
    }
)
CELLS = np.random.default_rng(1).gamma(0.5, size=UNIVERSE.size) * 30
MODEL = release.DenseModel(UNIVERSE, CELLS)


def test_answers_are_sums_of_cells() -> None:
    workload = release.all_marginals(UNIVERSE, order=2) + release.where(UNIVERSE, ward=["north"], age=[1, 2])
    dense = CELLS.reshape(UNIVERSE.shape)
    answers = MODEL.answer_many(workload)
    assert np.allclose(answers[:9], dense.sum(axis=(2, 3)).reshape(-1))
    assert np.isclose(answers[-1], dense[0, :, :, 1:3].sum())
    assert np.isclose(MODEL.answer(workload.query(3)), answers[3])
    with pytest.raises(InvalidParameter, match="another universe"):
        MODEL.answer(release.where(dp.Universe({"a": 2}), a=[0]))


@pytest.mark.parametrize("n", [1, 37, 5000])
def test_rows_agree_with_the_model_in_every_cell_and_with_every_library(n: int) -> None:
    rows = MODEL.sample(n)
    counts = UNIVERSE.encode(rows)
    assert counts.sum() == n
    assert np.abs(counts - CELLS * n / CELLS.sum()).max() < 1 + 1e-6
    for frame in (rows.frame, pd.DataFrame(dict(rows)), pl.DataFrame(dict(rows)), pa.table(dict(rows))):
        assert (UNIVERSE.encode(frame) == counts).all()


def test_rounding_keeps_the_total_and_the_mean() -> None:
    counts, n = np.array([0.25, 0.5, 1.25, 0.0, 3.0]), sized(4000, 40_000)
    draws = np.array([rounded(counts) for _ in range(n)])
    assert (draws.sum(axis=1) == 5).all()
    assert (np.abs(draws - counts) < 1).all()
    assert np.abs(draws.mean(axis=0) - counts).max() < 6 * 0.5 / np.sqrt(n)


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model")
    again = release.Model.load(tmp_path / "model")
    assert again.universe == UNIVERSE
    assert isinstance(again, release.DenseModel)
    assert (again.cells == CELLS).all()
    assert again.rows == MODEL.rows


@pytest.mark.parametrize("garbage", [b"", b"rows", b"PK\x03\x04" + bytes(100), None])
def test_what_is_no_model_is_refused(garbage: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "model"
    if garbage is not None:
        path.write_bytes(garbage)
    with pytest.raises(InvalidParameter, match="no file" if garbage is None else "not a model"):
        release.Model.load(path)


def test_a_file_cut_short_or_of_another_format_is_refused(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    (tmp_path / "short").write_bytes(whole[: len(whole) // 2])
    with (tmp_path / "other").open("wb") as file:
        np.savez(file, about=np.frombuffer(b'{"format": "something else", "columns": []}', np.uint8), cells=CELLS)
    for name in ("short", "other"):
        with pytest.raises(InvalidParameter, match="not a model"):
            release.Model.load(tmp_path / name)


@pytest.mark.parametrize(
    "cells", [[1.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0], [1e308, 1e308], [1j, 1j], [True, True], ["1", "2"]]
)
def test_a_model_has_a_finite_count_for_each_cell(cells: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="finite count"):
        release.DenseModel(dp.Universe({"a": 2}), np.array(cells))


def members(**arrays: np.ndarray) -> dict[str, bytes]:
    """The parts of a file that `save` would write for these arrays."""
    found = {}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        found[f"{name}.npy"] = file.getvalue()
    return found


def about(text: bytes | None = None) -> dict[str, bytes]:
    """The description of a universe of two cells, or another text in its place."""
    told = {"format": files._FORMAT, "columns": files.described(dp.Universe({"a": 2})), "learned": None}
    return members(about=np.frombuffer(json.dumps(told).encode() if text is None else text, np.uint8))


def header(cells: int) -> bytes:
    """An array that says it has so many cells, and has none."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (cells,)})
    return file.getvalue()


HOSTILE = {
    "a description that is nested too deeply": about(b"[" * 100_000) | members(cells=np.ones(2)),
    "more cells than there is memory": about() | {"cells.npy": header(10**15)},
    "a part that is no array": about() | {"cells.npy": b"", "cells": b"1"},
    "an array of objects": about() | {"cells.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'shape': (2,)}"},
    "complex cells": about() | members(cells=np.ones(2) * 1j),
    "words": about() | members(cells=np.array(["1", "2"])),
    "a mixture of one axis": about() | members(weights=np.ones(1), shares=np.ones(2), rows=np.array(1.0)),
    "a mixture that adds up to 2": about()
    | members(weights=np.ones(2), shares=np.ones((2, 2)) / 2, rows=np.array(1.0)),
    "rows that are no number": about() | members(weights=np.ones(1), shares=np.ones((1, 2)) / 2, rows=np.array(np.nan)),
}


def test_what_the_hostile_files_are_made_of_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in (about() | members(cells=np.ones(2))).items():
            file.writestr(name, content)
    assert release.Model.load(tmp_path / "model").rows == 2


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused(case: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in HOSTILE[case].items():
            file.writestr(name, content)
    with pytest.raises(InvalidParameter, match="not a model"):
        release.Model.load(tmp_path / "model")


def test_a_small_file_does_not_unpack_into_a_large_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model")
    release.Model.load(tmp_path / "model")
    monkeypatch.setattr(files, "_MOST_BYTES", 500)
    with pytest.raises(InvalidParameter, match="not a model"):
        release.Model.load(tmp_path / "model")


def test_a_file_with_any_byte_changed_is_read_or_refused(tmp_path: Path) -> None:
    """Nothing else may happen: no other error leaves `load`."""
    MODEL.save(tmp_path / "model")
    whole, source = (tmp_path / "model").read_bytes(), np.random.default_rng(2)
    for _ in range(sized(200, 5000)):
        changed = bytearray(whole)
        changed[source.integers(len(whole))] ^= int(source.integers(1, 256))
        (tmp_path / "changed").write_bytes(bytes(changed))
        with contextlib.suppress(InvalidParameter):
            assert release.Model.load(tmp_path / "changed").rows >= 0


@pytest.mark.parametrize(("place", "value"), [(10, 14), (10, 99), (8, 1)])
def test_a_file_packed_in_another_way_is_refused(tmp_path: Path, place: int, value: int) -> None:
    """The way of packing, LZMA or none that there is, and the mark of encryption stand in the directory at the end."""
    MODEL.save(tmp_path / "model")
    changed = bytearray((tmp_path / "model").read_bytes())
    changed[changed.index(b"PK\x01\x02") + place] = value
    (tmp_path / "changed").write_bytes(bytes(changed))
    with pytest.raises(InvalidParameter, match="not a model"):
        release.Model.load(tmp_path / "changed")
