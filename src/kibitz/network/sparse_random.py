"""Random weights of a sparse network, without torch; card -> **arrays** -> file, evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.network.card import NetworkCard
from kibitz.network.sizes import inputs_of, parse, policy_rows

TAIL, WDL = (16, 32), 3
FEATURE_DEVIATION, BIAS_DEVIATION, FEATURE_BIAS = 0.08, 0.1, 0.25
TAIL_GAIN = 2.0  # so that values differ from position to position


def random_weights(card: NetworkCard, seed: int = 0) -> dict[str, Any]:
    """Float arrays under the names `SparseNetwork` gives them; hidden units are busy at once."""
    size, features = parse(card.size), inputs_of(card)
    hidden = size.width * (2 if "both" in size.options else 1)
    direct = "direct" in size.options
    random = np.random.default_rng(seed)

    def normal(deviation: float, *shape: int) -> np.ndarray:
        return np.asarray(deviation * random.standard_normal(shape, dtype=np.float32))

    weights: dict[str, Any] = {}
    for name, width in (("value", size.width), ("policy", size.policy_width)):
        weights[f"{name}_features.weight"] = normal(FEATURE_DEVIATION, features, width)
        weights[f"{name}_features.bias"] = normal(BIAS_DEVIATION, width) + np.float32(FEATURE_BIAS)
    layers = [(hidden, WDL)] if direct else [(hidden, TAIL[0]), TAIL, (TAIL[1], WDL)]
    for number, (inputs, outputs) in enumerate(layers, start=1):
        weights[f"tail{number}.weight"] = normal(TAIL_GAIN * inputs**-0.5, outputs, inputs)
        weights[f"tail{number}.bias"] = normal(BIAS_DEVIATION, outputs)
    moves = policy_rows(card)
    weights["move_weight"] = normal(size.policy_width**-0.5, moves, size.policy_width)
    weights["move_bias"] = normal(BIAS_DEVIATION, moves)
    return weights
