"""From a network's outputs to evaluations: outputs -> **win, draw, loss and legal logits**.

What a network does not have stays neutral: without a value head every position is a draw, without
a policy head every move is as good as another.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kibitz.encoding.layouts import policy_indices
from kibitz.encoding.leaves import Leaves
from kibitz.evaluator.batched import Evaluations, refuse_not_finite
from kibitz.network.card import NetworkCard

Outputs = Mapping[str, np.ndarray]


def decode(card: NetworkCard, outputs: Outputs, leaves: Leaves, out: Evaluations) -> None:
    """Fill `out` from the outputs of network.heads, float32 [B or more, ...]."""
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
