"""Differential privacy itself: neighbours, sensitivity, loss, noise, and one file for every mechanism.

It guards nothing: it takes plain numbers from whoever already holds them. Inside a session, values are `Exact` and a
mechanism opens them with a `Permit`.
"""

from discreet.dp import composition, local_sensitivity, smooth_sensitivity, splitting
from discreet.dp.above_threshold import AboveThreshold
from discreet.dp.composition import compose
from discreet.dp.discrete_gaussian import DiscreteGaussian
from discreet.dp.domain import Bins, Boolean, Category, Date, Datetime, Integer, Real, Text, Universe
from discreet.dp.explain import Explanation
from discreet.dp.exponential import Exponential, MetricExponential, Utility
from discreet.dp.filter import Budget, Charge, PrivacyFilter, Settlement
from discreet.dp.gap import Gap, GapLaw
from discreet.dp.gap_estimate import GapEstimate
from discreet.dp.gaussian import Gaussian
from discreet.dp.hit_value import HitValue
from discreet.dp.laplace import Laplace
from discreet.dp.law import Law
from discreet.dp.logistic_sparse_vector import LogisticSparseVector
from discreet.dp.loss import Loss
from discreet.dp.mechanism import Mechanism, simulate
from discreet.dp.neighbours import Neighbours
from discreet.dp.noise_choice import NoiseChoice, cheapest_noise
from discreet.dp.noisy_max import NoisyMax, NoisyTopK
from discreet.dp.permute_and_flip import PermuteAndFlip
from discreet.dp.private import Exact, Permit
from discreet.dp.propose_test_release import UNSTABLE, Answer, ProposeTestRelease, TestedExact
from discreet.dp.quantile_choice import QuantileChoice, best_quantile
from discreet.dp.quantiles import QuantileMechanism, private_median, private_quantile
from discreet.dp.randomized_response import Estimate, RandomizedResponse
from discreet.dp.scale_bound import ReleasedScale, ScaleBound
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.smooth_exact import SmoothExact
from discreet.dp.smooth_noise import SmoothNoise
from discreet.dp.sparse_choice import SparseChoice, best_sparse_vector
from discreet.dp.sparse_vector import NumericSparse, Sparse, Split
from discreet.dp.standard_sparse_vector import Family, SparseVector
from discreet.dp.threshold_test import ThresholdTest
from discreet.dp.unbounded import UnboundedMedian, private_mean_unbounded, private_median_unbounded

__all__ = [
    "AboveThreshold",
    "Answer",
    "Bins",
    "Boolean",
    "Budget",
    "Category",
    "Charge",
    "Date",
    "Datetime",
    "DiscreteGaussian",
    "Estimate",
    "Exact",
    "Explanation",
    "Exponential",
    "Family",
    "Gap",
    "GapEstimate",
    "GapLaw",
    "Gaussian",
    "HitValue",
    "Integer",
    "Laplace",
    "Law",
    "LogisticSparseVector",
    "Loss",
    "Mechanism",
    "MetricExponential",
    "Neighbours",
    "NoiseChoice",
    "NoisyMax",
    "NoisyTopK",
    "NumericSparse",
    "Permit",
    "PermuteAndFlip",
    "PrivacyFilter",
    "ProposeTestRelease",
    "QuantileChoice",
    "QuantileMechanism",
    "RandomizedResponse",
    "Real",
    "ReleasedScale",
    "ScaleBound",
    "Sensitivity",
    "Settlement",
    "SmoothExact",
    "SmoothNoise",
    "Sparse",
    "SparseChoice",
    "SparseVector",
    "Split",
    "TestedExact",
    "Text",
    "ThresholdTest",
    "UNSTABLE",
    "UnboundedMedian",
    "Universe",
    "Utility",
    "best_quantile",
    "best_sparse_vector",
    "cheapest_noise",
    "compose",
    "composition",
    "local_sensitivity",
    "private_mean_unbounded",
    "private_median",
    "private_median_unbounded",
    "private_quantile",
    "simulate",
    "smooth_sensitivity",
    "splitting",
]
