"""One small orthonormal transform along every axis of a dense array: how counts become independent effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]

_TOGETHER = 64  # cells of neighbouring axes that share one matrix: a wider product of matrices costs more than a pass


def contrasts(size: int) -> Reals:
    """Return an orthonormal matrix whose first row is constant (Helmert): the other rows are effects that sum to 0."""
    rows = np.zeros((size, size))
    rows[0] = 1 / math.sqrt(size)
    for i in range(1, size):
        rows[i, :i], rows[i, i] = 1, -i
        rows[i] /= math.sqrt(i * (i + 1))
    return rows


@dataclass(frozen=True, slots=True)
class Separable:
    """The transform by `contrasts` along every axis; `inverse` undoes it, and is its adjoint.

    >>> transform = Separable.of((2, 3), np.float64)
    >>> cells = np.arange(6.0)
    >>> np.allclose(transform.inverse(transform.forward(cells)), cells)
    True
    """

    shape: tuple[int, ...]
    matrices: tuple[Reals, ...]

    @classmethod
    def of(cls, shape: Sequence[int], dtype: type[np.floating]) -> Separable:
        """Return the transform of arrays of this shape."""
        groups: list[list[int]] = []
        for size in shape:
            if groups and math.prod(groups[-1]) * size <= _TOGETHER:
                groups[-1].append(size)
            else:
                groups.append([size])
        return cls(tuple(shape), tuple(_together(group).astype(dtype) for group in groups))

    def forward(self, cells: Reals) -> Reals:
        """Return the effects of dense cells, flat, in the order of the cells: place 0 of an axis is its constant."""
        for matrix in self.matrices:  # each product turns the first axis into the last one
            cells = cells.reshape(len(matrix), -1).T @ matrix.T
        return np.asarray(cells).reshape(-1)

    def inverse(self, effects: Reals) -> Reals:
        """Return the dense cells of effects, flat."""
        for matrix in self.matrices:
            effects = effects.reshape(len(matrix), -1).T @ matrix
        return np.asarray(effects).reshape(-1)


def _together(sizes: list[int]) -> Reals:
    matrix: Reals = np.ones((1, 1))
    for size in sizes:
        matrix = np.asarray(np.kron(matrix, contrasts(size)))
    return matrix
