"""The tables that benchmarks ask about: columns of small whole numbers from 0, with the number of values of each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from discreet import dp

HERE = Path(__file__).parent / "data"

ADULT = {
    "age": 85, "workclass": 9, "fnlwgt": 100, "education-num": 16, "marital-status": 7, "occupation": 15,
    "relationship": 6, "race": 5, "sex": 2, "capital-gain": 100, "capital-loss": 100, "hours-per-week": 99,
    "native-country": 42, "income>50K": 2,
}  # fmt: skip
ADULT_7 = ("education-num", "marital-status", "occupation", "relationship", "race", "sex", "income>50K")
W5 = ("workclass", "education-num", "marital-status", "sex", "income>50K")
W8 = ("workclass", "education-num", "marital-status", "occupation", "relationship", "race", "sex", "income>50K")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One row per person, and for each column how many values it has, which is public."""

    name: str
    sizes: dict[str, int]
    rows: np.ndarray  # people x columns

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes.values())

    @property
    def universe(self) -> dp.Universe:
        return dp.Universe(self.sizes)

    @property
    def codes(self) -> np.ndarray:
        """The number of the cell of each row, as `universe` numbers them."""
        return np.ravel_multi_index(tuple(self.rows.T), self.shape)

    @property
    def histogram(self) -> np.ndarray:
        """How many rows fall into each cell of `universe`."""
        return np.bincount(self.codes, minlength=self.universe.size)

    def marginal(self, axes: Sequence[int]) -> np.ndarray:
        """Return how many rows fall into each cell of the marginal over these columns."""
        shape = [self.shape[axis] for axis in axes]
        cells = np.ravel_multi_index(tuple(self.rows[:, axis] for axis in axes), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    def share(self, axes: Sequence[int]) -> np.ndarray:
        """Return the part of the rows that falls into each cell of a marginal."""
        return self.marginal(axes) / len(self.rows)

    def select(self, name: str, columns: Sequence[str]) -> Table:
        """Return the table of some columns, in this order."""
        places = [list(self.sizes).index(column) for column in columns]
        return Table(name, {column: self.sizes[column] for column in columns}, self.rows[:, places])


def adult_14() -> Table:
    """All 14 columns of Adult: 48,842 people, 6e17 cells."""
    return _table("Adult-14", parquet.read_table(HERE / "adult.parquet"), ADULT)


def adult_7() -> Table:
    """The seven columns of the interactive figures: 201,600 cells."""
    return adult_14().select("Adult-7", ADULT_7)


def w5() -> Table:
    """Five columns of Adult: 4,032 cells."""
    return adult_14().select("W5", W5)


def w8() -> Table:
    """Eight columns of Adult: 1,814,400 cells."""
    return adult_14().select("W8", W8)


def nltcs(folder: Path) -> Table | None:
    """The National Long Term Care Survey: 21,574 people, 16 columns of yes and no; None if it is not in the folder."""
    for file in (folder / "nltcs.csv", folder / "nltcs" / "nltcs.csv"):
        if file.exists():
            read = csv.read_csv(file)
            return _table("NLTCS", read, dict.fromkeys(read.column_names, 2))
    return None


SHIPPED: dict[str, Callable[[], Table]] = {"adult-7": adult_7, "adult-14": adult_14, "w5": w5, "w8": w8}


def load(name: str, folder: Path, figures: str) -> Table | None:
    """Return a table by its name; where it is not there, say which figures are left out, and where it can be had."""
    if name in SHIPPED:
        return SHIPPED[name]()
    table = {"nltcs": nltcs}[name](folder)
    if table is None:
        print(
            f"left out: {figures}, for want of {name}.csv in {folder}; bench/data/README.md says where it can be had.",
            file=sys.stderr,
        )
    return table


def add_folder(options: argparse.ArgumentParser) -> None:
    """Add the option that names the folder of tables that cannot be shipped."""
    options.add_argument("--data", metavar="FOLDER", type=Path, default=HERE, help="where nltcs.csv is")


def _table(name: str, read: pa.Table, sizes: dict[str, int]) -> Table:
    rows = np.stack([read[column].to_numpy() for column in sizes], axis=1).astype(np.int64)
    if rows.min() < 0 or (rows.max(axis=0) >= list(sizes.values())).any():
        raise ValueError(f"{name} holds values that its coding does not have.")
    return Table(name, sizes, rows)
