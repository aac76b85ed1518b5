"""Uniform, Bernoulli, geometric and discrete Laplace draws: exact by enumeration, then seen to be so by statistics."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.dp import samplers
from discreet.dp.randomness import Stream, _SeededStream, system
from discreet.dp.samplers import CHUNK, DiscreteLaplace, bernoulli, bernoulli_exp, geometric, uniform_below
from discreet.errors import InvalidParameter
from tests.broken import noise
from tests.closed_forms import mp
from tests.noise_laws import geometric_digits, laplace_mass, laplace_top, real
from tests.scripted import APART, Scripted, Watched, rare_table, rare_word
from tests.statistics import chi_square, share

F = Fraction
N = 1_000_000


class TestUniform:
    @pytest.mark.parametrize("bound", [1, 2, 3, 5, 100, 128, 129, 200, 255, 256])
    def test_every_byte_is_kept_or_drawn_again(self, bound: int) -> None:
        bits = (bound - 1).bit_length()
        again = itertools.repeat(0)
        stream = Scripted(np.arange(256), then=again) if bits else Scripted()
        counts = np.bincount(uniform_below(stream, bound, 256), minlength=bound)
        redrawn = 256 - bound * 2 ** (8 - bits) if bits else 0
        assert counts.tolist() == ([2 ** (8 - bits) + redrawn] + [2 ** (8 - bits)] * (bound - 1) if bits else [256])

    @pytest.mark.parametrize("bound", [257, 1000, 40_000, 65_535, 65_536])
    def test_every_word_of_16_bits(self, bound: int) -> None:
        bits = (bound - 1).bit_length()
        drawn = uniform_below(Scripted(np.arange(1 << 16), then=itertools.repeat(0)), bound, 1 << 16)
        counts = np.bincount(drawn, minlength=bound)
        assert set(counts[1:].tolist()) == {2 ** (16 - bits)}

    @pytest.mark.parametrize("bits", [17, 31, 32, 33, 62, 63])
    def test_bounds_of_up_to_63_bits(self, bits: int) -> None:
        width = 32 if bits <= 32 else 64
        bound = 2**bits - 1
        top = [0, 5, bound - 1, bound]  # the last is rejected
        words = [(value << (width - bits)) + (1 << (width - bits)) - 1 for value in top]
        stream = Scripted(words, [7 << (width - bits)])
        assert uniform_below(stream, bound, 4).tolist() == [0, 5, bound - 1, 7]
        assert stream.finished

    def test_longer_bounds_are_python_integers(self) -> None:
        bound = 2**80 - 2**70
        stream = Scripted(bound, bound - 1, 2**80 - 1, 3)
        drawn = uniform_below(stream, bound, 2)
        assert drawn.dtype == object
        assert drawn.tolist() == [bound - 1, 3]

    @pytest.mark.parametrize("bound", [200, 1000])
    def test_by_statistics(self, bound: int) -> None:
        check = chi_square(lambda draws: draws, [1 / bound] * bound, N)
        wrong = (
            {"modulo": noise.modulo(200)} if bound == 200 else {"too few": lambda n: uniform_below(system(), 999, n)}
        )
        check.run(lambda n: uniform_below(system(), bound, n), wrong=wrong)


class TestCoins:
    @pytest.mark.parametrize("chance", [F(0), F(1), F(1, 2), F(3, 7), F(1, 200), F(199, 200)])
    def test_a_rational_coin_is_exact(self, chance: Fraction) -> None:
        """P(True) = chance, exactly."""
        bits = (chance.denominator - 1).bit_length()
        kept = chance.denominator * 2 ** (8 - bits) if bits else 256
        words = np.arange(256)[:kept]  # the others are drawn again
        coins = bernoulli(Scripted(words) if bits else Scripted(), chance, kept)
        assert F(int(coins.sum()), kept) == chance

    def test_a_coin_of_many_digits(self) -> None:
        chance = F(1, 3 * 2**70)
        assert bernoulli(Scripted(0, 1, 3 * 2**70, 5), chance, 3).tolist() == [True, False, False]

    def test_chances_outside_0_and_1_are_refused(self) -> None:
        for chance in (F(-1, 10), F(11, 10)):
            with pytest.raises(InvalidParameter):
                bernoulli(system(), chance, 1)
        with pytest.raises(InvalidParameter):
            bernoulli_exp(system(), F(-1), 1)

    @pytest.mark.parametrize("exponent", [F(1, 1000), F(1, 3), F(2), F(7)])
    def test_an_exponential_coin(self, exponent: Fraction) -> None:
        """P(True) = exp(-exponent), exactly. The table behind it is checked in test_inversion."""
        check = share(lambda draws: draws == 1, float(mp.exp(-real(exponent))), N)
        wrong = {"1 / (1 + x)": noise.biased_coin(1 / (1 + float(exponent)))} if exponent > F(1, 100) else {}
        chance = float(mp.exp(-real(exponent)))
        wrong |= {"a little off": noise.biased_coin(chance - 0.02 if chance > 0.1 else 2 * chance)}
        check.run(lambda n: bernoulli_exp(system(), exponent, n).astype(np.int64), wrong=wrong)

    def test_an_exponent_of_0_is_certain(self) -> None:
        assert bernoulli_exp(Scripted(), F(0), 5).all()

    def test_a_geometric_draw_is_a_magnitude_without_its_sign(self) -> None:
        """The law is exact; it is the magnitude of the discrete Laplace draw, which is independent of its sign."""
        q = float(mp.exp(mp.mpf(-1) / 3))
        chances = [(1 - q) * q**g for g in range(12)]
        check = chi_square(lambda draws: np.minimum(draws, 12), [*chances, q**12], N)
        wrong = {
            "from 1": lambda n: geometric(system(), F(3), n) + 1,
            "abs(Z)": lambda n: np.abs(noise.laplace(F(3))(n)),
            "scale off": lambda n: geometric(system(), F(33, 10), n),
        }
        check.run(lambda n: geometric(system(), F(3), n), wrong=wrong)

    def test_a_rational_coin_by_statistics(self) -> None:
        check = share(lambda draws: draws == 1, 1 / 3, N)
        check.run(lambda n: bernoulli(system(), F(1, 3), n).astype(np.int64), wrong={"0.34": noise.biased_coin(0.34)})


class TestDiscreteLaplaceExactly:
    """The law is exact for every rational t in [LEAST_SCALE, GREATEST_SCALE]."""

    @pytest.mark.parametrize("scale", [F(17), F(20), F(100), F(5000)])
    def test_the_digits_and_the_sign_are_independent(self, scale: Fraction) -> None:
        """Blocks of binary digits of a geometric variable are independent (its law factorises over them)."""
        sampler = DiscreteLaplace(scale)
        top = laplace_top(scale, 1 << sampler._digits)
        parts = [
            (shift, len(b._labels), geometric_digits(scale / 2**shift, len(b._labels))) for shift, b in sampler._blocks
        ]
        assert [size for _, size, _ in parts][:-1] == [256] * (len(parts) - 1)
        for z in range(-3000, 3000, 7):
            size, b = (z, 0) if z >= 0 else (-1 - z, 1)
            product = top._mass(2 * (size >> sampler._digits) + b)
            for shift, values, law in parts:
                product *= law._mass(size >> shift & (values - 1))
            assert abs(product / laplace_mass(scale, z) - 1) < mp.mpf(10) ** -45

    @pytest.mark.parametrize("scale", [F(1), F(20), F(5000)])
    def test_the_parts_are_put_together(self, scale: Fraction) -> None:
        sampler = DiscreteLaplace(scale)
        tables = [sampler._top, *(block for _, block in sampler._blocks)]
        sizes = [min(size, len(t._labels)) for size, t in zip([12, 5, 2], tables, strict=False)]
        chosen = list(itertools.product(*(range(size) for size in sizes)))
        words = [
            [(([0, *t._floors][i] + [*t._floors, 2**64][i]) // 2) for i in range(s)]
            for t, s in zip(tables, sizes, strict=True)
        ]
        wanted = []
        for i, *digits in chosen:
            size = (i // 2 << sampler._digits) + sum(
                v << shift for (shift, _), v in zip(sampler._blocks, digits, strict=True)
            )
            wanted.append(-1 - size if i % 2 else size)
        columns = [[words[k][row[k]] for row in chosen] for k in range(len(tables))]
        assert sampler.draw(Scripted(*columns), len(chosen)).tolist() == wanted

    def test_rare_values_are_python_integers_and_nothing_wraps(self) -> None:
        assert check_rare(DiscreteLaplace(F(2**52)))
        assert not check_rare(WrappingShift(F(2**52)))

    def test_a_wide_value_in_one_chunk_widens_all(self) -> None:
        parts = iter([np.arange(CHUNK), np.array([1, 2**70], dtype=object)])
        drawn = samplers.in_chunks(lambda size: next(parts), CHUNK + 2)
        assert drawn.dtype == object
        assert drawn[:2].tolist() == [0, 1]
        assert drawn[-2:].tolist() == [1, 2**70]

    def test_the_words_are_overwritten(self) -> None:
        stream = Watched()
        DiscreteLaplace(F(10**6)).draw(stream, 3000)
        uniform_below(stream, 1000, 3000)
        bernoulli(stream, F(1, 3), 3000)
        assert len(stream.handed_out) >= 5
        assert not any(words.any() for words in stream.handed_out)

    @pytest.mark.parametrize("scale", [F(0), F(-1), F(1, 46), F(2**52) + 1, F(10) ** 400])
    def test_scales_that_cannot_be_drawn_are_refused(self, scale: Fraction) -> None:
        with pytest.raises(InvalidParameter):
            DiscreteLaplace(scale)


def check_rare(sampler: DiscreteLaplace) -> bool:
    """Whether values far in the tail come out as they are, from a table in which they are not rare."""
    sampler._top = rare_table()
    return all(
        sampler.draw(rare_stream(sampler, labels, low), len(labels)).tolist()
        == [(APART * i << 49) + v for i, v in zip(labels, low, strict=True)]
        for labels, low in (([1, 2, 3, 4], [17, 0, 3, 255]), ([1, 6, 9], [1, 2, 0]))
    )


def rare_stream(sampler: DiscreteLaplace, labels: list[int], low: list[int]) -> Scripted:
    return Scripted([rare_word(i) for i in labels], low_words(sampler, low), then=itertools.repeat(0))


def low_words(sampler: DiscreteLaplace, values: list[int]) -> list[int]:
    """Words that make the lowest block these values."""
    floors = [0, *sampler._blocks[0][1]._floors, 2**64]
    return [(floors[v] + floors[v + 1]) // 2 for v in values]


class WrappingShift(DiscreteLaplace):
    """Leading digits shifted in 64 bits, whatever they are."""

    def _chunk(self, stream: Scripted, count: int) -> NDArray[np.int64]:  # type: ignore[override]
        drawn = self._top.draw(stream, count).astype(np.int64) << self._digits
        for shift, block in self._blocks:
            drawn ^= block.draw(stream, count).astype(np.int64) << shift
        return drawn


class TestDrawnAhead:
    def test_each_value_is_handed_out_once(self) -> None:
        sampler, stream = DiscreteLaplace(F(2**50)), Stream()
        drawn = [sampler.added_to(0, stream) for _ in range(1000)]
        assert len(set(drawn)) == 1000  # two equal ones have a chance below 2^-31
        assert not set(drawn) & {value - samplers._LIFT for value in stream.ahead[sampler]}

    def test_the_noise_is_added_exactly(self) -> None:
        one, other = _SeededStream(1), _SeededStream(1)
        sampler = DiscreteLaplace(F(10**6))
        for value in (0, 5, -(2**63), 2**200, -7):
            assert sampler.added_to(value, one) - value == sampler.added_to(0, other)

    def test_laws_do_not_mix_and_what_waits_is_bounded(self) -> None:
        stream = Stream()
        for i in range(1, 80):
            assert abs(DiscreteLaplace(F(1, 45)).added_to(0, stream)) < 3  # 0 but for 2^-63
            DiscreteLaplace(F(i + 1, 2)).added_to(0, stream)
            assert len(stream.ahead) <= 64
