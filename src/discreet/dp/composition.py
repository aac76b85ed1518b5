"""How losses that were fixed in advance add up: one function for each theorem, and `compose` for the best of them.

For losses chosen along the way these prove nothing; a `PrivacyFilter` does, which is why it keeps charges and not a
`Loss`.

| function   | takes                              | gives                                        |
|------------|------------------------------------|----------------------------------------------|
| `basic`    | pure and approximate losses        | sums of epsilons and of deltas               |
| `advanced` | k equal (epsilon, delta)           | about sqrt(k) epsilon, for a further delta   |
| `optimal`  | pure losses, equal or mixed        | the exact curve of the worst such releases   |
| `zcdp`     | all that have a rho                | the sum of rho                               |
| `rdp`      | all that have a Renyi curve        | the sum of curves at the orders given        |
| `gaussian` | Gaussian losses                    | exactly one Gaussian loss                    |
| `numeric`  | pure, approximate, Gaussian losses | the exact curve, to about 1e-4, from above   |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Approximate, BoundedRange, Loss, Pure, Zcdp
from discreet.dp.loss_sum import LossSum, summed
from discreet.dp.numeric_composition import MOST_EPSILON, LossLaw
from discreet.dp.pure_composition import Responses
from discreet.dp.rational import Number, float_up, non_negative, positive, positive_integer, probability, rational
from discreet.dp.reals import ball, upper
from discreet.errors import InvalidParameter, NotSupported

_MOST_OUTCOMES = 100_000  # of the exact curve of mixed pure losses, before `numeric` takes over


def compose(losses: Iterable[Loss]) -> Loss:
    """Return the loss of releases whose losses were fixed in advance, by the tightest theorem at each question.

    Guarantee: valid for mechanisms chosen adaptively whose losses were not; a sequence of losses that depends on
      answers is a matter for `PrivacyFilter`.
    Source: each theorem below.

    >>> compose([Loss.pure(epsilon=0.1)] * 10).epsilon(delta=0)
    1.0
    """
    return summed((1, loss) for loss in losses)


def basic(losses: Iterable[Loss]) -> Loss:
    """Return the sum of epsilons and of deltas.

    Guarantee: holds for pure and approximate losses, adaptively chosen mechanisms included.
    Source: Dwork, McSherry, Nissim, Smith, 2006; Dwork, Roth, 2014, Theorem 3.16.

    >>> basic([Loss.pure(epsilon=1), Loss.approximate(epsilon=0.5, delta=1e-6)]).epsilon(delta=1e-6)
    1.5
    """
    epsilon = delta = Fraction(0)
    for count, loss in _parts(losses):
        match loss:
            case Pure(e) | BoundedRange(e):
                epsilon += count * e
            case Approximate(e, d):
                epsilon, delta = epsilon + count * e, delta + count * d
            case _:
                raise NotSupported("basic composition adds pure and approximate losses; use compose for the others.")
    return Loss.approximate(epsilon=epsilon, delta=delta)


def advanced(*, epsilon: Number, delta: Number = 0, count: int, slack: Number) -> Loss:
    """Return the loss of `count` releases of (epsilon, delta): (e', count delta + slack).

    Guarantee: e' = epsilon sqrt(2 count ln(1 / slack)) + count epsilon (e^epsilon - 1), for every epsilon > 0.
    Source: Dwork, Rothblum, Vadhan, 2010; Dwork, Roth, 2014, Theorem 3.20.

    >>> round(advanced(epsilon=0.01, count=1000, slack=1e-6).epsilon(delta=1e-6), 3)
    1.763
    """
    e, d, k = positive(epsilon, "epsilon"), non_negative(delta, "delta"), positive_integer(count, "count")
    further = probability(slack, "slack")
    total = upper(lambda: ball(e) * (2 * k * (-ball(further).log())).sqrt() + k * ball(e) * ball(e).expm1())
    if k * d + further >= 1:
        raise InvalidParameter("the deltas add up to 1 or more: nothing is protected.")
    return Approximate(total, k * d + further)


def advanced_share(*, epsilon: Number, delta: Number, count: int) -> Fraction:
    """Return the epsilon that each of `count` pure releases may have, so that together they are (epsilon, delta)-DP.

    Guarantee: epsilon / sqrt(8 count ln(1 / delta)), where the theorem's condition holds: the second term of advanced
      composition, count e0 (e^e0 - 1), is at most epsilon / 2. Without the condition the statement is false (at
      epsilon = 50, delta = 0.01, count = 4,000 the true delta is 0.0192), so it is refused there.
    Source: Dwork, Roth, 2014, Corollary 3.21, with the condition that its printed forms leave out.

    >>> advanced_share(epsilon=1, delta=1e-6, count=100) > Fraction(1, 106)
    True
    """
    e, d, k = positive(epsilon, "epsilon"), probability(delta, "delta"), positive_integer(count, "count")
    root = upper(lambda: (8 * k * (-ball(d).log())).sqrt())
    each = e / root
    if upper(lambda: k * ball(each) * ball(each).expm1()) > e / 2:
        raise InvalidParameter(
            f"advanced composition in this form needs count e0 (e^e0 - 1) <= epsilon / 2, which epsilon={epsilon} with "
            f"count={count} breaks; use compose, which has no condition."
        )
    return each


def optimal_delta(epsilons: Sequence[Number], *, epsilon: Number) -> float:
    """Return the exact delta of the worst pure releases with these epsilons: k-fold randomised response.

    Guarantee: no composition of releases with these epsilons has a larger delta, and randomised response has this one.
    Source: Kairouz, Oh, Viswanath, 2015, Theorem 3.3 (equal epsilons) and Section 3.3 (mixed, by enumeration).

    >>> round(optimal_delta([1], epsilon=0.5), 3)
    0.288
    """
    law, wanted = _worst_law(epsilons), non_negative(epsilon, "epsilon")
    return float_up(law.delta(wanted))


def _worst_law(epsilons: Sequence[Number]) -> Responses:
    counts = Counter(non_negative(each, "epsilons") for each in epsilons)
    law = Responses(tuple((count, e) for e, count in counts.items()))
    if law.outcomes > _MOST_OUTCOMES:
        raise NotSupported("so many different epsilons have too many outcomes to enumerate; use numeric.")
    return law


def optimal(epsilons: Sequence[Number], *, delta: Number) -> float:
    """Return the least epsilon at which the worst pure releases with these epsilons have this delta, from above.

    Guarantee: as `optimal_delta`, of which it is the inverse.
    Source: as `optimal_delta`.

    >>> round(optimal([0.1] * 100, delta=1e-6), 2)
    4.77
    """
    law, wanted = _worst_law(epsilons), probability(delta, "delta")
    return float_up(law.epsilon(wanted))


def zcdp(losses: Iterable[Loss]) -> Loss:
    """Return the sum of rho.

    Guarantee: epsilon-DP is epsilon^2 / 2 - zCDP, a bounded range epsilon is epsilon^2 / 8, mu-Gaussian is mu^2 / 2.
    Source: Bun, Steinke, 2016, Lemma 7 and Proposition 3; Cesar, Rogers, 2021 (bounded range).

    >>> zcdp([Loss.pure(epsilon=1), Loss.gaussian(mu=1)]) == Loss.zcdp(rho=1)
    True
    """
    total = Fraction(0)
    for loss in losses:
        rho = loss.rho_bound()
        if not isinstance(rho, Fraction):
            raise NotSupported("a loss with a delta, or a Renyi curve at some orders, has no rho.")
        total += rho
    return Zcdp(total)


def rdp(losses: Iterable[Loss], *, orders: Sequence[Number]) -> Loss:
    """Return the sum of Renyi curves at these orders.

    Guarantee: Renyi divergence of a fixed order adds up, adaptively chosen mechanisms included.
    Source: Mironov, 2017, Proposition 1.

    >>> rdp([Loss.gaussian(mu=1)] * 2, orders=[2, 3]) == Loss.rdp(orders=[2, 3], values=[2, 3])
    True
    """
    exact, listed = [rational(a, "orders") for a in orders], list(losses)
    sums = [sum((loss.renyi(a) for loss in listed), start=Fraction(0)) for a in exact]
    if not all(isinstance(value, Fraction) for value in sums):
        raise NotSupported("a loss has no Renyi divergence at one of these orders; use other orders, or compose.")
    return Loss.rdp(orders=exact, values=sums)


def gaussian(losses: Iterable[Loss]) -> Loss:
    """Return the exact composition of Gaussian losses: mu^2 adds up.

    Guarantee: exact, adaptively chosen mechanisms included.
    Source: Dong, Roth, Su, 2022, Corollary 3.3.

    >>> gaussian([Loss.gaussian(mu=3), Loss.gaussian(mu=4)]) == Loss.gaussian(mu=5)
    True
    """
    total = Fraction(0)
    for count, loss in _parts(losses):
        if loss == Pure(Fraction(0)):  # mu = 0
            continue
        if not isinstance(loss, GaussianLoss):
            raise NotSupported("exact Gaussian composition is for Gaussian losses; use compose for the others.")
        total += count * loss.mu_squared
    return GaussianLoss(total)


def numeric(losses: Iterable[Loss]) -> LossLaw:
    """Return the law of the privacy loss of pure, approximate and Gaussian releases, composed by numbers.

    Guarantee: its `delta` and `epsilon` are never below those of the composition of the worst such releases.
    Source: as `LossLaw`.

    >>> 4.77 < numeric([Loss.pure(epsilon=0.1)] * 100).epsilon(delta=1e-6) < 4.78
    True
    """
    law = LossSum(tuple(_parts(losses))).law()
    if law is None:
        raise NotSupported(
            "numeric composition needs to know the worst release: pure, approximate or Gaussian losses, and none of an "
            f"epsilon or a mu^2 above {MOST_EPSILON}, which protect nobody."
        )
    return law


def _parts(losses: Iterable[Loss]) -> Iterable[tuple[int, Loss]]:
    total = summed((1, loss) for loss in losses)
    return total.parts if isinstance(total, LossSum) else ((1, total),)
