"""Linear queries with the mistakes one would really make."""

from fractions import Fraction

from discreet import dp
from discreet.release import LinearQuery, Prefixes, Workload


def spread_as_sensitivity(query: LinearQuery, neighbours: dp.Neighbours) -> dp.Sensitivity:
    """The widest difference of weights also where rows come and go: a query that counts all rows would not move."""
    least, most = query.range
    return dp.Sensitivity(l1=Fraction(most - least, query.scale), neighbours=neighbours)


def cells_as_sensitivity(family: Prefixes, neighbours: dp.Neighbours) -> dp.Sensitivity:
    """Prefixes taken for disjoint cells: a row at the first value is in all of them."""
    return dp.Sensitivity.histogram(neighbours=neighbours)


def once_as_sensitivity(workload: Workload, neighbours: dp.Neighbours) -> dp.Sensitivity:
    """A query that is there twice, counted once."""
    return Workload(dict.fromkeys(workload)).sensitivity(neighbours)


def written_key(conditions: dict[str, object]) -> bytes:
    """The key of what was written, not of what it means."""
    return repr(sorted(conditions.items())).encode()
