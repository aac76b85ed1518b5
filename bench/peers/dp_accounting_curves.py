"""The dp-accounting side of the accounting figures, for its own environment: a request per line in, an answer out.

Lines are JSON. A request has a `task`, which is a function below, and its arguments. Noise on integers is the discrete
Laplace, which is what its accountant calls it too.
"""

import sys
import time
from pathlib import Path

import dp_accounting
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution


def accountant(laplace, gaussian, interval):
    """Their accountant, told of one event after the other."""
    told = PLDAccountant(value_discretization_interval=interval)
    for scale, sigma in zip(laplace, gaussian, strict=True):
        told.compose(dp_event.DiscreteLaplaceDpEvent(1 / scale, 1))
        told.compose(dp_event.GaussianDpEvent(sigma))
    return told.get_epsilon


def distributions(laplace, gaussian, interval, *, connect, pessimistic=True):
    """Their privacy loss distributions, composed one by one; connected dots are their closer estimate."""
    options = {
        "value_discretization_interval": interval,
        "use_connect_dots": connect,
        "pessimistic_estimate": pessimistic,
    }
    total = None
    for scale, sigma in zip(laplace, gaussian, strict=True):
        for one in (
            privacy_loss_distribution.from_discrete_laplace_mechanism(1 / scale, **options),
            privacy_loss_distribution.from_gaussian_mechanism(sigma, **options),
        ):
            total = one if total is None else total.compose(one)
    return total.get_epsilon_for_delta


def composed(way, laplace, gaussian, interval):
    """What was asked for, as a function of delta."""
    if way == "accountant":
        return accountant(laplace, gaussian, interval)
    connect, pessimistic = way == "connected", way != "optimistic"
    return distributions(laplace, gaussian, interval, connect=connect, pessimistic=pessimistic)


def compose(delta, **asked):
    """Seconds and epsilon of these releases together."""
    before = time.perf_counter()
    epsilon = composed(**asked)(delta)
    return [time.perf_counter() - before, epsilon]


def calibrate(epsilon, delta, releases, interval, low, guess):
    """Seconds and sigma of so many equal normal releases, searched for from this bracket."""
    before = time.perf_counter()
    sigma = dp_accounting.calibrate_dp_mechanism(
        lambda: PLDAccountant(value_discretization_interval=interval),
        lambda tried: dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(tried), releases),
        epsilon,
        delta,
        bracket_interval=dp_accounting.LowerEndpointAndGuess(low, guess),
    )
    return [time.perf_counter() - before, sigma]


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out
    from serve import serve

    serve(compose, calibrate, packages=("dp-accounting", "numpy", "scipy"))
