"""Which weights move how: a network and settings -> **optimiser** -> the training step."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from kibitz.training.config import OptimiserSettings

Kind = Literal["sgd", "adam", "adamw"]

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)
# The name's ends of what is added, not multiplied: pulling it to 0 regularises nothing.
ADDED = ("bias", "shift")


def parameter_groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return torch's groups: weights that decay, then biases, norms and shifts that do not."""
    tensors = _trainable(network)
    groups = [
        {"params": [tensor for tensor, decays in tensors if decays], "weight_decay": weight_decay},
        {"params": [tensor for tensor, decays in tensors if not decays], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def _trainable(network: nn.Module) -> list[tuple[Tensor, bool]]:
    """Return each trainable tensor once, with whether it decays."""
    norms = {
        id(tensor)
        for module in network.modules()
        if isinstance(module, NORMS)
        for tensor in module.parameters()
    }
    return [
        (tensor, id(tensor) not in norms and not name.endswith(ADDED))
        for name, tensor in network.named_parameters()
        if tensor.requires_grad
    ]


def make_optimiser(network: nn.Module, settings: OptimiserSettings, rate: float) -> Optimizer:
    """Return the optimiser of a network; `set_rate` changes its learning rate."""
    groups = parameter_groups(network, settings.weight_decay)
    if settings.kind == "sgd":
        return SGD(groups, rate, momentum=settings.momentum, nesterov=settings.nesterov, fused=True)
    cls = AdamW if settings.kind == "adamw" else Adam
    betas = (settings.beta1, settings.beta2)
    return cls(groups, rate, betas=betas, eps=settings.epsilon, fused=True)


def set_rate(optimiser: Optimizer, rate: float) -> None:
    """Use this learning rate from the next step on."""
    for group in optimiser.param_groups:
        group["lr"] = rate
