"""Many questions at once: linear queries, workloads, and the marginals that answer them.

It imports `discreet.dp` only, and guards nothing: inside a session, values are `Exact` and a permit opens them.
"""

from discreet.release.families import Family, Marginal, Prefixes, Ranges
from discreet.release.listed import Listed
from discreet.release.marginals import Marginals, lift
from discreet.release.predicates import cell, predicate, weighted, where
from discreet.release.query import LinearQuery
from discreet.release.workload import Workload, all_marginals, marginal, prefixes, ranges

__all__ = [
    "where",
    "weighted",
    "predicate",
    "cell",
    "LinearQuery",
    "marginal",
    "all_marginals",
    "prefixes",
    "ranges",
    "Workload",
    "Family",
    "Marginal",
    "Prefixes",
    "Ranges",
    "Listed",
    "Marginals",
    "lift",
]
