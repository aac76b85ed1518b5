"""The stream hands out every bit once, and overwrites what it used."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.dp import randomness
from discreet.dp.randomness import Stream, _SeededStream, system
from tests.broken import noise
from tests.sizes import sized
from tests.statistics import Draws, chi_square, pairs

N = sized(1_000_000, 8_000_000)


def keystream(key: bytes, size: int) -> bytes:
    """AES-256 in counter mode from zero: what the bits of a stream have to be."""
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(size))


class Keyed(Stream):
    """A stream with a known key."""

    def _key(self) -> bytes:
        return bytes(range(32))


def test_the_bits_are_those_of_the_cipher() -> None:
    """under the assumption that AES-256 is a pseudo-random permutation and that the operating system's
    randomness is uniform, no efficient observer can tell the bits from independent fair coins."""
    stream, wanted = Keyed(), keystream(bytes(range(32)), 1 << 16)
    words = [stream.words(7, 64), stream.words(3, 8), stream.words(5, 16), stream.words(2, 32)]
    found = b"".join(w.tobytes() for w in words)
    assert found == wanted[: len(found)]
    assert [w.dtype.itemsize for w in words] == [8, 1, 2, 4]
    numbers = [stream.integer(64) for _ in range(600)]  # of a buffer of 512, and the next one
    buffers = wanted[len(found) :]
    assert numbers == [int.from_bytes(buffers[8 * i : 8 * i + 8], "little") for i in range(600)]


def test_words_and_integers_never_share_a_byte() -> None:
    stream, wanted = Keyed(), keystream(bytes(range(32)), 1 << 17)
    seen: list[bytes] = []
    for i in range(200):
        seen += [stream.integer(64).to_bytes(8, "little"), *(w.tobytes() for w in stream.words(i % 3 + 1, 64))]
    places = [wanted.index(block) for block in seen]
    assert len(set(places)) == len(places)
    assert all(place % 8 == 0 for place in places)


@pytest.mark.parametrize("bits", [0, 1, 3, 8, 17, 48, 64, 65, 1000, 8 << 12, (8 << 12) + 5, 20 << 12])
def test_an_integer_has_so_many_bits(bits: int) -> None:
    stream = Stream()
    numbers = [stream.integer(bits) for _ in range(40)]
    assert all(0 <= number < 1 << bits for number in numbers)
    if bits >= 17:  # all 40 below half the range: chance 2^-40
        assert max(numbers) >> (bits - 1) == 1
        assert len(set(numbers)) > 30


def left_behind(stream: Stream) -> int:
    """How many of 100 numbers can be read from the memory of the stream after they were used."""
    numbers = [stream.integer(64) for _ in range(100)]
    return sum(number.to_bytes(8, "little") in bytes(stream._buffer) for number in numbers)


def test_keystream_is_used_once_and_overwritten() -> None:
    assert left_behind(Stream()) == 0
    assert left_behind(noise.Unwiped()) == 100


def test_the_key_changes_before_the_counter_is_worn_out() -> None:
    keys = [bytes([i]) * 32 for i in range(9)]
    with mock.patch.object(Stream, "_key", side_effect=keys), mock.patch.object(randomness, "_REKEY", 64):
        stream = Stream()
        found = [stream.words(4, 64).tobytes() for _ in range(6)]
    assert found == [keystream(key, 64)[part : part + 32] for key in keys[:3] for part in (0, 32)]


def test_a_stream_is_of_its_thread_and_kept() -> None:
    assert system() is system()
    assert isinstance(system(), Stream)


def test_seeded_streams_repeat_and_differ() -> None:
    one, same, other = (_SeededStream(seed).words(100, 64) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.isin(one, other).any()


def byte_draws(stream: Stream, n: int) -> Draws:
    return stream.words(n, 8).astype(np.int64)


def test_bits_look_fair() -> None:
    bytes_check = chi_square(lambda draws: draws, [1 / 256] * 256, N)
    wrong = {"7 bits": lambda n: byte_draws(Stream(), n) & 127, "stuck": lambda n: byte_draws(Stream(), n) // 2 * 2}
    bytes_check.run(lambda n: byte_draws(Stream(), n), wrong=wrong)
    for lag in (1, 16):
        repeated = lambda n, lag=lag: np.repeat(byte_draws(Stream(), n).reshape(-1, lag), 2, axis=0).ravel()[:n]  # noqa: E731
        check = pairs(lambda draws: draws & 15, [1 / 16] * 16, N, lag=lag)
        check.run(lambda n: byte_draws(Stream(), n), wrong={"twice": repeated})


def test_integers_look_fair() -> None:
    stream = Stream()
    check = chi_square(lambda draws: draws, [1 / 32] * 32, 100_000)
    wrong = {"of one bit too few": lambda n: np.array([stream.integer(4) for _ in range(n)])}
    check.run(lambda n: np.array([stream.integer(5) for _ in range(n)]), wrong=wrong)


def test_empty_requests_are_free() -> None:
    stream = Keyed()
    assert stream.words(0, 64).size == 0
    assert stream.words(1, 64).tobytes() == keystream(bytes(range(32)), 8)


def test_long_requests_are_whole() -> None:
    blocks = np.array(list(itertools.chain(Keyed().words(1 << 18, 64))))
    assert blocks.tobytes() == keystream(bytes(range(32)), 8 << 18)
