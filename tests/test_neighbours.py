"""`neighbours`: two relations, and how a guarantee under one becomes a guarantee under the other."""

from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.accounting import delta_of_law, discrete_laplace, exact, mpf


def test_there_are_two_and_they_say_their_names() -> None:
    assert [repr(one) for one in dp.Neighbours] == ["Neighbours.ADD_REMOVE", "Neighbours.REPLACE"]
    assert dp.Neighbours.ADD_REMOVE is not dp.Neighbours.REPLACE


def test_a_replacement_is_two_steps_of_add_remove() -> None:
    """A mechanism that is epsilon-DP under ADD_REMOVE is 2 epsilon-DP under REPLACE: a histogram moves by 2, not by 1.

    Spec C3's (2 eps, delta (1 + e^eps)), 2 mu and 4 rho are `group(2)`.
    """
    loss = dp.Loss.pure(epsilon="0.5")
    law = discrete_laplace(mpf(2), 100)
    for k in range(8):
        assert exact(loss.group(2).delta(epsilon=Fraction(k, 5))) >= delta_of_law(law, 2, mpf(k) / 5) - mpf("1e-20")
    assert exact(loss.delta(epsilon=Fraction(3, 5))) < delta_of_law(law, 2, mpf("0.6"))
    assert dp.Loss.gaussian(mu="0.1").group(2) == dp.Loss.gaussian(mu="0.2")
    assert dp.Loss.zcdp(rho="0.1").group(2) == dp.Loss.zcdp(rho="0.4")


@pytest.mark.parametrize("not_a_relation", ["REPLACE", "add or remove one unit", None, 1])
def test_nothing_else_is_a_relation(not_a_relation: object) -> None:
    with pytest.raises(InvalidParameter):
        dp.Sensitivity(l1=1, neighbours=not_a_relation)
