"""Exact curves in closed form, to 50 digits: what other results are held against. Nothing of ours is used."""

import mpmath

mp = mpmath.MPContext()
mp.dps = 50
mpf = mp.mpf


def laplace_tail(scale: mpf, distance: mpf) -> mpf:
    """P(Lap(scale) > distance)."""
    half = mp.exp(-abs(distance) / scale) / 2
    return half if distance >= 0 else 1 - half


def laplace_delta(epsilon: mpf, loss: mpf) -> mpf:
    """The exact delta at epsilon of Laplace noise whose greatest loss is `loss` = shift / scale."""
    return 1 - mp.exp((epsilon - loss) / 2) if epsilon < loss else mpf(0)


def gaussian_delta(epsilon: mpf, mu: mpf) -> mpf:
    """The exact delta at epsilon of Gaussian noise with mu = shift / sigma (Balle and Wang 2018)."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def response_delta(epsilon: mpf, each: mpf, count: int) -> mpf:
    """The exact delta at epsilon of `count` randomised responses of loss `each` (Kairouz et al. 2015)."""
    truth = 1 / (1 + mp.exp(-each))
    term, total = truth**count, mpf(0)  # all `count` answers speak for the first table
    for lies in range(count + 1):
        loss = (count - 2 * lies) * each
        if loss <= epsilon:
            break
        total += term * (1 - mp.exp(epsilon - loss))
        term *= mpf(count - lies) / (lies + 1) * (1 - truth) / truth
    return total


def two_gaussians_delta(epsilon: mpf, shift: mpf, one: mpf, two: mpf) -> mpf:
    """The exact delta at epsilon of N(0, one^2) against N(shift, two^2)."""
    # log ratio = ln(two/one) - x^2 / (2 one^2) + (x - shift)^2 / (2 two^2), a parabola in x
    a = 1 / (2 * two**2) - 1 / (2 * one**2)
    b, c = -shift / two**2, shift**2 / (2 * two**2) + mp.log(two / one) - epsilon
    if a == 0:
        cut = -c / b if b else mp.inf
        inside = [(-mp.inf, cut)] if b < 0 else []
    else:
        square = b**2 - 4 * a * c
        if square <= 0:
            return mpf(0) if a < 0 else 1 - mp.exp(epsilon)
        low, high = sorted(((-b - mp.sqrt(square)) / (2 * a), (-b + mp.sqrt(square)) / (2 * a)))
        inside = [(low, high)] if a < 0 else [(-mp.inf, low), (high, mp.inf)]
    return sum(
        mp.ncdf(high / one)
        - mp.ncdf(low / one)
        - mp.exp(epsilon) * (mp.ncdf((high - shift) / two) - mp.ncdf((low - shift) / two))
        for low, high in inside
    )
