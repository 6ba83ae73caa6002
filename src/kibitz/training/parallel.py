"""Training on several processes at once, by torch's DDP; torchrun -> **processes** -> loop.

Started by `torchrun --nproc-per-node N -m kibitz train ...`. Every process works on its share of
each batch; gradients are averaged, so all weights stay the same everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from kibitz.dataset.loader import Share, TensorBatch
from kibitz.errors import InputError
from kibitz.network.heads import Outputs
from kibitz.training.config import LossWeights
from kibitz.training.loss import weighted_sum

# What the losses are means over, where it is not the positions with a policy.
COUNTED = {"value": "value_weight", "mcts_value": "search_weight"}


def counted(loss: str, batch: TensorBatch) -> Tensor:
    """Return over how many positions a loss is a mean, a scalar."""
    weight: Tensor = getattr(batch, COUNTED.get(loss, "policy_weight"))
    return weight.sum()


@contextmanager
def processes(device: str) -> Iterator[Share]:
    """Join the other processes, if torchrun has started several."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Share()
        return
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Share(distributed.get_rank(), count)
    finally:
        distributed.destroy_process_group()


def local_device(name: str) -> torch.device:
    """Return the device of this process: `auto` is a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without it says so by assert
        reason = str(error).splitlines()[0]
        fix = f"use --device cpu ({reason})"
        raise InputError("no such device here", value=name, fix=fix) from error
    return device


def shared(network: nn.Module, share: Share, device: torch.device) -> Callable[..., Outputs] | None:
    """Return the network with gradients averaged over all processes; None for a single one."""
    if share.processes == 1:
        return None
    ids = [device] if device.type == "cuda" else None
    return DistributedDataParallel(network, device_ids=ids)


def balanced(
    found: dict[str, Tensor], batch: TensorBatch, weights: LossWeights, share: Share
) -> dict[str, Tensor]:
    """Scale each mean so that the mean over all processes is that over all their positions.

    The processes' batches are equally long, but not all positions have every target.
    """
    names = [name for name in found if name != "total"]
    mine = torch.stack([counted(name, batch) for name in names])
    total = mine.clone()
    distributed.all_reduce(total)
    factors = mine * share.processes / total.clamp(min=1)
    scaled = {name: found[name] * factor for name, factor in zip(names, factors, strict=True)}
    return {**scaled, "total": weighted_sum(scaled, weights)}


def averaged(numbers: dict[str, Tensor], share: Share) -> dict[str, Tensor]:
    """Return the means of numbers over all processes."""
    if share.processes == 1:
        return numbers
    together = torch.stack([number.float() for number in numbers.values()])
    distributed.all_reduce(together)
    return dict(zip(numbers, together / share.processes, strict=True))


def agreed(flag: bool, share: Share) -> bool:
    """Return whether any process says so."""
    if share.processes == 1:
        return flag
    nccl = distributed.get_backend() == "nccl"
    votes = torch.tensor(int(flag), device="cuda" if nccl else "cpu")
    distributed.all_reduce(votes)
    return bool(votes)
