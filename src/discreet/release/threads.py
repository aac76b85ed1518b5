"""One thread for linear algebra.

Sums over cells are products of small or slender matrices. Libraries of linear algebra hand each of them to several
threads, which then wait for each other much longer than they work: on two cores a fit to 1.8 million cells took 78
seconds instead of 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep NumPy's and SciPy's linear algebra to one thread inside; also a decorator.

    >>> with one_thread():
    ...     pass
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    import scipy.optimize  # noqa: F401  # it brings a library of its own, which has to be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
