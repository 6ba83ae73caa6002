"""Sampling: what each method may choose from and how often, and beam search against all texts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kibitz.comment.decoder.file import PRESETS, Method, Sampling, beam, distribution, sample
from kibitz.core.errors import InputError

LOGITS = np.log(np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04]))
FIRST, LAST = 1, 2


@pytest.mark.parametrize("p", [0.05, 0.1, 0.5, 0.8, 0.95])
def test_the_nucleus_has_no_more_mass_than_p_before_its_last_token(p: float) -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        logits = 3.0 * random.standard_normal(40)
        found = distribution(logits, Sampling("nucleus", p=p, temperature=1.0))
        mass = np.sort(np.exp(logits) / np.exp(logits).sum())[::-1]
        kept = int((found > 0).sum())
        assert mass[: kept - 1].sum() <= p < mass[:kept].sum() + 1e-12
        assert found.sum() == pytest.approx(1.0)


def test_covet_cuts_first_or_heats_first() -> None:
    cut = distribution(LOGITS, Sampling("covet", p=0.45, temperature=1.5, order="cut"))
    heated = distribution(LOGITS, Sampling("covet", p=0.45, temperature=1.5, order="temperature"))
    assert (cut > 0).tolist() == [True, True, False, False, False, False]
    # At T = 1.5 the first two have 0.31 and 0.23 of the mass: a third comes in at p = 0.56 only.
    assert (heated > 0).tolist() == [True, True, False, False, False, False]
    wide = {
        order: distribution(LOGITS, Sampling("covet", 0.64, 1.5, order))
        for order in ("cut", "temperature")
    }
    assert int((wide["cut"] > 0).sum()) == 2
    assert int((wide["temperature"] > 0).sum()) == 3
    # What is left is evened out: shares are those of p ** (1 / T).
    expected = np.array([0.4, 0.25]) ** (1 / 1.5)
    assert cut[:2] == pytest.approx(expected / expected.sum())


def test_covets_default_is_nearly_greedy_and_still_varied() -> None:
    flat = np.log(np.array([0.06, 0.06, 0.05, *([0.83 / 100] * 100)]))
    assert int((distribution(flat, PRESETS["covet"]) > 0).sum()) == 2
    assert int((distribution(LOGITS, PRESETS["covet"]) > 0).sum()) == 1


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_top_k_keeps_k_and_heats_them(temperature: float) -> None:
    found = distribution(LOGITS, Sampling("top-k", k=3, temperature=temperature))
    expected = np.exp(LOGITS[:3] / temperature)
    assert found[:3] == pytest.approx(expected / expected.sum())
    assert found[3:].sum() == 0.0


def test_draws_have_the_frequencies_of_the_distribution() -> None:
    sampling = Sampling("nucleus", p=0.7, temperature=1.0)
    rows = np.concatenate([LOGITS, [-20.0, -20.0]])[[6, 7, 0, 1, 2, 3, 4, 5]]

    def logits(tokens: np.ndarray) -> np.ndarray:
        return np.tile(rows, (len(tokens), 1))

    texts = sample(logits, sampling, 4000, np.random.default_rng(3), (FIRST, LAST), 1)
    # Token 2 ends a text, 3 and 4 are what else may be said.
    counts = np.array([sum(text == one for text in texts) for one in ([], [3], [4])])
    expected = 4000 * np.array([0.4, 0.25, 0.15]) / 0.8
    assert counts.sum() == 4000
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # chi squared, 2 degrees, 0.001


def chain(tokens: np.ndarray) -> np.ndarray:
    """Logits of 5 tokens that depend on the whole text before them."""
    rows = []
    for row in tokens:
        random = np.random.default_rng(
            int(sum((at + 2) * 7**at * one for at, one in enumerate(row)))
        )
        rows.append(2.0 * random.standard_normal(5))
    return np.array(rows)


def scored(text: tuple[int, ...], alpha: float) -> float:
    """The logarithm of a text's probability over its penalty, from the formula."""
    total, tokens = 0.0, [FIRST]
    for token in (*text, LAST):
        row = chain(np.array([tokens]))[0]
        total += float(row[token] - np.log(np.exp(row).sum()))
        tokens.append(token)
    penalty: float = ((5.0 + len(text) + 1) / 6.0) ** alpha
    return total / penalty


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_wide_beam_finds_the_best_of_all_texts(alpha: float) -> None:
    words = [one for one in range(5) if one != LAST]
    texts = [text for size in range(4) for text in itertools.product(words, repeat=size)]
    best = max(texts, key=lambda text: scored(text, alpha))
    found = beam(chain, Sampling("beam", beams=100, alpha=alpha), (FIRST, LAST), 4)
    assert scored(tuple(found), alpha) >= scored(best, alpha) - 1e-9


def test_greedy_is_a_beam_of_one_and_never_varies() -> None:
    texts = sample(chain, PRESETS["greedy"], 3, np.random.default_rng(), (FIRST, LAST), 6)
    tokens = [FIRST]
    while len(tokens) <= 6 and (best := int(chain(np.array([tokens]))[0].argmax())) != LAST:
        tokens.append(best)
    assert texts == [tokens[1:]] * 3


@pytest.mark.parametrize("method", ["covet", "nucleus", "top-k", "greedy", "beam"])
def test_texts_end_where_they_must(method: Method) -> None:
    texts = sample(chain, PRESETS[method], 5, np.random.default_rng(1), (FIRST, LAST), 7)
    assert len(texts) == 5
    assert all(len(text) <= 7 and LAST not in text for text in texts)


@pytest.mark.parametrize("wrong", [{"p": 0.0}, {"p": 1.5}, {"temperature": 0.0}, {"k": 0}])
def test_wrong_numbers_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Sampling(**wrong)  # type: ignore[arg-type]
