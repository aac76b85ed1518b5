"""The only file that draws bits.

One stream cipher per thread (AES-256 in counter mode), keyed from the operating system: as unpredictable as the key,
and ten times as fast as asking the operating system for every bit. A block of keystream is used once and overwritten.
A forked child starts with no cipher at all, so parent and child never share a block.
"""

from __future__ import annotations

import hashlib
import os
import threading

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]  # or narrower

_BUFFER = 1 << 12  # bytes kept for small draws
_REKEY = 1 << 36  # bytes after which a stream takes a new key; far below any limit of counter mode


class Stream:
    """A keystream: independent uniform bits, handed out once.

    Guarantee: under the assumption that AES-256 is a pseudo-random permutation and that the operating system's
      randomness is uniform, no efficient observer can tell the bits from independent fair coins.
    Source: NIST SP 800-38A, 2001 (counter mode); Bellare, Desai, Jokipii, Rogaway, 1997 (its security).
    """

    def __init__(self) -> None:
        self._buffer = bytearray(_BUFFER)
        self.ahead: dict[object, list[int]] = {}  # values that samplers drew from this stream and have not handed out
        self._rekey()

    def _key(self) -> bytes:
        return os.urandom(32)

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._encryptor = Cipher(algorithms.AES(self._key()), modes.CTR(bytes(16))).encryptor()
        self._position = _BUFFER  # nothing in the buffer
        self._bytes_left = _REKEY

    def _fill(self, view: memoryview) -> None:
        if self._bytes_left < len(view):
            self._rekey()
        self._bytes_left -= len(view)
        self._encryptor.update_into(bytes(len(view)), view)

    def words(self, count: int, bits: int) -> Words:
        """Return `count` fresh words of 8, 16, 32 or 64 uniform bits; the caller overwrites them after use."""
        words = np.zeros(count, dtype=f"<u{bits // 8}")
        if count:
            self._fill(words.view(np.uint8).data)
        return words

    def integer(self, bits: int) -> int:
        """Return a uniform integer of so many bits."""
        size = (bits + 7) // 8
        if size > _BUFFER:
            return int(self.integer(bits - 8 * _BUFFER) << (8 * _BUFFER)) | self.integer(8 * _BUFFER)
        start = self._position
        end = start + size
        if end > _BUFFER:
            self._fill(memoryview(self._buffer))
            start, end = 0, size
        number = int.from_bytes(self._buffer[start:end], "little")
        self._buffer[start:end] = bytes(size)
        self._position = end
        return number >> (8 * size - bits)


class _SeededStream(Stream):
    """A repeatable keystream for `dp.simulate`: its draws protect nobody."""

    def __init__(self, seed: int) -> None:
        self._material = f"discreet.simulate:{seed}".encode()
        super().__init__()

    def _key(self) -> bytes:
        self._material = hashlib.sha256(self._material).digest()
        return self._material


_threads = threading.local()


def system() -> Stream:
    """Return the stream of this thread, keyed from the operating system on first use."""
    stream: Stream | None = getattr(_threads, "stream", None)
    if stream is None:
        stream = _threads.stream = Stream()
    return stream


def _forget_after_fork() -> None:
    _threads.__dict__.clear()  # the child has one thread, this one


os.register_at_fork(after_in_child=_forget_after_fork)
