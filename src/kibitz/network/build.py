"""From a card to a torch module and back; size -> card -> **network** -> file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kibitz.errors import InputError
from kibitz.files import Location
from kibitz.network import card as cards
from kibitz.network.card import POLICY_SIZES, NetworkCard
from kibitz.network.dilated import DilatedNetwork
from kibitz.network.plain import plain_network, residual_network
from kibitz.network.sizes import Size, check_card, inputs_of, new_card, parse, policy_rows
from kibitz.network.sparse import SHARED, SparseNetwork, SparseSizes, kept
from kibitz.network.tower import Tower


def _tower(size: Size, card: NetworkCard) -> nn.Module:
    return Tower(inputs_of(card), size.blocks, size.width, "se" in size.options, card.heads)


def _plain(size: Size, card: NetworkCard) -> nn.Module:
    return plain_network(inputs_of(card), size.blocks, size.width, card.heads)


def _residual(size: Size, card: NetworkCard) -> nn.Module:
    squeeze, input_layer = size.family == "se", "input" in size.options
    inputs, heads = inputs_of(card), card.heads
    return residual_network(inputs, size.blocks, size.width, heads, squeeze, input_layer)


def _dilated(size: Size, card: NetworkCard) -> nn.Module:
    return DilatedNetwork(inputs_of(card), size.width, moves=card.heads.policy)


def _sparse(size: Size, card: NetworkCard) -> nn.Module:
    sizes = SparseSizes(  # the heads are always win, draw, loss and policy
        features=inputs_of(card),
        width=size.width,
        policy_width=size.policy_width,
        moves=POLICY_SIZES[card.policy_order],
        kinds=policy_rows(card) - POLICY_SIZES[card.policy_order],
        perspectives=2 if "both" in size.options else 1,
        direct="direct" in size.options,
    )
    return SparseNetwork(sizes)


BUILDERS: dict[str, Callable[[Size, NetworkCard], nn.Module]] = {
    "tower": _tower,
    "plain": _plain,
    "residual": _residual,
    "se": _residual,
    "dilated": _dilated,
    "sparse": _sparse,
}


def build(what: NetworkCard | str) -> nn.Module:
    """Return a freshly initialised network for a card or a size string."""
    card = new_card(what) if isinstance(what, str) else what
    check_card(card)
    return BUILDERS[card.family](parse(card.size), card)


def channels_last(network: nn.Module) -> nn.Module:
    """Lay a network's filters out as its convolutions like them: training is up to twice as fast.

    Input planes should lie likewise; results are the same but for rounding.
    """
    for parameter in network.parameters():
        parameter.data = laid_out(parameter.data)
    return network


def laid_out(tensor: Tensor) -> Tensor:
    """Return filters or planes with channels last in memory, other tensors as they are."""
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor


def count_parameters(network: nn.Module) -> int:
    """Return the number of trainable parameters that a network file keeps."""
    return sum(
        parameter.numel()
        for name, parameter in network.named_parameters()
        if parameter.requires_grad and not name.endswith(SHARED)
    )


def save_network(location: Location, network: nn.Module, card: NetworkCard) -> NetworkCard:
    """Write a network file; returns the card with parameters and checksum filled in."""
    weights = file_weights(network.state_dict())
    card = msgspec.structs.replace(card, parameters=count_parameters(network))
    return cards.save(location, weights, card)


def file_weights(state: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a network file for a network's `state_dict()`."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in kept(state).items()}


def load_network(location: Location) -> tuple[nn.Module, NetworkCard]:
    """Return the network of a file, in evaluation mode, and its card."""
    card, weights = cards.load(location)
    if card.precision != "float32":
        raise InputError(
            "a quantised network cannot be trained or run by torch",
            value=card.name,
            fix="use the float file",
        )
    return with_weights(card, weights).eval(), card


def with_weights(card: NetworkCard, weights: Mapping[str, NDArray[Any]]) -> nn.Module:
    """Return the network of a card with the arrays of a float file."""
    network = build(card)
    tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
    shared = {name: value for name, value in network.state_dict().items() if name.endswith(SHARED)}
    try:
        network.load_state_dict(tensors | shared)  # freshly made ones are 0
    except RuntimeError as error:
        raise InputError(f"weights do not fit a {card.size} network ({error})") from error
    return network
