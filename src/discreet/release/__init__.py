"""Many questions at once: linear queries, workloads, and the marginals that answer them.

It imports `discreet.dp` only, and guards nothing: inside a session, values are `Exact` and a permit opens them.
"""

from discreet.release.certified_online import CertifiedInteractive
from discreet.release.construction_plan import Calibration, Plan
from discreet.release.cover import Cover
from discreet.release.database_update import Cells, DatabaseUpdate, Structure, Tolerates
from discreet.release.distinguisher import (
    Distinguisher,
    ExponentialDistinguisher,
    NoisyMaxDistinguisher,
    PermuteAndFlipDistinguisher,
)
from discreet.release.entropy_projection import EntropyProjection, ShortenedProjection
from discreet.release.factored import FactoredModel, synthesize_rows
from discreet.release.families import Family, Marginal, Prefixes, Ranges
from discreet.release.frieze_kannan import FriezeKannan, KaczmarzProjection
from discreet.release.interactive import Interactive
from discreet.release.iterative_construction import IterativeConstruction, Run
from discreet.release.learner import IntervalDistinguisher
from discreet.release.listed import Listed
from discreet.release.marginals import Marginals, lift
from discreet.release.median import Median
from discreet.release.mixture import MixtureModel
from discreet.release.model import DenseModel, Model
from discreet.release.multiplicative_weights import MultiplicativeWeights, Prior, Step
from discreet.release.net_mechanism import NetMechanism
from discreet.release.predicates import cell, predicate, weighted, where
from discreet.release.query import LinearQuery
from discreet.release.reply import Reply, Route
from discreet.release.rows import RowCount, Rows
from discreet.release.survey import places
from discreet.release.synthesize import synthesis_plan, synthesize
from discreet.release.synthesized import SynthesizedModel
from discreet.release.transcript import Round
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
    "DatabaseUpdate",
    "Tolerates",
    "Structure",
    "Cells",
    "MultiplicativeWeights",
    "Step",
    "Prior",
    "EntropyProjection",
    "ShortenedProjection",
    "Median",
    "FriezeKannan",
    "KaczmarzProjection",
    "Distinguisher",
    "ExponentialDistinguisher",
    "NoisyMaxDistinguisher",
    "PermuteAndFlipDistinguisher",
    "IntervalDistinguisher",
    "Rows",
    "RowCount",
    "IterativeConstruction",
    "Calibration",
    "Plan",
    "Run",
    "Round",
    "NetMechanism",
    "Model",
    "DenseModel",
    "SynthesizedModel",
    "FactoredModel",
    "MixtureModel",
    "synthesize",
    "synthesize_rows",
    "places",
    "synthesis_plan",
    "Cover",
    "Interactive",
    "CertifiedInteractive",
    "Reply",
    "Route",
]
