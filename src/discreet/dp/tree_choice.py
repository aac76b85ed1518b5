"""Which tree for quantiles, or none: told from public facts, by formulas of the error in rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.dp.gaussian_curve import greatest_mu
from discreet.dp.neighbours import Neighbours
from discreet.dp.quantile_tree import Ordered, QuantileTree
from discreet.dp.quantiles import QuantileMechanism
from discreet.dp.rational import Number, positive, positive_integer, probability
from discreet.dp.reals import ball, lower
from discreet.dp.tree_estimates import prefix_variances
from discreet.errors import InvalidParameter

_BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100, 128, 256)


@dataclass(frozen=True, slots=True)
class TreeOffer:
    """A tree, or None for the exponential mechanism once for each quantile, and its error in rows."""

    tree: QuantileTree | None
    error: float

    def __str__(self) -> str:
        if self.tree is None:
            return f"{'exponential, for each quantile':<40}{self.error:>12.4g}"
        named = f"tree by {self.tree.branching}, {self.tree.levels} levels, {type(self.tree.noise).__name__}"
        return f"{named:<40}{self.error:>12.4g}"


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """All offers, the most accurate first; prints as a table."""

    quantiles: int
    failure_probability: Fraction
    offers: tuple[TreeOffer, ...]

    @property
    def best(self) -> TreeOffer:
        """The offer with the least error."""
        return self.offers[0]

    @property
    def tree(self) -> QuantileTree:
        """The best tree, whether or not the exponential mechanism is better."""
        return next(offer.tree for offer in self.offers if offer.tree is not None)

    def __str__(self) -> str:
        share = float(1 - self.failure_probability)
        head = f"rows by which no one of {self.quantiles} quantiles is off, with probability {share:g}"
        return "\n".join([head, *map(str, self.offers)])


@lru_cache(maxsize=64)
def best_branching(bins: int, *, normal: bool) -> int:
    """Return the branching whose quantiles are off by the fewest rows, by variance, for normal or Laplace noise.

    The scale of Laplace noise grows with the number of levels, that of normal noise with its square root.
    """

    def squared_error(arms: int) -> float:
        levels = 1
        while arms**levels < bins:
            levels += 1
        variance = float(prefix_variances(arms, levels, bins, 0.5).max())
        return variance * levels ** (1 if normal else 2)

    return min(sorted({min(arms, bins) for arms in _BRANCHINGS} | {min(bins, 1024)}), key=squared_error)


def best_quantile_tree(
    *,
    bins: Ordered,
    rows: int,
    neighbours: Neighbours,
    epsilon: Number,
    delta: Number | None = None,
    quantiles: int = 1,
    failure_probability: Number = Fraction(1, 20),
) -> TreeChoice:
    """Return what error is promised by each branching and noise, and by `dp.private_quantile` for so many quantiles.

    The exponential mechanism is reckoned at the quantile 1/2, over the same bins, for R rows of a unit (group privacy),
    with epsilon / k for each of k quantiles or, with a delta, an equal part of rho; in its favour, rho is the one of
    normal noise. A tree promises the same for any number of quantiles.

    >>> from discreet import dp
    >>> facts = dict(bins=dp.Integer(0, 999), rows=5, neighbours=dp.Neighbours.ADD_REMOVE, epsilon=1, delta=1e-9)
    >>> best_quantile_tree(**facts).best.tree is None, best_quantile_tree(**facts, quantiles=1000).best.tree is None
    (True, False)
    """
    count, share = positive_integer(quantiles, "quantiles"), probability(failure_probability, "failure_probability")
    price = positive(epsilon, "epsilon")
    half = Fraction(1, 2)
    if not isinstance(bins, Ordered):
        raise InvalidParameter("bins is a dp.Bins, dp.Integer or dp.Date.")
    offers = [TreeOffer(None, _exponential(bins.declared, rows, neighbours, price, delta, count, share))]
    arms = sorted({min(arms, bins.declared) for arms in _BRANCHINGS} | {min(bins.declared, 1024)})
    for branching in arms:
        for miss in dict.fromkeys((None, delta)):
            tree = QuantileTree(
                bins=bins, rows=rows, neighbours=neighbours, branching=branching, epsilon=price, delta=miss
            )
            offers.append(TreeOffer(tree, tree.accuracy(q=half, failure_probability=share)))
    return TreeChoice(count, share, tuple(sorted(offers, key=lambda offer: offer.error)))


def _exponential(
    bins: int, rows: int, neighbours: Neighbours, epsilon: Fraction, delta: Number | None, count: int, share: Fraction
) -> float:
    each = epsilon / count
    if delta is not None:
        mu = greatest_mu(epsilon, probability(delta, "delta"))  # rho = mu^2 / 2, and each costs epsilon^2 / 8
        each = max(each, lower(lambda: (4 * ball(mu * mu) / count).sqrt()))
    one = QuantileMechanism(
        q=Fraction(1, 2),
        neighbours=neighbours,
        epsilon=each / positive_integer(rows, "rows"),
        lower=0,
        upper=bins - 1,
        step=1,
    )
    return one.accuracy(failure_probability=share / count)
