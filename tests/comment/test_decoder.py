"""The decoder: shapes, masks, the loss, training that goes on, and the file that speaks."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import chess
import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from kibitz.comment.decoder.comments import SUITE, Case, DecodedSpeaker, Tally, several
from kibitz.comment.decoder.corpus import HUMAN, TABLE, Example
from kibitz.comment.decoder.file import (
    PAD,
    PRESETS,
    UNKNOWN,
    Decoder,
    WordsCard,
    load_tokens,
    padded,
    planes_of,
    save_words,
    train_tokens,
)
from kibitz.comment.decoder.transformer import SMOOTHING, WordsNetwork, sinusoids, words_loss
from kibitz.comment.facts import Scene
from kibitz.comment.words.speaker import Speaker
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.log import Stop
from kibitz.nets.models.build import build
from kibitz.nets.models.sizes import new_card
from kibitz.position.board import Board
from kibitz.train import checkpoint as checkpoints
from kibitz.train.config import WordsSettings
from kibitz.train.words import train_words

CARD = WordsCard(
    encoding="onehot15",
    encoder_layers=1,
    layers=1,
    width=32,
    heads=2,
    feed_forward=32,
    dropout=0.0,
    longest=30,
    longest_claims=20,
    vocabulary=140,
)
SETTINGS = WordsSettings(steps=8, batch=4, rate=0.01, period=4, held_out=0.2, every=4)
PIN = "rnbqkbnr/ppp2ppp/4p3/3p4/3PP3/2N5/PPP2PPP/R1BQKBNR b KQkq - 1 3"


def corpus() -> list[Example]:
    """Texts about pins on every square, of a table and of people."""
    return [
        Example(
            f"This pins the knight on {square} to the king.",
            PIN,
            "f8b4",
            f"Black 3...Bb4: Pins.king piece=the knight on {square} to=the king",
            TABLE if number % 3 else HUMAN,
            str(number),
        )
        for number, square in enumerate(chess.SQUARE_NAMES)
    ]


def inputs(card: WordsCard, batch: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    moves = [(Board(PIN), "f8b4"), (Board(), "e2e4")] * batch
    planes = torch.from_numpy(planes_of(card.encoding, moves[:batch]))
    claims = torch.tensor([[5, 6, 7], [8, 9, PAD]] * batch)[:batch]
    return planes, torch.tensor([0, 1] * batch)[:batch], claims


def test_tokens_give_back_every_text() -> None:
    texts = [one.text for one in corpus()] + [one.claims for one in corpus()]
    tokens = load_tokens(train_tokens(texts, 140, ["<human>", "<table>"]))
    for text in [*texts, "14.Nxf7+ pins the knight on h8", "<table>"]:
        if UNKNOWN not in tokens.encode(text):
            assert tokens.decode(tokens.encode(text)) == text
    assert UNKNOWN not in tokens.encode(texts[0])
    squares = [tokens.piece_to_id(square) for square in chess.SQUARE_NAMES]
    assert len({*squares}) == 64
    assert UNKNOWN not in squares
    assert tokens.piece_to_id("<pad>") == PAD


def test_what_it_sees_is_the_boards_before_and_after() -> None:
    planes, side, claims = inputs(CARD)
    assert planes.shape == (2, 2, 15, 8, 8)
    assert not torch.equal(planes[0, 0], planes[0, 1])
    network = WordsNetwork(CARD).eval()
    memory, present = network.memory(planes, side, claims)
    assert memory.shape == (2, 129 + 3, 32)
    assert present[:, 129:].tolist() == [[True, True, True], [True, True, False]]
    logits = network(memory, present, torch.tensor([[4, 10, 11], [4, 12, 13]]))
    assert logits.shape == (2, 3, CARD.vocabulary)


def test_later_tokens_and_padding_change_nothing() -> None:
    network = WordsNetwork(CARD).eval()
    planes, side, claims = inputs(CARD)
    memory, present = network.memory(planes, side, claims)
    tokens = torch.tensor([[4, 10, 11], [4, 12, 13]])
    before = network(memory, present, tokens)[:, :2]
    tokens[:, 2] = 30
    assert torch.allclose(before, network(memory, present, tokens)[:, :2], atol=1e-6)
    wide = torch.cat([claims, torch.zeros(2, 4, dtype=torch.long)], 1)
    more = network.memory(planes, side, wide)
    assert torch.allclose(before, network(*more, tokens)[:, :2], atol=1e-5)


def test_chesscoachs_decoder_has_its_size() -> None:
    card = WordsCard()
    parameters = sum(one.numel() for one in WordsNetwork(card).parameters())
    width, dense = 512, 2048
    attention = 4 * width * (width + 1)
    layer = 2 * attention + (2 * width * dense + width + dense) + 3 * 2 * width
    inputs_of = 109 * width + width + 2 * width  # planes, and the side
    assert parameters == 6 * layer + card.vocabulary * width + inputs_of + 2 * 2 * width
    assert (card.layers, card.heads, card.longest, card.dropout) == (6, 8, 128, 0.2)


def test_a_tower_sees_the_positions_and_stays_as_it_is() -> None:
    tower = build(new_card("plain-1x16", "t"))
    before = {name: one.clone() for name, one in tower.state_dict().items()}
    for one in tower.parameters():
        one.requires_grad_(False)
    card = msgspec.structs.replace(CARD, encoding=new_card("plain-1x16", "t").encoding)
    network = WordsNetwork(card, tower).train()
    planes, side, claims = inputs(network.card)
    memory, _ = network.memory(planes, side, claims)
    assert network.squares.in_features == 16
    memory.sum().backward()  # type: ignore[no-untyped-call]
    assert network.squares.weight.grad is not None
    assert all(torch.equal(one, before[name]) for name, one in tower.state_dict().items())
    assert not network.get_submodule("tower").training


def test_places_are_sinusoids() -> None:
    found = sinusoids(50, 8)
    for row, column in ((0, 0), (7, 2), (49, 3)):
        rate = 10_000.0 ** (-column / 3)
        assert float(found[row, column]) == pytest.approx(math.sin(row * rate), abs=1e-5)
        assert float(found[row, column + 4]) == pytest.approx(math.cos(row * rate), abs=1e-5)


def test_the_loss_is_the_formulas() -> None:
    torch.manual_seed(1)
    logits, targets = torch.randn(3, 4, 9), torch.tensor([[1, 2, 3, 4], [5, 2, PAD, PAD], [8] * 4])
    total, mean = 0.0, 3.0
    for row in range(3):
        losses = []
        for at in range(4):
            if targets[row, at] == PAD:
                continue
            logs = torch.log_softmax(logits[row, at].double(), 0)
            wanted = torch.full((9,), SMOOTHING / 8, dtype=torch.float64)
            wanted[targets[row, at]] = 1 - SMOOTHING
            losses.append(float(-(wanted * logs).sum() + (wanted * wanted.log()).sum()))
        total += len(losses) / mean * sum(losses) / len(losses)
    assert float(words_loss(logits, targets, mean)) == pytest.approx(total / 3, rel=1e-5)
    perfect = torch.full((1, 1, 9), math.log(SMOOTHING / 8))
    perfect[0, 0, 4] = math.log(1 - SMOOTHING)
    assert float(words_loss(perfect, torch.tensor([[4]]), 1.0)) == pytest.approx(0.0, abs=1e-6)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    done = train_words(corpus(), CARD, SETTINGS, folder, Stop())
    assert (done.stopped, done.step) == (False, 8)
    assert {"loss", "loss_table", "loss_human"} == set(done.losses)
    assert done.file is not None
    return done.file


@pytest.mark.slow
def test_the_loss_falls(trained: Path) -> None:
    lines = (trained.parent / "metrics.jsonl").read_text().splitlines()
    losses = [float(line.partition('"loss": ')[2].partition(",")[0]) for line in lines]
    assert len(losses) == 2
    assert losses[1] < losses[0]


@pytest.mark.slow
def test_a_training_that_was_stopped_ends_with_the_same_weights(
    trained: Path, tmp_path: Path
) -> None:
    half = replace(SETTINGS, steps=4)
    train_words(corpus(), CARD, half, tmp_path, Stop(), export=False)
    done = train_words(corpus(), CARD, SETTINGS, tmp_path, Stop(), export=False)
    assert done.step == 8
    name = "step-000000008.safetensors"
    one, other = (checkpoints.load(folder / name) for folder in (tmp_path, trained.parent))
    assert one.state == other.state
    assert all(torch.equal(one.tensors[key], other.tensors[key]) for key in other.tensors)
    wider = msgspec.structs.replace(CARD, layers=2)
    with pytest.raises(InputError, match="another decoder"):
        train_words(corpus(), wider, SETTINGS, tmp_path, Stop())


def test_a_stop_saves_what_there_is(tmp_path: Path) -> None:
    done = train_words(corpus(), CARD, SETTINGS, tmp_path, Stop(requested=True))
    assert (done.stopped, done.step, done.file) == (True, 0, None)
    assert list(tmp_path.glob("step-*.safetensors"))


def test_the_file_computes_what_torch_does(trained: Path) -> None:
    decoder = Decoder(trained)
    assert decoder.card.steps == 8
    assert decoder.card.data == (" ()",)
    network = WordsNetwork(decoder.card)
    found = checkpoints.newest(trained.parent, damaged_allowed=False)
    assert found is not None
    network.load_state_dict(found[1].part("network"))
    network.eval()
    board, tokens = Board(PIN), np.array([[4, 20, 21]])
    claims = decoder.tokens.encode("Black 3...Bb4: Pins.king")
    planes = torch.from_numpy(planes_of("onehot15", [(board, "f8b4")]))
    memory = network.memory(planes, torch.tensor([0]), torch.from_numpy(padded([claims])))
    wanted = network(*memory, torch.from_numpy(tokens))[:, -1].detach().numpy()
    arrays = {
        "planes": planes.numpy(),
        "side": np.array([0]),
        "claims": padded([claims]),
    }
    encoded = decoder._encode.run(None, arrays)
    named = {"memory": encoded[0], "present": encoded[1], "tokens": tokens}
    assert np.allclose(decoder._next.run(None, named)[0], wanted, atol=1e-4)


def test_it_speaks_the_same_by_the_same_seed_and_only_what_holds(trained: Path) -> None:
    decoder, board = Decoder(trained), Board(PIN)
    texts = [
        decoder.texts(
            board, "f8b4", "Black", PRESETS["nucleus"], 3, np.random.default_rng(1), author
        )
        for author in (TABLE, TABLE, HUMAN)
    ]
    assert texts[0] == texts[1]
    assert len(texts[2]) == 3
    scene = Scene(chess.Board(PIN), chess.Move.from_uci("f8b4"), ())
    tally = Tally()
    said = DecodedSpeaker("club", decoder, PRESETS["covet"], tally).comment(scene)
    assert said.text == Speaker().comment(scene).text  # eight steps teach no sentence
    facts = tally.facts()
    assert facts["sampled"] == facts["rejected"] == 8
    assert facts["rejected_share"] == 1.0
    assert facts["in_the_tables_words"] == 1


def test_damaged_files_are_named(trained: Path, tmp_path: Path) -> None:
    content = bytearray(trained.read_bytes())
    wrong = tmp_path / "x.words"
    for damaged in (b"nothing", bytes(content[: len(content) // 2]), _flipped(content)):
        wrong.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match=r"x\.words"):
            Decoder(wrong)
    newer = WordsCard(format_version=99)
    save_words(wrong, newer, dict.fromkeys(("tokens.model", "encode.onnx", "next.onnx"), b""))
    with pytest.raises(DamagedFileError, match="newer"):
        Decoder(wrong)


def _flipped(content: bytearray) -> bytes:
    content[len(content) // 2] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize("case", [one for one in SUITE if one.name in ("pin", "gain", "discovery")])
def test_a_move_of_the_suite_has_five_comments(case: Case) -> None:
    board = chess.Board(case.fen)
    texts = several(Speaker(), Scene(board, board.parse_san(case.move), ()))
    assert len({text for text, _ in texts}) == 5
