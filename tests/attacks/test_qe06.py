"""QE-06: nobody chooses or shares the state of the noise: not a child, a thread, a restart or a caller."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.randomness import Stream, system
from discreet.errors import InvalidParameter
from tests.broken import noise

COUNT = 600  # more than a buffer holds, which is 512 numbers of 64 bits; and several blocks of single releases
THREADS = 8
WIDE = 2**51  # a scale at which two equal values in 10,000 have a chance below 2^-25

COUNTING = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
LAPLACE, GAUSSIAN = dp.Laplace(sensitivity=COUNTING, scale=WIDE), dp.Gaussian(sensitivity=COUNTING, sigma=WIDE)

Source = Callable[[], list[int]]
"""Draws numbers that would be equal to others only if they were made of the same bits."""


def words_of(source: Callable[[], Stream]) -> Source:
    """Numbers of 64 bits, some one by one and some in bulk."""

    def draw() -> list[int]:
        stream = source()
        return [stream.integer(64) for _ in range(COUNT)] + [int(w) for w in stream.words(COUNT, 64)]

    return draw


def releases() -> list[int]:
    """Noise, one value after another and in bulk."""
    drawn = [mechanism.release(0) for mechanism in (LAPLACE, GAUSSIAN) for _ in range(COUNT // 2)]
    return drawn + [int(v) for m in (LAPLACE, GAUSSIAN) for v in m.release(np.zeros(COUNT // 2, dtype=np.int64))]


def check_disjoint(*drawn: list[int]) -> None:
    together = [number for numbers in drawn for number in numbers]
    assert len(set(together)) == len(together), "a block of keystream was used twice"


def in_forked_child(draw: Source) -> list[int]:
    """What a child draws after os.fork."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            with os.fdopen(write, "w") as pipe:
                pipe.write(" ".join(str(n) for n in draw()))
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        data = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return [int(word) for word in data.split()]


def check_fork(draw: Source) -> None:
    """A parent that has drawn before, its children and itself afterwards never meet."""
    before = draw()[:-1]
    children = [in_forked_child(draw) for _ in range(2)]
    check_disjoint(before, *children, draw())


def _send(draw: Source, queue: multiprocessing.SimpleQueue[list[int]]) -> None:
    queue.put(draw())


def check_multiprocessing(draw: Source) -> None:
    context = multiprocessing.get_context("fork")
    before, queue = draw(), context.SimpleQueue()
    workers = [context.Process(target=_send, args=(draw, queue)) for _ in range(3)]
    for worker in workers:
        worker.start()
    drawn = [queue.get() for _ in workers]
    for worker in workers:
        worker.join(30)
    check_disjoint(before, *drawn, draw())


def check_threads(draw: Source) -> None:
    """Eight threads draw at once, without an error and without a repeated block."""
    gate = threading.Barrier(THREADS)

    def work() -> list[int]:
        gate.wait()
        return draw()

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            futures = [pool.submit(work) for _ in range(THREADS)]
    finally:
        sys.setswitchinterval(switch)
    assert [future.exception() for future in futures] == [None] * THREADS
    check_disjoint(*(future.result() for future in futures))


@pytest.mark.parametrize("check", [check_fork, check_multiprocessing])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_parent_and_child_never_share_a_block(check: Callable[[Source], None]) -> None:
    check(words_of(system))
    check(releases)
    with pytest.raises(AssertionError):
        check(words_of(noise.stream_of_the_process))
    with pytest.raises(AssertionError):
        check(noise.drawn_ahead_for_the_process)


def test_eight_threads_draw_at_once() -> None:
    check_threads(words_of(system))
    check_threads(releases)
    shared = noise.SharedBuffer()
    with pytest.raises(AssertionError):
        check_threads(words_of(lambda: shared))


PROGRAM = "from discreet.dp.randomness import system; print(*[system().integer(64) for _ in range(600)])"


def test_a_restart_draws_anew() -> None:
    drawn = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=os.environ
        )
        drawn.append([int(word) for word in run.stdout.split()])
    check_disjoint(*drawn, words_of(system)())


def public_signatures() -> Iterator[tuple[str, inspect.Signature]]:
    for name in dp.__all__:
        thing = getattr(dp, name)
        for member in [thing, *(getattr(thing, m) for m in dir(thing) if not m.startswith("_"))]:
            if callable(member):
                try:
                    yield f"{name}: {getattr(member, '__qualname__', member)}", inspect.signature(member)
                except (TypeError, ValueError):
                    continue


CHOSEN = {"seed", "rng", "random_state", "generator", "prng", "stream", "source", "key"}


def test_no_public_signature_takes_a_seed() -> None:
    takes = {name for name, signature in public_signatures() if CHOSEN & set(signature.parameters)}
    assert takes == {"simulate: simulate"}


def test_the_search_for_seeds_sees_one() -> None:
    assert CHOSEN & set(inspect.signature(np.random.RandomState().seed).parameters)


def test_simulate_repeats_and_refuses_what_is_private() -> None:
    """None. The draws are a function of the seed: never give it a private value. An Exact is refused."""
    mechanism = dp.Laplace(sensitivity=COUNTING, epsilon=Fraction(1, 1000))
    one, same, other = (dp.simulate(mechanism, 5, 50, seed=seed) for seed in (1, 1, 2))
    assert one == same != other
    exact = dp.Exact(5, sensitivity=COUNTING, unit="row")
    with pytest.raises(InvalidParameter):
        dp.simulate(mechanism, exact, 1, seed=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"a mechanism such as dp\.Laplace, not a int"):
        dp.simulate(3, 5, 1, seed=1)  # type: ignore[arg-type]
