"""The OpenDP side of the noise figures, for OpenDP's own environment: a request per line in, its answer per line out.

Lines are JSON. A request has a `task`, which is a function below, and its arguments. Mechanisms are made once and kept,
and vectors are given as NumPy arrays, which OpenDP reads a little faster than lists.
"""

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")

ROWS = [1] * 100  # what the filter's questions add up
COUNT = 1_000_000  # what a scalar release is given where its time is held against its noise
MOST_QUESTIONS = 20_000  # that the filter's budget holds


@lru_cache
def mechanism(law, kind, scale, vector):
    """A ready-made measurement: noise on a scalar or a vector of this kind of number."""
    number = {"int": int, "float": float}[kind]
    domain = dp.atom_domain(T=int) if kind == "int" else dp.atom_domain(T=float, nan=False)
    if not vector:
        distance = dp.absolute_distance(T=number)
    else:
        domain = dp.vector_domain(domain)
        distance = {"laplace": dp.l1_distance, "gaussian": dp.l2_distance}[law](T=number)
    return {"laplace": dp.m.make_laplace, "gaussian": dp.m.make_gaussian}[law](domain, distance, float(scale))


def values(kind, count):
    """What is released: zeros, or real numbers that are no multiples of anything large."""
    if kind == "int":
        return np.zeros(count, dtype=np.int32) if count else 0
    return np.arange(count) % 1000 + 0.1 if count else 0.1


def release(law, kind, scale, count, calls):
    """Seconds of so many releases of `count` values; of a scalar for a count of 0."""
    measurement, given = mechanism(law, kind, scale, bool(count)), values(kind, count)
    before = time.perf_counter()
    for _ in range(calls):
        measurement(given)
    return time.perf_counter() - before


def draws(law, kind, scale, count):
    """Nanoseconds and noise of releases of one count, one by one, after some that warm up."""
    measurement, times, noise = mechanism(law, kind, scale, False), [], []
    for _ in range(200):
        measurement(COUNT)
    for _ in range(count):
        before = time.perf_counter_ns()
        released = measurement(COUNT)
        times.append(time.perf_counter_ns() - before)
        noise.append(released - COUNT)
    return [times, noise]


@lru_cache
def question():
    """A bounded sum with noise, and the space that it is asked in."""
    space = dp.vector_domain(dp.atom_domain(bounds=(0, 10))), dp.symmetric_distance()
    return space >> dp.t.then_sum() >> dp.m.then_laplace(1e5), space


@lru_cache
def aged_filter(others):
    """A privacy filter that has admitted so many questions."""
    asked, space = question()
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())
    queryable = dp.c.make_privacy_filter(odometer, 1, asked.map(1) * MOST_QUESTIONS)(ROWS)
    for _ in range(others):
        queryable(asked)
    return queryable


def admit(others, calls):
    """Seconds of so many admissions after `others`, without what answering the questions takes by itself."""
    queryable, (asked, _) = aged_filter(others), question()
    before = time.perf_counter()
    for _ in range(calls):
        queryable(asked)
    between = time.perf_counter()
    for _ in range(calls):
        asked(ROWS)
    return 2 * between - before - time.perf_counter()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(release, draws, admit, packages=("opendp", "numpy"))
