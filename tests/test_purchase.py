"""What a price buys: one mechanism for each part, and together no more than the price."""

from fractions import Fraction
from typing import Any

import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Computed, Distinct, Given, MeanOf, Present, QuantileOf, Released, Total
from discreet.engine.purchase import Purchase
from tests.handmade import AGE, AGES, BY_SEX, BY_TOWN, COST, KEY, MEAN, MEAN_AGE, ROWS, bought, query, table

PURE, ADDED, RHO = dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta=1e-9), dp.Budget(rho=1)
KEYED = dp.Budget(epsilon=1, delta=1e-9, delta_add=5e-10)
UNITS = table("p", rows_per_unit=20, groups_per_unit=3, rows_per_group=4)

COUNT = query(ROWS, outputs=[("n", Released(0))], keys=[BY_SEX])
THREE = query(ROWS, *MEAN, outputs=[("n", Released(0)), ("age", MeanOf(1, 2, Fraction(50)))], keys=[BY_SEX], of=UNITS)
MEDIAN = query(AGES, ROWS, outputs=[("age", QuantileOf(0, Fraction(1, 2))), ("n", Released(1))], of=UNITS)
TOWNS = query(
    ROWS, Total(COST), outputs=[("town", KEY), ("n", Released(0)), ("c", Released(1))], keys=[BY_TOWN], of=UNITS
)
PUBLIC = [COUNT, THREE, MEDIAN]
OFFERS: list[tuple[dp.Budget, dict[str, Any]]] = [
    (PURE, {"epsilon": "0.1"}),
    (PURE, {"epsilon": 1}),
    (ADDED, {"epsilon": "0.1"}),
    (ADDED, {"epsilon": 1}),
    (ADDED, {"rho": "0.001"}),
    (RHO, {"rho": "0.3"}),
    (RHO, {"rho": 1}),
    (dp.Budget(epsilon=30, delta=1e-9), {"epsilon": 29}),
]


def charges(purchase: Purchase, budget: dp.Budget) -> tuple[Fraction, Fraction]:
    parts = [mechanism.loss for mechanism in purchase.mechanisms]
    parts += [purchase.naming.loss] if purchase.naming else []
    found = [budget.charge(part) for part in parts]
    return (
        sum((charge.amount for charge in found if charge), start=Fraction(0)),
        sum((charge.delta for charge in found if charge), start=Fraction(0)),
    )


class TestTheChargeIsTheSum:
    """Releasing the keys and then every measure, each by its mechanism, has at most `loss`. Its charge is the sum of
    the charges of the parts, and where a price was offered at most that price."""

    @pytest.mark.parametrize("asked", PUBLIC)
    @pytest.mark.parametrize(("budget", "offer"), OFFERS)
    def test_and_no_more_than_was_offered(self, asked: BoundedQuery, budget: dp.Budget, offer: dict[str, Any]) -> None:
        purchase = bought(asked, budget, **offer)
        assert (purchase.charge.amount, purchase.charge.delta) == charges(purchase, budget)
        wanted = next(iter(offer.values()))
        share = Fraction(wanted) / (budget.epsilon or budget.rho or 1)
        assert budget.share(purchase.charge) <= (1 if "rho" in offer and budget is ADDED else share)
        permit = dp.PrivacyFilter(budget).reserve(purchase.loss)
        for mechanism in purchase.mechanisms:
            permit.take(mechanism.loss)
        assert permit.left == 0

    def test_a_budget_in_epsilon_is_spent_to_the_last_digit(self) -> None:
        assert bought(THREE, PURE, epsilon=0.1).charge == dp.Charge(Fraction(1, 10))
        assert bought(THREE, PURE, epsilon=0.1).loss == dp.Loss.pure(epsilon="0.1")

    def test_a_delta_of_keys_is_the_same_share_as_the_rest(self) -> None:
        for epsilon in ("0.2", "0.5", 1):
            purchase = bought(TOWNS, KEYED, epsilon=epsilon)
            assert purchase.naming is not None
            assert (purchase.charge.amount, purchase.charge.delta) == charges(purchase, KEYED)
            assert (
                0
                < purchase.charge.delta
                <= KEYED.delta_add * purchase.charge.amount / KEYED.cap.amount * Fraction(1.01)
            )
            assert KEYED.share(purchase.charge) <= Fraction(epsilon)


class TestMechanisms:
    def test_pure_budgets_buy_laplace_noise(self) -> None:
        kinds = [type(mechanism) for mechanism in bought(MEDIAN, PURE, epsilon=1).mechanisms]
        assert kinds == [dp.QuantileTree, dp.Laplace]
        tree = bought(MEDIAN, PURE, epsilon=1).mechanisms[0]
        assert isinstance(tree, dp.QuantileTree)
        assert isinstance(tree.noise, dp.Laplace)

    @pytest.mark.parametrize("budget", [ADDED, RHO, dp.Budget(epsilon=30, delta=1e-9)])
    @pytest.mark.parametrize("share", ["0.001", "0.3", "0.9"])
    def test_other_budgets_buy_the_noise_with_the_less_error(self, budget: dp.Budget, share: str) -> None:
        """Neither law at the same charge is more accurate by more than what the search rounds off."""
        offer = {"rho": share} if budget is RHO else {"epsilon": Fraction(share) * budget.epsilon}  # type: ignore[operator]
        for asked in (COUNT, THREE):
            purchase = bought(asked, budget, **offer)
            for measure, mechanism in zip(asked.measures, purchase.mechanisms, strict=True):
                assert isinstance(mechanism, dp.Laplace | dp.Gaussian)
                error = mechanism.accuracy(failure_probability="0.05")
                charge = budget.charge(mechanism.loss)
                assert charge is not None
                for other in (dp.Laplace, dp.Gaussian):
                    alpha = error * 98 / 100 - 1
                    if alpha < 1:
                        continue  # noise is whole steps: none is nearer
                    nearer = other.for_accuracy(
                        alpha=alpha, failure_probability="0.05", sensitivity=measure.sensitivity
                    )
                    cost = budget.charge(nearer.loss)
                    assert cost is not None
                    assert cost.amount > charge.amount

    def test_both_laws_are_bought_somewhere(self) -> None:
        high = bought(COUNT, dp.Budget(epsilon=30, delta=1e-9), epsilon=29).mechanisms[0]
        assert isinstance(high, dp.Laplace)
        assert isinstance(bought(COUNT, ADDED, epsilon="0.1").mechanisms[0], dp.Gaussian)

    def test_the_tree_is_the_one_of_the_best_branching(self) -> None:
        tree = bought(MEDIAN, ADDED, epsilon=1).mechanisms[0]
        assert isinstance(tree, dp.QuantileTree)
        errors = {}
        for arms in (2, 4, 10, 32, 100):
            other = dp.QuantileTree(
                bins=tree.bins, rows=tree.rows, neighbours=tree.neighbours, branching=arms, rho=tree.loss.rho_bound()
            )
            errors[arms] = other.accuracy(q="0.5", failure_probability="0.05")
        assert tree.accuracy(q="0.5", failure_probability="0.05") <= min(errors.values()) * 1.1

    @pytest.mark.parametrize(
        ("asked", "budget", "offer", "message"),
        [
            (
                TOWNS,
                PURE,
                {"epsilon": 1},
                r"private keys need a budget with delta and delta_add: dc\.Budget\(epsilon=1, ",
            ),
            (TOWNS, ADDED, {"epsilon": 1}, r"delta_add: dc\.Budget\(epsilon=1, delta=1e-9, delta_add=5e-10\)"),
            (TOWNS, RHO, {"rho": 1}, "private keys need a budget with delta"),
            (TOWNS, KEYED, {"epsilon": 1e-9}, "price is too small|buy anything|cannot be drawn"),
            (query(Total(COST), of=UNITS), PURE, {"epsilon": 1e-9}, "Offer more if the price is small, less if"),
            (COUNT, dp.Budget(epsilon=99), {"loss": dp.Loss.pure(epsilon=50)}, "at this price cannot be drawn"),
            (COUNT, dp.Budget(rho=9999), {"rho": 9000}, "at this price cannot be drawn"),
            (query(keys=[BY_SEX]), PURE, {"epsilon": 1}, "nothing is measured"),
        ],
    )
    def test_what_cannot_be_bought_is_refused_with_a_remedy(
        self, asked: BoundedQuery, budget: dp.Budget, offer: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(dc.Refused, match=message):
            bought(asked, budget, **offer)


class TestWithin:
    """`within=` asks the other way round: the least loss at which no number is off by more, at 95 %."""

    @pytest.mark.parametrize("budget", [PURE, ADDED, RHO])
    @pytest.mark.parametrize("of", [None, UNITS])
    def test_the_error_is_the_one_asked_for(self, budget: dp.Budget, of: Any) -> None:
        outputs = [("n", Released(0)), ("c", Released(1)), ("d", Released(2))]
        asked = query(Present(AGE), Total(COST), Distinct(AGE), outputs=outputs, of=of or table())
        purchase = bought(asked, budget, within=5000)
        for measure, mechanism in zip(asked.measures, purchase.mechanisms, strict=True):
            assert isinstance(mechanism, dp.Laplace | dp.Gaussian)
            error = mechanism.accuracy(failure_probability="0.05") * measure.step
            assert 5000 - measure.step <= error <= 5000
        assert purchase.charge.amount == charges(purchase, budget)[0]

    @pytest.mark.parametrize(
        "asked",
        [
            query(*MEAN, outputs=[("age", MEAN_AGE)]),
            query(ROWS, AGES, outputs=[("n", Released(0)), ("m", QuantileOf(1, Fraction(1, 2)))]),
            query(ROWS, outputs=[("n", Computed("add", (Released(0), Given(1))))]),
            query(ROWS, outputs=[("town", KEY), ("n", Released(0))], keys=[BY_TOWN]),
        ],
    )
    def test_an_error_that_depends_on_the_table_is_not_promised(self, asked: BoundedQuery) -> None:
        with pytest.raises(
            dc.NotSupported, match=r"error of a mean depends on|promise the errors of|in declared groups"
        ):
            bought(asked, KEYED, within=50)

    @pytest.mark.parametrize("within", ["0.5", 1e300])
    def test_an_error_is_at_least_a_step_and_can_be_drawn(self, within: Any) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"within= is at least 1, because noise is whole steps"):
            bought(COUNT, PURE, within=within)

    def test_a_finer_step_allows_a_smaller_error(self) -> None:
        asked = query(Total(COST), outputs=[("c", Released(0))])
        assert bought(asked, PURE, within="0.5").mechanisms[0].accuracy(failure_probability="0.05") == 1  # type: ignore[union-attr, call-arg]


@pytest.mark.parametrize("rows", [1, 60])
def test_keys_are_named_by_the_rule_that_names_the_smallest_groups(rows: int) -> None:
    asked = query(outputs=[("town", KEY)], keys=[BY_TOWN], of=table("p", rows_per_unit=rows))
    purchase = bought(asked, KEYED, epsilon=1)
    naming = purchase.naming
    assert naming is not None
    assert (naming.groups, naming.delta, purchase.mechanisms) == (rows, KEYED.delta_add, ())
    facts: dict[str, Any] = {"groups": rows, "neighbours": naming.neighbours, "delta": naming.delta}
    facts["rho"] = KEYED.cap.amount / KEYED.order
    others = [
        dp.PartitionSelection(**facts),
        *(dp.NoisyKeys(noise=noise, **facts) for noise in ("laplace", "gaussian")),
    ]
    least = min(other.sure_count(failure_probability="0.05") for other in others)
    assert naming.sure_count(failure_probability="0.05") == least
