"""Trains a decoder of commentary on a corpus of examples.

The loop is small, but saves and goes on as that of networks does, with the same checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam

from kibitz.comment.decoder.corpus import HUMAN, TABLE, Example, is_held_out
from kibitz.comment.decoder.file import (
    ENCODE,
    LAST,
    NEXT,
    TOKENS,
    WordsCard,
    author_symbol,
    load_tokens,
    padded,
    planes_of,
    save_words,
    train_tokens,
)
from kibitz.comment.decoder.transformer import WordsNetwork, exported, words_loss
from kibitz.core.errors import InputError
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.journal import with_lock
from kibitz.core.log import Metrics, Stop, progress
from kibitz.nets.models.build import count_parameters, load_network
from kibitz.position.board import Board
from kibitz.train import checkpoint as checkpoints
from kibitz.train.checkpoint import Checkpoint
from kibitz.train.config import WordsSettings
from kibitz.train.step import LossError, rate_at, set_rate

KEPT = 2  # checkpoints


class Row(NamedTuple):
    """An example in tokens."""

    example: Example
    claims: list[int]
    text: list[int]  # with the first token and the last


class Trained(NamedTuple):
    """How a training ended."""

    stopped: bool
    step: int
    losses: dict[str, float]  # on held-out games, of all and by author
    file: Path | None


def train_words(
    examples: Sequence[Example],
    card: WordsCard,
    settings: WordsSettings,
    folder: Path,
    stop: Stop,
    tower: Path | None = None,
    export: bool = True,
) -> Trained:
    """Train a decoder in a folder, or go on there; the file is `NAME.words` in it."""
    learnt = [example for example in examples if not is_held_out(example, settings.held_out)]
    held_out = [example for example in examples if is_held_out(example, settings.held_out)]
    if not learnt:
        raise InputError("no examples to train on", value=len(examples), fix="give more games")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(with_lock(folder, "training"))
        torch.set_num_threads(settings.threads)
        tokens = _tokens(folder, learnt, card)
        if tower is not None:
            network, tower_card = load_network(tower)
            card = msgspec.structs.replace(
                card, encoding=tower_card.encoding, tower=tower_card.name
            )
        processor = load_tokens(tokens)
        card = msgspec.structs.replace(card, vocabulary=processor.get_piece_size())
        torch.manual_seed(settings.seed)
        model = WordsNetwork(card, network if tower is not None else None)
        training = _Training(model, card, settings, folder, stop)
        rows, validation = (_rows(part, processor, card) for part in (learnt, held_out))
        training.resume()
        metrics = stack.enter_context(Metrics(folder / "metrics.jsonl"))
        losses = training.run(rows, validation, metrics)
        if stop.requested or not export:
            return Trained(stop.requested, training.step, losses, None)
        card = msgspec.structs.replace(
            card,
            parameters=count_parameters(model),
            steps=training.step,
            loss=losses.get("loss", 0.0),
            data=tuple(sorted({f"{example.source} ({example.licence})" for example in learnt})),
        )
        encode, following = exported(model)
        path = folder / f"{card.name}.words"
        save_words(path, card, {TOKENS: tokens, ENCODE: encode, NEXT: following})
        return Trained(False, training.step, losses, path)


def _tokens(folder: Path, examples: Sequence[Example], card: WordsCard) -> bytes:
    """The vocabulary of a folder, made the first time."""
    path = folder / TOKENS
    if not path.exists():
        texts = [text for example in examples for text in (example.text, example.claims) if text]
        symbols = [author_symbol(author) for author in (HUMAN, TABLE)]
        write_bytes(path, train_tokens(texts, card.vocabulary, symbols))
    return read_bytes(path)


def _rows(examples: Sequence[Example], tokens: Any, card: WordsCard) -> list[Row]:
    """Examples in tokens, without those that are too long."""
    rows = []
    for example in examples:
        first = tokens.piece_to_id(author_symbol(example.author))
        text = [first, *tokens.encode(example.text), LAST]
        if len(text) <= card.longest + 1:
            rows.append(Row(example, tokens.encode(example.claims)[: card.longest_claims], text))
    return rows


@dataclass
class _Training:
    """A network, its optimiser and how far it has come."""

    network: WordsNetwork
    card: WordsCard
    settings: WordsSettings
    folder: Path
    stop: Stop
    step: int = 0

    def __post_init__(self) -> None:
        learned = [part for part in self.network.parameters() if part.requires_grad]
        self.optimiser = Adam(learned, self.settings.rate)

    def resume(self) -> None:
        """Go on from the newest checkpoint, if there is one."""
        newest = checkpoints.newest(self.folder, damaged_allowed=True)
        if newest is None:
            return
        path, checkpoint = newest
        if msgspec.convert(checkpoint.state["card"], WordsCard) != self.card:
            fix = "give another folder"
            raise InputError("a training of another decoder", value=str(path), fix=fix)
        self.network.load_state_dict(checkpoint.part("network"))
        checkpoints.restore_optimiser(self.optimiser, checkpoint)
        checkpoints.restore_random(checkpoint)
        self.step = checkpoint.state["step"]

    def save(self) -> None:
        """Write a checkpoint and remove those that are old."""
        tensors, optimiser = checkpoints.optimiser_parts(self.optimiser)
        weights = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        state = {"step": self.step, "optimiser": optimiser}
        state["card"] = msgspec.to_builtins(self.card)
        whole = Checkpoint({**weights, **tensors, **checkpoints.random_parts()}, state)
        checkpoints.save(checkpoints.path_of(self.folder, self.step), whole)
        checkpoints.prune(self.folder, KEPT)

    def run(
        self, rows: Sequence[Row], validation: Sequence[Row], metrics: Metrics
    ) -> dict[str, float]:
        """Step after step; returns the losses of the last validation."""
        settings, losses = self.settings, {}
        mean = float(np.mean([len(row.text) - 1 for row in rows]))
        with progress("steps", total=settings.steps) as bar:
            bar.advance(self.step)
            for batch in _batches(rows, settings, self.step):
                if self.step >= settings.steps or self.stop.requested:
                    break
                loss = self._update(batch, mean)
                self.step += 1
                bar.advance()
                if self.step % settings.every == 0 or self.step == settings.steps:
                    losses = self.validate(validation, mean)
                    metrics.write(
                        self.step, train=loss, rate=self.optimiser.param_groups[0]["lr"], **losses
                    )
                    self.save()
        if self.stop.requested:
            self.save()
        return losses or self.validate(validation, mean)

    def _update(self, batch: Sequence[Row], mean: float) -> float:
        self.network.train()
        set_rate(self.optimiser, rate_at(self.settings.schedule, self.step))
        loss = self._loss(batch, mean)
        if not torch.isfinite(loss):
            raise LossError("the loss is not a finite number", value=self.step)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        return float(loss.detach())

    def _loss(self, batch: Sequence[Row], mean: float) -> Tensor:
        moves = [(Board(row.example.fen), row.example.move) for row in batch]
        side = torch.tensor([int(board.turn == "white") for board, _ in moves])
        planes = torch.from_numpy(planes_of(self.card.encoding, moves))
        claims = torch.from_numpy(padded([row.claims for row in batch]))
        text = torch.from_numpy(padded([row.text for row in batch]))
        memory, present = self.network.memory(planes, side, claims)
        return words_loss(self.network(memory, present, text[:, :-1]), text[:, 1:], mean)

    def validate(self, rows: Sequence[Row], mean: float) -> dict[str, float]:
        """The loss on held-out games, of all and by author."""
        self.network.eval()
        losses: dict[str, list[tuple[float, int]]] = {}
        with torch.no_grad():
            for author in (HUMAN, TABLE):
                part = [row for row in rows if row.example.author == author]
                for at in range(0, len(part), self.settings.batch):
                    batch = part[at : at + self.settings.batch]
                    loss = float(self._loss(batch, mean))
                    for name in ("loss", f"loss_{author}"):
                        losses.setdefault(name, []).append((loss, len(batch)))
        return {
            name: sum(loss * count for loss, count in parts) / sum(count for _, count in parts)
            for name, parts in losses.items()
        }


def _batches(rows: Sequence[Row], settings: WordsSettings, step: int) -> Iterator[list[Row]]:
    """Batches without end from a step on, every epoch in an order of its own."""
    size = min(settings.batch, len(rows))
    in_epoch = len(rows) // size
    while True:
        epoch, at = divmod(step, in_epoch)
        order = np.random.default_rng((settings.seed, epoch)).permutation(len(rows))
        yield [rows[index] for index in order[at * size : (at + 1) * size].tolist()]
        step += 1
