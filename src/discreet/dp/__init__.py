"""Differential privacy itself: neighbours, sensitivity, loss, noise, and one file for every mechanism.

It guards nothing: it takes plain numbers from whoever already holds them. Inside a session, values are `Exact` and a
mechanism opens them with a `Permit`.
"""

import importlib
from typing import TYPE_CHECKING

# The public names, each with the module that has it; one that stands for itself is a module. Nothing is loaded before
# use: whoever draws Laplace noise does not wait for the sparse vector.
_WHERE = {
    "AboveThreshold": "above_threshold",
    "Answer": "propose_test_release",
    "BinnedExact": "quantile_tree",
    "Bins": "domain",
    "Boolean": "domain",
    "Budget": "budget",
    "Category": "domain",
    "Charge": "budget",
    "Date": "domain",
    "Datetime": "domain",
    "DiscreteGaussian": "discrete_gaussian",
    "Estimate": "randomized_response",
    "Exact": "private",
    "ExactKeys": "exact_keys",
    "Explanation": "explain",
    "Exponential": "exponential",
    "Family": "standard_sparse_vector",
    "Gap": "gap",
    "GapEstimate": "gap_estimate",
    "GapLaw": "gap",
    "Gaussian": "gaussian",
    "HitValue": "hit_value",
    "Integer": "domain",
    "Laplace": "laplace",
    "Law": "law",
    "LogisticSparseVector": "logistic_sparse_vector",
    "Loss": "loss",
    "Mechanism": "mechanism",
    "MetricExponential": "exponential",
    "Neighbours": "neighbours",
    "NoiseChoice": "noise_choice",
    "NoisyKeys": "noisy_keys",
    "NoisyMax": "noisy_max",
    "NoisyTopK": "noisy_max",
    "NumericSparse": "sparse_vector",
    "PartitionChoice": "partition_choice",
    "PartitionSelection": "partition_selection",
    "Permit": "private",
    "PermuteAndFlip": "permute_and_flip",
    "PrivacyFilter": "filter",
    "ProposeTestRelease": "propose_test_release",
    "Quantile": "quantile_tree",
    "QuantileChoice": "quantile_choice",
    "QuantileMechanism": "quantiles",
    "QuantileTree": "quantile_tree",
    "RandomizedResponse": "randomized_response",
    "Real": "domain",
    "ReleasedScale": "scale_bound",
    "ReleasedTree": "quantile_tree",
    "ScaleBound": "scale_bound",
    "Sensitivity": "sensitivity",
    "Settlement": "filter",
    "SmoothExact": "smooth_exact",
    "SmoothNoise": "smooth_noise",
    "Sparse": "sparse_vector",
    "SparseChoice": "sparse_choice",
    "SparseVector": "standard_sparse_vector",
    "Split": "sparse_vector",
    "TestedExact": "propose_test_release",
    "Text": "domain",
    "ThresholdTest": "threshold_test",
    "TreeChoice": "tree_choice",
    "UNSTABLE": "propose_test_release",
    "UnboundedMedian": "unbounded",
    "Universe": "domain",
    "Utility": "exponential",
    "best_partition_selection": "partition_choice",
    "best_quantile": "quantile_choice",
    "best_quantile_tree": "tree_choice",
    "best_sparse_vector": "sparse_choice",
    "cheapest_noise": "noise_choice",
    "compose": "composition",
    "composition": "composition",
    "local_sensitivity": "local_sensitivity",
    "private_mean_unbounded": "unbounded",
    "private_median": "quantiles",
    "private_median_unbounded": "unbounded",
    "private_quantile": "quantiles",
    "simulate": "mechanism",
    "smooth_sensitivity": "smooth_sensitivity",
    "splitting": "splitting",
}

if TYPE_CHECKING:
    from discreet.dp import composition as composition
    from discreet.dp import local_sensitivity as local_sensitivity
    from discreet.dp import smooth_sensitivity as smooth_sensitivity
    from discreet.dp import splitting as splitting
    from discreet.dp.above_threshold import AboveThreshold as AboveThreshold
    from discreet.dp.budget import Budget as Budget
    from discreet.dp.budget import Charge as Charge
    from discreet.dp.composition import compose as compose
    from discreet.dp.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from discreet.dp.domain import Bins as Bins
    from discreet.dp.domain import Boolean as Boolean
    from discreet.dp.domain import Category as Category
    from discreet.dp.domain import Date as Date
    from discreet.dp.domain import Datetime as Datetime
    from discreet.dp.domain import Integer as Integer
    from discreet.dp.domain import Real as Real
    from discreet.dp.domain import Text as Text
    from discreet.dp.domain import Universe as Universe
    from discreet.dp.exact_keys import ExactKeys as ExactKeys
    from discreet.dp.explain import Explanation as Explanation
    from discreet.dp.exponential import Exponential as Exponential
    from discreet.dp.exponential import MetricExponential as MetricExponential
    from discreet.dp.exponential import Utility as Utility
    from discreet.dp.filter import PrivacyFilter as PrivacyFilter
    from discreet.dp.filter import Settlement as Settlement
    from discreet.dp.gap import Gap as Gap
    from discreet.dp.gap import GapLaw as GapLaw
    from discreet.dp.gap_estimate import GapEstimate as GapEstimate
    from discreet.dp.gaussian import Gaussian as Gaussian
    from discreet.dp.hit_value import HitValue as HitValue
    from discreet.dp.laplace import Laplace as Laplace
    from discreet.dp.law import Law as Law
    from discreet.dp.logistic_sparse_vector import LogisticSparseVector as LogisticSparseVector
    from discreet.dp.loss import Loss as Loss
    from discreet.dp.mechanism import Mechanism as Mechanism
    from discreet.dp.mechanism import simulate as simulate
    from discreet.dp.neighbours import Neighbours as Neighbours
    from discreet.dp.noise_choice import NoiseChoice as NoiseChoice
    from discreet.dp.noise_choice import cheapest_noise as cheapest_noise
    from discreet.dp.noisy_keys import NoisyKeys as NoisyKeys
    from discreet.dp.noisy_max import NoisyMax as NoisyMax
    from discreet.dp.noisy_max import NoisyTopK as NoisyTopK
    from discreet.dp.partition_choice import PartitionChoice as PartitionChoice
    from discreet.dp.partition_choice import best_partition_selection as best_partition_selection
    from discreet.dp.partition_selection import PartitionSelection as PartitionSelection
    from discreet.dp.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from discreet.dp.private import Exact as Exact
    from discreet.dp.private import Permit as Permit
    from discreet.dp.propose_test_release import UNSTABLE as UNSTABLE
    from discreet.dp.propose_test_release import Answer as Answer
    from discreet.dp.propose_test_release import ProposeTestRelease as ProposeTestRelease
    from discreet.dp.propose_test_release import TestedExact as TestedExact
    from discreet.dp.quantile_choice import QuantileChoice as QuantileChoice
    from discreet.dp.quantile_choice import best_quantile as best_quantile
    from discreet.dp.quantile_tree import BinnedExact as BinnedExact
    from discreet.dp.quantile_tree import Quantile as Quantile
    from discreet.dp.quantile_tree import QuantileTree as QuantileTree
    from discreet.dp.quantile_tree import ReleasedTree as ReleasedTree
    from discreet.dp.quantiles import QuantileMechanism as QuantileMechanism
    from discreet.dp.quantiles import private_median as private_median
    from discreet.dp.quantiles import private_quantile as private_quantile
    from discreet.dp.randomized_response import Estimate as Estimate
    from discreet.dp.randomized_response import RandomizedResponse as RandomizedResponse
    from discreet.dp.scale_bound import ReleasedScale as ReleasedScale
    from discreet.dp.scale_bound import ScaleBound as ScaleBound
    from discreet.dp.sensitivity import Sensitivity as Sensitivity
    from discreet.dp.smooth_exact import SmoothExact as SmoothExact
    from discreet.dp.smooth_noise import SmoothNoise as SmoothNoise
    from discreet.dp.sparse_choice import SparseChoice as SparseChoice
    from discreet.dp.sparse_choice import best_sparse_vector as best_sparse_vector
    from discreet.dp.sparse_vector import NumericSparse as NumericSparse
    from discreet.dp.sparse_vector import Sparse as Sparse
    from discreet.dp.sparse_vector import Split as Split
    from discreet.dp.standard_sparse_vector import Family as Family
    from discreet.dp.standard_sparse_vector import SparseVector as SparseVector
    from discreet.dp.threshold_test import ThresholdTest as ThresholdTest
    from discreet.dp.tree_choice import TreeChoice as TreeChoice
    from discreet.dp.tree_choice import best_quantile_tree as best_quantile_tree
    from discreet.dp.unbounded import UnboundedMedian as UnboundedMedian
    from discreet.dp.unbounded import private_mean_unbounded as private_mean_unbounded
    from discreet.dp.unbounded import private_median_unbounded as private_median_unbounded
else:  # unknown to type checkers, which then find a name that is misspelt
    __all__ = list(_WHERE)

    def __getattr__(name: str) -> object:
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f"{__name__}.{_WHERE[name]}")
        found: object = module if _WHERE[name] == name else getattr(module, name)
        globals()[name] = found  # the next use does not come here
        return found


def __dir__() -> list[str]:
    return [*_WHERE]
