"""Fits keep linear algebra to one thread, and leave it as they found it."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from discreet import dp, release
from discreet.release.threads import one_thread

ONE = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_inside_there_is_one_thread_and_afterwards_as_many_as_before() -> None:
    with one_thread():  # libraries are found now
        pass
    with threadpool_limits(limits=2, user_api="blas"):
        assert threads() == {2}
        with one_thread():
            assert threads() == {1}
        assert threads() == {2}


def test_a_fit_has_one_thread() -> None:
    universe = dp.Universe({"a": 4, "b": 3})
    seen: list[set[int]] = []
    with threadpool_limits(limits=2, user_api="blas"):
        release.synthesize(
            universe, np.full(12, 50), workload=release.all_marginals(universe, order=2), sensitivity=ONE,
            loss=dp.Loss.zcdp(rho=0.1), progress=lambda done, steps: seen.append(threads()),
        )  # fmt: skip
    assert seen
    assert set.union(*seen) == {1}
