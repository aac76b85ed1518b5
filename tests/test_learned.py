"""`learned`: a model that is saved is read back with its loss, its reason and its errors, or is refused in words."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Zcdp
from discreet.errors import InvalidParameter, NotSupported
from discreet.release import factored, learned, mixture_fit, predicted_error
from discreet.release.synthesized import Distance
from tests.sizes import sized

ONE = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)
UNIVERSE = dp.Universe({"a": 2, "b": 3, "c": 1, "d": 2})
HISTOGRAM = np.random.default_rng(1).integers(0, 200, UNIVERSE.size)
WORKLOAD = release.all_marginals(UNIVERSE, order=2)


def quiet(done: int, steps: int) -> None:
    """No bar."""


def dense(loss: dp.Loss, **options: object) -> release.SynthesizedModel:
    model = release.synthesize(
        UNIVERSE, HISTOGRAM, workload=WORKLOAD, loss=loss, sensitivity=ONE, progress=quiet, **options
    )  # type: ignore[call-overload]
    assert isinstance(model, release.SynthesizedModel)
    return model


@pytest.fixture
def mixture(monkeypatch: pytest.MonkeyPatch) -> factored.FactoredModel:
    """Fits that end before they are good."""
    monkeypatch.setattr(mixture_fit, "STEPS", 40)
    monkeypatch.setattr(factored, "COMPONENTS", 8)
    source, universe = np.random.default_rng(2), dp.Universe({"a": 2, "b": 40, "c": 1, "d": 5})
    rows = np.stack([source.integers(0, size, 500) for size in universe.shape], axis=1)
    workload = release.all_marginals(universe, order=3)
    return factored.synthesize_rows(universe, rows, workload=workload, loss=dp.Loss.zcdp(rho=1), sensitivity=ONE)


def again(model: release.Model, path: Path) -> Any:
    model.save(path)
    return release.Model.load(path)


@pytest.mark.parametrize("adaptively", [False, True])
@pytest.mark.parametrize("remeasure", [0, 0.1])
def test_a_dense_model_is_read_back_with_all_that_it_was_learned_from(
    remeasure: float, adaptively: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicted_error.Prediction, "adaptively", adaptively)
    model = dense(dp.Loss.zcdp(rho=0.1), remeasure=remeasure, rows=2000)
    read = again(model, tmp_path / "model")
    assert type(read) is release.SynthesizedModel
    for name in ("universe", "loss", "reason", "interrupted", "missed", "distances", "rows"):
        assert getattr(read, name) == getattr(model, name), name
    assert isinstance(read.loss, Zcdp if adaptively else GaussianLoss)
    assert bool(read.distances) == bool(remeasure)
    assert read.cells.dtype == model.cells.dtype
    assert (read.cells == model.cells).all()
    assert (read.estimated_errors(WORKLOAD) == model.estimated_errors(WORKLOAD)).all()
    assert (again(read, tmp_path / "again").estimated_errors(WORKLOAD) == model.estimated_errors(WORKLOAD)).all()


def test_an_interrupted_model_is_read_back_as_one(tmp_path: Path) -> None:
    cells = np.full(UNIVERSE.size, 2.0)
    model = release.SynthesizedModel(
        UNIVERSE, cells, loss=dp.Loss.gaussian(mu=1), reason="°", missed={}, interrupted=True
    )
    read = again(model, tmp_path / "model")
    assert (read.interrupted, read.reason, read.missed) == (True, "°", {})
    with pytest.raises(NotSupported, match="interrupted"):
        read.estimated_error(WORKLOAD.query(0))


def test_a_mixture_is_read_back_with_all_that_it_was_learned_from(
    mixture: factored.FactoredModel, tmp_path: Path
) -> None:
    read = again(mixture, tmp_path / "model")
    assert type(read) is factored.FactoredModel
    for name in ("universe", "loss", "reason", "interrupted", "missed", "misfit", "rows"):
        assert getattr(read, name) == getattr(mixture, name), name
    workload = release.all_marginals(mixture.universe, order=2)
    assert (read.answers(workload) == mixture.answers(workload)).all()
    assert (read.estimated_errors(workload) == mixture.estimated_errors(workload)).all()
    triple = release.where(mixture.universe, a=[0], b=range(7), d=[1, 2])
    assert read.estimated_error(triple) == mixture.estimated_error(triple) > 0


def test_a_model_without_a_history_is_read_back_without_one(tmp_path: Path) -> None:
    assert type(again(release.DenseModel(UNIVERSE, np.ones(12)), tmp_path / "model")) is release.DenseModel


@pytest.mark.parametrize("loss", [Zcdp(Fraction(1, 3)), GaussianLoss(Fraction(0)), GaussianLoss(Fraction(7, 3) ** 99)])
def test_a_loss_is_read_back_to_the_last_digit(loss: dp.Loss) -> None:
    assert learned._read(json.loads(json.dumps(learned._written(loss)))) == loss


def test_a_loss_of_too_many_digits_is_rounded_up() -> None:
    long = Zcdp(Fraction(2**300_000 + 1, 3**200_000))
    read = learned._read(learned._written(long))
    assert isinstance(read, Zcdp)
    assert long.rho < read.rho < long.rho * Fraction(1 + 2**47, 2**47)


def test_a_loss_that_no_plan_has_is_not_written(tmp_path: Path) -> None:
    model = release.SynthesizedModel(UNIVERSE, np.ones(12), loss=dp.Loss.pure(epsilon=1), reason="", missed={})
    with pytest.raises(NotSupported, match="Gaussian, or zCDP"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


Change = Callable[[dict[str, Any], dict[str, np.ndarray]], object]

OF_ANY: dict[str, Change] = {
    "no loss": lambda told, _: told.pop("loss"),
    "another loss": lambda told, _: told.update(loss={"pure": ["1", "1"]}),
    "two losses": lambda told, _: told["loss"].update(pure=["1", "1"], zcdp=["1", "1"]),
    "a negative loss": lambda told, _: told.update(loss={"zcdp": ["-1", "1"]}),
    "a loss divided by 0": lambda told, _: told.update(loss={"zcdp": ["1", "0"]}),
    "a loss without end": lambda told, _: told.update(loss={"zcdp": ["1" * 10**6, "3" * 10**6]}),
    "a loss in words": lambda told, _: told.update(loss={"zcdp": ["much", "1"]}),
    "a number for a loss": lambda told, _: told.update(loss=1),
    "a column that is not there": lambda told, _: told["missed"].append([[9], [1.0]]),
    "a column from the end": lambda told, _: told["missed"].append([[-1], [1.0]]),
    "a column twice": lambda told, _: told["missed"].append([[0, 0], [1.0]]),
    "columns in disorder": lambda told, _: told["missed"].append([[1, 0], [1.0]]),
    "a column that is true": lambda told, _: told["missed"].append([[True], [1.0]]),
    "an error below 0": lambda told, _: told["missed"].append([[0], [-1.0]]),
    "an error that is no number": lambda told, _: told["missed"].append([[0], [math.nan]]),
    "an error without end": lambda told, _: told["missed"].append([[0], [math.inf]]),
    "an error of many digits": lambda told, _: told["missed"].append([[0], [10**400]]),
    "two errors": lambda told, _: told["missed"].append([[0], [1.0, 1.0]]),
    "errors that are no list": lambda told, _: told.update(missed=3),
    "interrupted, perhaps": lambda told, _: told.update(interrupted="perhaps"),
}
OF_DENSE: dict[str, Change] = {
    "a reason of numbers": lambda told, _: told.update(reason=[1]),
    "a distance without noise": lambda told, _: told["distances"].append([[0], [1.0, 0.0]]),
    "a distance that is no number": lambda told, _: told["distances"].append([[0], [math.nan, 1.0]]),
    "no distances": lambda told, _: told.pop("distances"),
    "no cells": lambda _, arrays: arrays.pop("cells"),
}
OF_MIXTURES: dict[str, Change] = {
    "a misfit that is no number": lambda told, _: told.update(misfit=math.nan),
    "a pair without its columns": lambda told, _: told.update(missed=[[[0, 1], [1.0]]]),
    "more columns than there are grids": lambda _, arrays: arrays.update(grids=arrays["grids"][:1]),
    "no grids": lambda _, arrays: arrays.update(grids=arrays["grids"][:0]),
    "grids of no level": lambda _, arrays: arrays.update(grids=arrays["grids"][0]),
    "grids cut short": lambda _, arrays: arrays.update(grids=arrays["grids"][:, :-1]),
    "grids too long": lambda _, arrays: arrays.update(grids=np.repeat(arrays["grids"], 2, axis=1)),
    "grids of reals": lambda _, arrays: arrays.update(grids=arrays["grids"].astype(float)),
    "a group that is not there": lambda _, arrays: arrays["grids"].__setitem__((0, 3), 2**62),
    "a group from the end": lambda _, arrays: arrays["grids"].__setitem__((0, 3), -1),
    "columns cut short": lambda _, arrays: arrays.update(columns=arrays["columns"][:-1]),
    "a column of nothing": lambda _, arrays: arrays.update(columns=0 * arrays["columns"]),
    "a column that is no number": lambda _, arrays: arrays.update(columns=np.nan * arrays["columns"]),
    "columns in words": lambda _, arrays: arrays.update(columns=arrays["columns"].astype(str)),
    "no columns": lambda _, arrays: arrays.pop("columns"),
}


def test_a_file_that_does_not_say_whether_it_has_a_history_is_refused(tmp_path: Path) -> None:
    release.DenseModel(UNIVERSE, np.ones(12)).save(tmp_path / "model")
    with np.load(tmp_path / "model") as file:
        about = json.loads(file["about"].tobytes().decode())
    del about["learned"]
    with (tmp_path / "model").open("wb") as file:
        np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), cells=np.ones(12))
    with pytest.raises(InvalidParameter, match="not a model"):
        release.Model.load(tmp_path / "model")


def changed(path: Path, change: Change) -> None:
    """Change what a file says, in a way that keeps it an archive of arrays."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file}
    about = json.loads(arrays.pop("about").tobytes().decode())
    change(about["learned"], arrays)
    with path.open("wb") as file:
        np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)


def unchanged(told: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Nothing."""


@pytest.mark.parametrize("case", OF_ANY | OF_DENSE)
def test_a_hostile_history_of_a_dense_model_is_refused(case: str, tmp_path: Path) -> None:
    missed = {(): 4.0, (0,): 2.0, (1,): 1.0, (0, 1): 3.0}
    model = release.SynthesizedModel(
        UNIVERSE, np.ones(12), loss=dp.Loss.zcdp(rho=1), reason="", missed=missed, distances={(0, 1): Distance(-3, 2)}
    )
    model.save(tmp_path / "model")
    changed(tmp_path / "model", unchanged)
    assert release.Model.load(tmp_path / "model").missed == missed  # type: ignore[attr-defined]
    changed(tmp_path / "model", (OF_ANY | OF_DENSE)[case])
    with pytest.raises(InvalidParameter, match="not a model"):
        release.Model.load(tmp_path / "model")


def test_a_hostile_history_of_a_mixture_is_refused(mixture: factored.FactoredModel, tmp_path: Path) -> None:
    for case, change in (OF_ANY | OF_MIXTURES).items():
        mixture.save(tmp_path / "model")
        changed(tmp_path / "model", unchanged)
        assert release.Model.load(tmp_path / "model").missed == mixture.missed  # type: ignore[attr-defined]
        changed(tmp_path / "model", change)
        with pytest.raises(InvalidParameter, match="not a model"):
            print(case, release.Model.load(tmp_path / "model"))


def test_a_history_with_any_letter_changed_is_read_or_refused(tmp_path: Path) -> None:
    """What is read tells errors of its workload, or says in words why not: nothing else may happen."""
    dense(dp.Loss.zcdp(rho="0.1"), remeasure=0.1).save(tmp_path / "model")
    with np.load(tmp_path / "model") as file:
        about, cells, source = file["about"], file["cells"], np.random.default_rng(2)
    for _ in range(sized(200, 5000)):
        damaged = about.copy()
        damaged[source.integers(len(about))] ^= int(source.integers(1, 256))
        with (tmp_path / "changed").open("wb") as file:
            np.savez(file, about=damaged, cells=cells)
        with contextlib.suppress(InvalidParameter, NotSupported):
            read = release.Model.load(tmp_path / "changed")
            assert np.isfinite(read.estimated_errors(WORKLOAD)).all()  # type: ignore[attr-defined]
