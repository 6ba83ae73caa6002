"""How the decoder's next word is chosen: COVET, nucleus, top-k, greedy; and beam search.

COVET is nucleus sampling with a low p and a high temperature: little may be said at each place, and
what may be said is said in turns. As described, p cuts first and the temperature evens out what is
left; the code that ChessCoach called divides by the temperature first. Both orders are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from kibitz.core.errors import InputError

Method: TypeAlias = Literal["covet", "nucleus", "top-k", "greedy", "beam"]
Order: TypeAlias = Literal["cut", "temperature"]  # what comes first
# Token ids so far, [B, L], and for each the row of the start it goes on from -> logits [B, V].
NextLogits: TypeAlias = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Sampling:
    """A method with its numbers."""

    method: Method = "covet"
    p: float = 0.1  # of covet and nucleus
    temperature: float = 1.5  # of all but greedy and beam
    order: Order = "cut"
    k: int = 10  # of top-k
    beams: int = 4
    alpha: float = 0.6  # how much beam search favours longer texts

    def __post_init__(self) -> None:
        if not 0.0 < self.p <= 1.0:
            raise InputError("p of sampling", value=self.p, fix="give a number in (0, 1]")
        if not 0.0 < self.temperature < np.inf:
            raise InputError("temperature", value=self.temperature, fix="give a number above 0")
        if min(self.k, self.beams) < 1:
            raise InputError("k and beams", value=(self.k, self.beams), fix="give 1 or more")


PRESETS = {
    "covet": Sampling(),
    "nucleus": Sampling("nucleus", p=0.9, temperature=1.0),
    "top-k": Sampling("top-k", temperature=1.0),
    "greedy": Sampling("greedy"),
    "beam": Sampling("beam"),
}


def distribution(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """The probabilities [V] that the next token is drawn from; 0 for what may not be said."""
    match sampling.method:
        case "greedy" | "beam":
            return _softmax(_kept(logits, np.argsort(-logits, kind="stable")[:1]))
        case "top-k":
            best = np.argsort(-logits, kind="stable")[: sampling.k]
            return _softmax(_kept(logits, best) / sampling.temperature)
        case "covet" | "nucleus":
            if sampling.order == "temperature":
                logits = logits / sampling.temperature
                return _softmax(_kept(logits, nucleus(_softmax(logits), sampling.p)))
            kept = _kept(logits, nucleus(_softmax(logits), sampling.p))
            return _softmax(kept / sampling.temperature)


def nucleus(probabilities: np.ndarray, p: float) -> np.ndarray:
    """The likeliest tokens up to the first with which their mass exceeds p; at least one."""
    order = np.argsort(-probabilities, kind="stable")
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept: np.ndarray = order[(before <= p) & (np.arange(len(order)) < max(1, (before <= p).sum()))]
    return kept


def _kept(logits: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    out = np.full_like(logits, -np.inf)
    out[tokens] = logits[tokens]
    return out


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    result: np.ndarray = weights / weights.sum()
    return result


def sample(
    next_logits: NextLogits,
    sampling: Sampling,
    count: int,
    random: np.random.Generator,
    ends: tuple[int, int],
    longest: int,
) -> list[list[int]]:
    """So many texts as token ids, without the first and the last token, which `ends` are.

    Beam search has one answer, which is repeated.
    """
    if sampling.method == "beam":
        return [beam(next_logits, sampling, ends, longest)] * count
    first, last = ends
    tokens = np.full((count, 1), first, np.int64)
    ended = np.zeros(count, np.bool_)
    while tokens.shape[1] <= longest and not ended.all():
        rows = [distribution(row, sampling) for row in next_logits(tokens)]
        drawn = np.array([random.choice(len(row), p=row) for row in rows], np.int64)
        drawn[ended] = last
        tokens = np.column_stack([tokens, drawn])
        ended |= drawn == last
    return [_until(row, last) for row in tokens[:, 1:].tolist()]


def _until(tokens: Sequence[int], last: int) -> list[int]:
    return list(tokens[: tokens.index(last)] if last in tokens else tokens)


def beam(
    next_logits: NextLogits, sampling: Sampling, ends: tuple[int, int], longest: int
) -> list[int]:
    """The likeliest text found by beam search, its logarithm divided by ((5 + n) / 6) ** alpha."""
    first, last = ends
    alive: list[tuple[float, list[int]]] = [(0.0, [first])]
    done: list[tuple[float, list[int]]] = []
    for length in range(1, longest + 1):
        logits = next_logits(np.array([tokens for _, tokens in alive], np.int64))
        found: list[tuple[float, list[int]]] = []
        for (score, tokens), row in zip(alive, logits, strict=True):
            logs = np.log(_softmax(row) + 1e-30)
            best = np.argsort(-logs, kind="stable")[: 2 * sampling.beams].tolist()
            found += [(score + float(logs[token]), [*tokens, token]) for token in best]
        found.sort(key=lambda one: -one[0])
        penalty = ((5.0 + length) / 6.0) ** sampling.alpha
        done += [(score / penalty, tokens) for score, tokens in found if tokens[-1] == last]
        alive = [one for one in found if one[1][-1] != last][: sampling.beams]
        most = ((5.0 + longest) / 6.0) ** sampling.alpha
        if not alive or (done and max(done)[0] >= alive[0][0] / most):
            break  # scores are below 0, so no text that is not done can become better
    best = max(done or alive)[1]
    return _until(best[1:], last)
