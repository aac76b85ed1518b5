"""A real number plus noise of a scale of its own, rounded to the integers, drawn exactly.

What is drawn is round(center + scale Z) for a standard law Z with a density. Rounding comes after the noise, so the
guarantee of the continuous law holds to the letter. Z is known by the binary digits of a uniform number U, as the
place beyond which the law has mass U; digits are drawn until only one integer is possible, against certified quantiles.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.reals import ball, precision
from discreet.dp.smooth_laws import SmoothLaw

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

_BITS = 128  # digits of U drawn at once: enough but for once in 2^60 where the scale is below 2^40
_MORE = 64
_PLACES = 192  # binary places of a quantile
_AHEAD = 16  # draws made ahead, so that the time of a release does not tell its noise


def rounded(law: SmoothLaw, center: Fraction, scale: Fraction, stream: Stream) -> int:
    """Return round(center + scale Z), half upwards.

    Guarantee: the law of the result is that of the continuous sum, rounded, exactly. The digits of Z are drawn a block
      ahead and do not depend on the center or the scale; what is left at the release is one multiplication, but for
      less than once in 2^60 at scales below 2^40.
    Source: Knuth, Yao, "The complexity of nonuniform random number generation", 1976.

    >>> from discreet.dp.randomness import system
    >>> from discreet.dp.smooth_laws import LaplaceLaw
    >>> abs(rounded(LaplaceLaw(), Fraction(1000), Fraction(1, 50), system()) - 1000) <= 5
    True
    """
    sign, word, low, high = _next(law, stream)
    bits = _BITS
    while True:
        if high is not None:
            ends = [center + Fraction(1, 2) + sign * scale * Fraction(z, 1 << _PLACES) for z in (low, high)]
            least, most = (end.numerator // end.denominator for end in ends)
            if least == most:
                return least
        word, bits = word << _MORE | stream.integer(_MORE), bits + _MORE
        low, high = _quantile(law, word, bits)


def _next(law: SmoothLaw, stream: Stream) -> tuple[int, int, int, int | None]:
    """Return a sign, the first digits of a fresh U, and bounds of the quantile there."""
    waiting = stream.ahead.get(law)
    if not waiting:
        waiting = stream.ahead[law] = []
        for _ in range(_AHEAD):
            word = stream.integer(_BITS)
            low, high = _quantile(law, word, _BITS)
            waiting += [stream.integer(1), word, low, -1 if high is None else high]
    sign, word, low, high = waiting[-4:]
    waiting[-4:] = []
    return (1 if sign else -1), word, low, None if high < 0 else high


def _quantile(law: SmoothLaw, word: int, bits: int) -> tuple[int, int | None]:
    """Return integers around 2^PLACES times |Z| where U lies in [word, word + 1] / 2^bits; None if it has no bound."""
    with precision(2 * bits):
        if word == 0:
            return 0, None
        z = law.quantile(ball(Fraction(word, 1 << bits)).union(ball(Fraction(word + 1, 1 << bits))))
        if not z.is_finite():
            return 0, None
        scaled = z * (ball(2) ** _PLACES)
        low, high = (int(end.floor().unique_fmpz() or 0) for end in (scaled.lower(), scaled.upper()))
        return max(0, low), high + 1
