"""From a card to a torch module and back; size -> card -> **network** -> file."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import torch
from torch import nn

from kibitz.errors import InputError
from kibitz.files import Location
from kibitz.network import card as cards
from kibitz.network.card import Heads, NetworkCard
from kibitz.network.dilated import DilatedNetwork
from kibitz.network.plain import plain_network, residual_network
from kibitz.network.sizes import Size, check_card, inputs_of, new_card, parse
from kibitz.network.sparse import SparseNetwork, SparseSizes
from kibitz.network.tower import Tower


def _tower(size: Size, inputs: int, heads: Heads) -> nn.Module:
    return Tower(inputs, size.blocks, size.width, "se" in size.options, heads)


def _plain(size: Size, inputs: int, heads: Heads) -> nn.Module:
    return plain_network(inputs, size.blocks, size.width, heads)


def _residual(size: Size, inputs: int, heads: Heads) -> nn.Module:
    squeeze, input_layer = size.family == "se", "input" in size.options
    return residual_network(inputs, size.blocks, size.width, heads, squeeze, input_layer)


def _dilated(size: Size, inputs: int, heads: Heads) -> nn.Module:
    return DilatedNetwork(inputs, size.width, moves=heads.policy)


def _sparse(size: Size, inputs: int, heads: Heads) -> nn.Module:
    del heads  # always win, draw, loss and policy
    sizes = SparseSizes(
        features=inputs,
        width=size.width,
        policy_width=size.policy_width,
        perspectives=2 if "both" in size.options else 1,
        direct="direct" in size.options,
    )
    return SparseNetwork(sizes)


BUILDERS: dict[str, Callable[[Size, int, Heads], nn.Module]] = {
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
    return BUILDERS[card.family](parse(card.size), inputs_of(card), card.heads)


def count_parameters(network: nn.Module) -> int:
    """Return the number of trainable parameters."""
    return sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)


def save_network(location: Location, network: nn.Module, card: NetworkCard) -> NetworkCard:
    """Write a network file; returns the card with parameters and checksum filled in."""
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
    card = msgspec.structs.replace(card, parameters=count_parameters(network))
    return cards.save(location, weights, card)


def load_network(location: Location) -> tuple[nn.Module, NetworkCard]:
    """Return the network of a file, in evaluation mode, and its card."""
    card, weights = cards.load(location)
    if card.precision != "float32":
        raise InputError(
            "a quantised network cannot be trained or run by torch",
            value=card.name,
            fix="use the float file",
        )
    network = build(card)
    tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise InputError(f"weights do not fit a {card.size} network ({error})") from error
    return network.eval(), card
