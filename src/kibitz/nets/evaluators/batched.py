"""The contract of batched evaluators: leaves in, values and logits of their moves out.

Search never sees planes or policy indices: what comes back is aligned with the leaves' own moves.
Inline evaluators take part through `InlineBatch`, so that all evaluators can be compared.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from kibitz.core.errors import EvaluationError
from kibitz.nets.card import NetworkCard
from kibitz.nets.encodings.leaves import Leaves, swap_colours
from kibitz.nets.encodings.planes import Sight, policy_indices
from kibitz.nets.evaluators.inline import InlineEvaluator, evaluate_all


class Evaluations(NamedTuple):
    """What is said of B leaves with M legal moves in all."""

    wdl: np.ndarray  # float32 [B, 3]: probabilities of win, draw, loss for the side to move
    logits: np.ndarray  # float32 [M]: as flat as leaves.moves, not normalised


class BatchedEvaluator(Protocol):
    """Evaluates a batch of any size; several threads may call it at the same time."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    @property
    def sees(self) -> Sight:
        """What it sees of a leaf."""

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Fill `out` for all leaves."""


def new_evaluations(leaves: Leaves) -> Evaluations:
    """Room for what is said of these leaves."""
    batch, moves = len(leaves.known), int(leaves.offsets[-1])
    return Evaluations(np.zeros((batch, 3), np.float32), np.zeros(moves, np.float32))


def evaluated(evaluator: BatchedEvaluator, leaves: Leaves) -> Evaluations:
    """What an evaluator says of these leaves, in new arrays."""
    out = new_evaluations(leaves)
    evaluator.evaluate(leaves, out)
    return out


def refuse_not_finite(name: str, *arrays: np.ndarray) -> None:
    """Raise an EvaluationError naming the network if any number is infinite or none at all."""
    if not all(np.isfinite(array).all() for array in arrays):
        fix = "take another network, or train or export this one again"
        raise EvaluationError("the network's answer is not a finite number", value=name, fix=fix)


def values_of(wdl: np.ndarray) -> np.ndarray:
    """Values in [-1, 1], float32 [B], from probabilities of win, draw and loss."""
    values: np.ndarray = wdl[:, 0] - wdl[:, 2]
    return values


class InlineBatch:
    """An inline evaluator for whole batches."""

    sees = Sight()

    def __init__(self, evaluator: InlineEvaluator) -> None:
        self.evaluator = evaluator
        self.name = evaluator.name
        self._of_thread = threading.local()

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Fill `out` for all leaves, on this thread."""
        scratch: Any = getattr(self._of_thread, "scratch", None)
        if scratch is None:
            scratch = self._of_thread.scratch = self.evaluator.new_scratch()
        places = leaves.positions, leaves.moves, leaves.offsets
        evaluate_all(self.evaluator.record, scratch.record, *places, out.wdl, out.logits)


class Pair:
    """The value of one evaluator with the logits of another, as Batch-First's networks need."""

    def __init__(self, value: BatchedEvaluator, policy: BatchedEvaluator) -> None:
        self.value, self.policy = value, policy
        self.name = f"{value.name} with {policy.name}"
        first, second = value.sees, policy.sees
        self.sees = Sight(
            max(first.history, second.history),
            max(first.repetitions, second.repetitions),
            first.clock or second.clock,
            first.colours or second.colours,
        )

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Evaluate with both networks."""
        unused = new_evaluations(leaves)
        self.value.evaluate(leaves, Evaluations(out.wdl, unused.logits))
        self.policy.evaluate(leaves, Evaluations(unused.wdl, out.logits))


class ColoursSwapped:
    """A network that is shown every position with White and Black exchanged."""

    def __init__(self, evaluator: BatchedEvaluator) -> None:
        self.evaluator, self.sees = evaluator, evaluator.sees
        self.name = f"{evaluator.name}, colours swapped"

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Ask about the exchanged positions; answers are for the side to move in both."""
        self.evaluator.evaluate(swap_colours(leaves), out)


def part_of_evaluations(out: Evaluations, leaves: Leaves, first: int, last: int) -> Evaluations:
    """The evaluations of those leaves, as views."""
    return Evaluations(
        out.wdl[first:last], out.logits[leaves.offsets[first] : leaves.offsets[last]]
    )


# --- what networks put out -----------------------------------------------------------------------

Outputs = Mapping[str, np.ndarray]


def decode(card: NetworkCard, outputs: Outputs, leaves: Leaves, out: Evaluations) -> None:
    """Fill `out` from the outputs of models/convolutional, float32 [B or more, ...].

    Without a value head every position is a draw, without a policy head every move is as good as
    another.
    """
    batch = len(leaves.known)
    if "value" in outputs:
        refuse_not_finite(card.name, outputs["value"][:batch])
        put_wdl(card.heads.value, outputs["value"][:batch], out.wdl)
    else:
        out.wdl[:] = (0, 1, 0)
    if "policy" in outputs:
        put_legal(card, outputs["policy"], leaves, out.logits)
        refuse_not_finite(card.name, out.logits)
    else:
        out.logits[:] = 0


def put_wdl(kind: str, value: np.ndarray, wdl: np.ndarray) -> None:
    """Probabilities of win, draw, loss, float32 [B, 3], from a value head's output."""
    if kind == "wdl":
        powers = np.exp(value - value.max(axis=1, keepdims=True))
        wdl[:] = powers / powers.sum(axis=1, keepdims=True)
        return
    value = np.tanh(value / 2) if kind == "rank" else np.clip(value, -1, 1)
    wdl[:, 0], wdl[:, 1], wdl[:, 2] = (1 + value) / 2, 0, (1 - value) / 2


def put_legal(card: NetworkCard, policy: np.ndarray, leaves: Leaves, logits: np.ndarray) -> None:
    """Pick the logits of the legal moves, policy float32 [B or more, indices]."""
    indices = np.empty(int(leaves.offsets[-1]), dtype=np.int32)
    policy_indices(card.policy_order, card.encoding, leaves, indices)
    rows = np.repeat(np.arange(len(leaves.known)), np.diff(leaves.offsets))
    logits[:] = policy[rows, indices]
