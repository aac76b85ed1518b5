"""Turbo's PMW-Bypass with an exact cache, from its paper: what it spends on a stream of predicates.

Kostopoulou, Tholoniat, Cidon, Geambasu, Lecuyer, "Turbo: effective caching in differentially-private databases", 2023:
every answer is within alpha n of the truth but for a chance of beta, rows are replaced and n is public, losses are pure
and added up. A query that was asked before is answered again. One whose cells have all been learned from often enough
goes through a sparse vector that compares it with a histogram: it is answered from there, or measured, and then the
sparse vector is paid for again. Others bypass that: they are measured, and the histogram learns where it is well off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

VISITS, MORE_VISITS = 100, 5  # of each cell before the histogram is tried, and what is added when it fails
RATES = ((0, 2.0), (50, 0.5), (100, 0.2))  # from so many updates on; an eighth of it is the step
MARGIN = 0.05  # of alpha: a measured answer that is off by less teaches nothing


@dataclass
class Turbo:
    """One stream; answers are parts of the n rows."""

    table: np.ndarray  # part of the rows in each cell
    rows: int
    alpha: float
    beta: float
    source: np.random.Generator
    pace: float = 1.0  # a factor of the rates, which were chosen for alpha = 0.05
    spent: float = 0.0
    missed: int = 0  # answers off by more than alpha
    measured: int = 0
    cache: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = len(self.table)
        self.epsilon = 4 * math.log(1 / self.beta) / (self.rows * self.alpha)
        self.learned = np.full(cells, 1 / cells)
        self.visits, self.wanted = np.zeros(cells, int), np.full(cells, VISITS)
        self.updates = 0
        self.threshold: float | None = None

    def ask(self, number: int, weights: np.ndarray) -> float:
        """Answer a query; its number tells whether it was asked before."""
        if number not in self.cache:
            self.cache[number] = self.answer(weights)
        self.missed += abs(self.cache[number] - float(weights @ self.table)) > self.alpha
        return self.cache[number]

    def answer(self, weights: np.ndarray) -> float:
        """Answer a query that is new."""
        exact, guess = float(weights @ self.table), float(weights @ self.learned)
        inside = weights > 0
        if (self.visits[inside] < self.wanted[inside]).any():
            return self.learn(weights, guess, self.measure(exact), MARGIN * self.alpha)
        if self.threshold is None:
            self.spent += 3 * self.epsilon  # 1 for the threshold, 2 for the queries until one is above it
            self.threshold = self.alpha / 2 + self.noise()
        if abs(exact - guess) + self.noise() < self.threshold:
            return guess
        self.threshold = None
        self.wanted[inside] += MORE_VISITS
        return self.learn(weights, guess, self.measure(exact), 0.0)

    def noise(self) -> float:
        return float(self.source.laplace(0, 1 / (self.epsilon * self.rows)))

    def measure(self, exact: float) -> float:
        self.spent += self.epsilon
        self.measured += 1
        return exact + self.noise()

    def learn(self, weights: np.ndarray, guess: float, value: float, margin: float) -> float:
        """Move the histogram towards a measured value, which is returned."""
        self.visits[weights > 0] += 1
        if abs(value - guess) > margin:
            rate = self.pace * next(rate for start, rate in reversed(RATES) if self.updates >= start) / 8
            self.learned = self.learned * np.exp(rate * math.copysign(1, value - guess) * weights)
            self.learned /= self.learned.sum()
            self.updates += 1
        return value


def cached(requests: np.ndarray, *, rows: int, alpha: float, beta: float) -> float:
    """Return what an exact cache over Laplace noise spends: each query that is new once, with beta used up by it."""
    return len(np.unique(requests)) * math.log(1 / beta) / (rows * alpha)
