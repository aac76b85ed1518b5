"""How well k counting questions are answered when one budget is split among them: the starting point of the notes.

Each scheme answers every question by Laplace noise at an equal share; `alpha` bounds the worst of the k errors but for
`failure_probability`. Everything else in this package exists to beat these figures.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.dp.composition import advanced_share
from discreet.dp.laplace import Laplace
from discreet.dp.neighbours import Neighbours
from discreet.dp.rational import Number, positive, positive_integer
from discreet.dp.sensitivity import Sensitivity


def uniform(*, questions: int, epsilon: Number, failure_probability: Number) -> Fraction:
    """Return alpha in rows: each question gets epsilon / k, so alpha is about (k / epsilon) ln(k / beta).

    Guarantee: the answers together are epsilon-DP, by basic composition.
    Source: Dwork, Roth, 2014, Theorem 3.8 with Theorem 3.16.

    >>> int(uniform(questions=10, epsilon=1, failure_probability=0.05))
    53
    """
    count = positive_integer(questions, "questions")
    return _worst(positive(epsilon, "epsilon") / count, count, failure_probability)


def renormalised(*, questions: int, epsilon: Number, failure_probability: Number, rows: int) -> Fraction:
    """Return alpha as a share of a public number of rows: that of `uniform`, divided by them.

    Guarantee: as `uniform`. The number of rows must be public: the relation is REPLACE.
    Source: as `uniform`. (With k answers the error is k / (epsilon n) up to ln(k / beta): n rows and k questions are
      different numbers.)
    """
    alpha = uniform(questions=questions, epsilon=epsilon, failure_probability=failure_probability)
    return alpha / positive_integer(rows, "rows")


def advanced(*, questions: int, epsilon: Number, delta: Number, failure_probability: Number) -> Fraction:
    """Return alpha in rows when the share is that of advanced composition: about sqrt(8 k ln(1/delta)) / epsilon.

    Guarantee: the answers together are (epsilon, delta)-DP, where the theorem's condition holds; refused elsewhere.
    Source: Dwork, Roth, 2014, Corollary 3.21.
    """
    count = positive_integer(questions, "questions")
    return _worst(advanced_share(epsilon=epsilon, delta=delta, count=count), count, failure_probability)


def _worst(share: Fraction, count: int, failure_probability: Number) -> Fraction:
    one = Sensitivity.counting(neighbours=Neighbours.REPLACE)  # a counting question moves by 1 under both relations
    return Laplace(sensitivity=one, epsilon=share).accuracy(failure_probability=failure_probability, answers=count)
