"""The mixture of products that agrees with noisy effects as well as they deserve, and is no more mixed than that.

What is minimised is half of chi^2, the squares of what effects are missed by in units of their noise, plus a pull:
so many times the number of rows times what the component of a row says about its columns (the sum over columns of the
mean divergence of a component from the column as a whole). The pull plays the part that greatest entropy plays in a
dense table. Steps go on until chi^2 has come down to the number of effects measured, which is what the truth would
give (the discrepancy principle), and the pull is let go bit by bit until it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.release.survey import Level, columns, total

Singles: TypeAlias = NDArray[np.float32]
Reals: TypeAlias = NDArray[np.float64]
Axes: TypeAlias = tuple[int, ...]

STEPS = 1500
"""Steps after which a fit ends in any case."""
_RATE = 0.05  # of a step, in logits
_PULL = 0.03  # at first; it is halved where, in _LOOK steps, chi^2 came down by less than this part:
_LOOK, _STALLED = 25, 0.03
_MOMENT, _SQUARE = 0.9, 0.999  # what Adam keeps of the gradient and of its square
_TINY = 1e-8

# Chosen as the shares of a `Survey` were, and kept.


class Term(Protocol):
    """What effects of one order say about a mixture."""

    def __call__(self, points: Singles, weights: Singles) -> tuple[float, Singles, Singles]:
        """Return half of chi^2 and its gradients, given the coordinates of every component and their weights."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ones:
    rows: np.float32
    values: Singles
    precisions: Singles

    def __call__(self, points: Singles, weights: Singles) -> tuple[float, Singles, Singles]:
        missed = self.rows * (weights @ points) - self.values
        weighed = missed * self.precisions
        return float(missed @ weighed) / 2, weights[:, None] * (self.rows * weighed), self.rows * (points @ weighed)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """All pairs of coordinates at once; those that were not measured have precision 0."""

    rows: np.float32
    values: Singles
    precisions: Singles

    def __call__(self, points: Singles, weights: Singles) -> tuple[float, Singles, Singles]:
        missed = self.rows * (points.T @ (weights[:, None] * points)) - self.values
        weighed = missed * self.precisions
        moved = self.rows * (points @ weighed)
        back = self.rows * (points @ weighed.T)
        return float(np.vdot(missed, weighed)) / 2, weights[:, None] * (moved + back), (moved * points).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Triples:
    """Triples with the same first two columns at once: where these are, which coordinates are third, and values."""

    rows: np.float32
    blocks: list[tuple[slice, slice, NDArray[np.intp], Singles, Singles]]

    def __call__(self, points: Singles, weights: Singles) -> tuple[float, Singles, Singles]:
        value, slope, weighted = 0.0, np.zeros_like(points), self.rows * weights[:, None] * points
        inner = np.zeros_like(points)  # the gradient in `weighted`
        for first, second, third, values, precisions in self.blocks:
            one, other, last = points[:, first], points[:, second], weighted[:, third]
            both = (one[:, :, None] * other[:, None, :]).reshape(len(points), -1)
            missed = both.T @ last - values
            weighed = missed * precisions
            value += float(np.vdot(missed, weighed)) / 2
            inner[:, third] += both @ weighed
            back = (last @ weighed.T).reshape(len(points), one.shape[1], other.shape[1])
            slope[:, first] += (back @ other[:, :, None])[:, :, 0]
            slope[:, second] += (one[:, None, :] @ back)[:, 0]
        return value, slope + self.rows * weights[:, None] * inner, self.rows * (inner * points).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Everything that was measured, ready to be held against a mixture."""

    rows: float
    columns: list[Reals]  # shares of their values: what the pull pulls to
    effects: int
    parts: list[tuple[list[Singles], Term]]  # for each level the bases of the columns, and what it says

    @classmethod
    def of(cls, levels: Sequence[Level]) -> Evidence:
        """Return the evidence of the levels of a survey."""
        rows = total(levels[0])
        parts = [
            ([base.astype(np.float32) for base in level.bases()], _term(level, np.float32(rows))) for level in levels
        ]
        effects = sum(part.size for level in levels for axes, (part, _) in level.measured.items() if axes)
        return cls(rows, columns(levels[0]), effects, parts)

    def missed(self, shares: list[Singles], weights: Singles) -> tuple[float, list[Singles], Singles]:
        """Return half of chi^2, and its gradients in the shares of the columns and in the weights."""
        value, by_weight = 0.0, np.zeros_like(weights)
        by_share = [np.zeros_like(table) for table in shares]
        for bases, term in self.parts:
            ends = np.cumsum([len(base) for base in bases])[:-1]
            points = np.concatenate([table @ base.T for table, base in zip(shares, bases, strict=True)], axis=1)
            own, slope, weighed = term(points, weights)
            value, by_weight = value + own, by_weight + weighed
            for table, part, base in zip(by_share, np.split(slope, ends, axis=1), bases, strict=True):
                table += part @ base
        return value, by_share, by_weight


def _term(level: Level, rows: np.float32) -> Term:
    sizes = [int(groups.max()) for groups in level.grid]  # coordinates: one less than groups
    starts = [0, *np.cumsum(sizes).tolist()]
    where = [slice(start, end) for start, end in pairwise(starts)]
    measured = {axes: found for axes, found in level.measured.items() if len(axes) == level.order}
    shape = (starts[-1],) * min(level.order, 2)
    if level.order < 3:
        values, precisions = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        for axes, (part, sigma) in measured.items():
            at = tuple(where[axis] for axis in axes)
            values[at], precisions[at] = part, sigma**-2
        return (_Ones if level.order == 1 else _Pairs)(rows, values, precisions)
    blocks = []
    for first, second in sorted({axes[:2] for axes in measured}):
        own = [(axes[2], *found) for axes, found in measured.items() if axes[:2] == (first, second)]
        third = np.concatenate([np.arange(starts[axis], starts[axis + 1]) for axis, _, _ in own])
        flat = [part.reshape(sizes[first] * sizes[second], -1) for _, part, _ in own]
        precise = [np.full(sizes[axis], sigma**-2, np.float32) for axis, _, sigma in own]
        blocks.append(
            (
                where[first],
                where[second],
                third,
                np.concatenate(flat, axis=1).astype(np.float32),
                np.concatenate(precise),
            )
        )
    return _Triples(rows, blocks)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A mixture on the way, and chi^2 over the number of effects measured."""

    weights: Reals
    shares: list[Reals]
    misfit: float


def fit(evidence: Evidence, start: Reals) -> Iterator[Found]:
    """Yield the mixture after every step; the last one is the fit.

    `start` has a row of normal numbers for every component, one for each value of each column: how far its logits are
    from those of the column as a whole before the first step.
    """
    base = np.log(np.concatenate(evidence.columns)).astype(np.float32)
    ends = np.cumsum([len(column) for column in evidence.columns])[:-1]
    logits = np.concatenate([np.zeros((len(start), 1)), base + start], axis=1).astype(np.float32)
    moment, square = np.zeros_like(logits), np.zeros_like(logits)
    pull, before = np.float32(evidence.rows * _PULL), math.inf
    for step in range(1, STEPS + 1):
        weights = softmax(logits[:, 0])
        shares = [softmax(part) for part in np.split(logits[:, 1:], ends, axis=1)]
        value, by_share, by_weight = evidence.missed(shares, weights)
        misfit = 2 * value / max(1, evidence.effects)
        if misfit <= 1 or step == STEPS:
            yield Found(_exact(weights), [_exact(table) for table in shares], misfit)
            return
        if step % _LOOK == 0:
            if misfit > (1 - _STALLED) * before:
                pull /= 2
            before = misfit
        for table, slope, own in zip(shares, by_share, np.split(base, ends), strict=True):
            excess = np.log(np.maximum(table, np.finfo(np.float32).tiny)) - own
            slope += pull * weights[:, None] * excess
            by_weight += pull * (table * excess).sum(axis=1)
        slopes = [
            (table * (part - (table * part).sum(axis=1, keepdims=True)))
            for table, part in zip(shares, by_share, strict=True)
        ]
        gradient = np.concatenate([(weights * (by_weight - weights @ by_weight))[:, None], *slopes], axis=1)
        moment += (1 - _MOMENT) * (gradient - moment)
        square += (1 - _SQUARE) * (gradient**2 - square)
        root = np.sqrt(square / (1 - _SQUARE**step))
        logits -= _rate(step) / (1 - _MOMENT**step) * moment / (root + _TINY * root.max() + np.finfo(np.float32).tiny)
        yield Found(_exact(weights), [_exact(table) for table in shares], misfit)


def _rate(step: int) -> np.float32:
    return np.float32(_RATE * (1 + math.cos(math.pi * step / STEPS)) / 2)


def softmax(logits: Singles) -> Singles:
    """Return shares from their logarithms, up to a constant in each row."""
    found = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def _exact(shares: Singles) -> Reals:
    """Return shares in double precision, adding up to 1 there."""
    found = shares.astype(np.float64)
    return np.asarray(found / found.sum(axis=-1, keepdims=True))
