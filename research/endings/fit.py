"""A small network of plies to mate, fitted to solved positions: the table that alpha-beta reads."""

from __future__ import annotations

import numpy as np
import torch

from kibitz.core.log import progress
from kibitz.search.alphabeta.endings import OF_A_PLY, ONE, WIDTH
from research.endings.retrograde import UNKNOWN

BATCH = 16_384
RATE = 0.01
CLIP = 127 / ONE  # of weights


def fit(won: np.ndarray, epochs: int, seed: int) -> tuple[np.ndarray, float]:
    """The table that alpha-beta reads, int16 [rows, WIDTH], and the error left, in plies."""
    torch.manual_seed(seed)
    places = np.argwhere(won != UNKNOWN)
    wanted = torch.tensor(won[tuple(places.T)].astype(np.float32))
    rows = torch.tensor(places + 64 * np.arange(4))
    first = torch.nn.EmbeddingBag(4 * 64, WIDTH, mode="sum")
    last = torch.nn.Linear(WIDTH, 1)
    torch.nn.init.normal_(first.weight, 0.0, 0.5)
    torch.nn.init.constant_(last.bias, 4.0)

    def predicted(rows: torch.Tensor) -> torch.Tensor:
        plies: torch.Tensor = 10.0 * last(first(rows).clamp(0.0, 1.0))[:, 0]
        return plies

    optimiser = torch.optim.Adam([*first.parameters(), *last.parameters()], RATE)
    steps = epochs * (len(rows) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    with progress("batches", total=steps) as bar:
        for step in bar.over(range(steps)):
            if step % (len(rows) // BATCH) == 0:
                order = torch.randperm(len(rows))
            batch = order[step % (len(rows) // BATCH) * BATCH :][:BATCH]
            loss = ((predicted(rows[batch]) - wanted[batch]) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            first.weight.data.clamp_(-CLIP, CLIP)
    scale = 10.0 * OF_A_PLY
    outputs = last.weight.detach().numpy() * scale / ONE
    bias = np.zeros((1, WIDTH))
    bias[0, 0] = last.bias.item() * scale
    weights = first.weight.detach().numpy() * ONE
    table = np.rint(np.concatenate([weights, outputs, bias])).astype(np.int16)
    with torch.no_grad():
        errors = torch.cat([predicted(part) for part in torch.split(rows, 1 << 17)]) - wanted
    return table, float((errors**2).mean() ** 0.5)
