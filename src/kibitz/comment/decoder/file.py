"""A decoder's file, and how texts are sampled from it through ONNX Runtime.

The file is a zip with `card.json`, `tokens.model` (SentencePiece) and two networks: `encode.onnx`
makes the memory of a move, `next.onnx` the logits of the next token. docs/decoder.md describes it.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from kibitz.comment.decoder.sampling import Sampling, sample
from kibitz.core.errors import DamagedFileError, MissingExtraError, missing_extra
from kibitz.core.files import Location, read_bytes, write_bytes
from kibitz.core.unpacking import parts_of
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.encodings.planes import encode, layout_of
from kibitz.position.board import Board

FORMAT_VERSION = 1
PAD, FIRST, LAST, UNKNOWN = range(4)  # tokens of every vocabulary
CARD, TOKENS, ENCODE, NEXT = "card.json", "tokens.model", "encode.onnx", "next.onnx"
DATE = (1980, 1, 1, 0, 0, 0)  # of every entry, so that the same content is the same file


class WordsCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a decoder is and where it comes from; the defaults are ChessCoach's."""

    name: str = "words"
    format_version: int = FORMAT_VERSION
    encoding: str = "history109"  # planes of the positions before and after the move
    tower: str = ""  # the network whose frozen tower sees them; none: a layer learned with the rest
    encoder_layers: int = 0  # of self-attention over the claims
    layers: int = 6
    width: int = 512
    heads: int = 8
    feed_forward: int = 2048
    dropout: float = 0.2
    longest: int = 128  # tokens of a text
    longest_claims: int = 128  # tokens of what is proved; 0: the decoder is not told
    vocabulary: int = 8000
    parameters: int = 0
    steps: int = 0
    loss: float = 0.0  # on held-out games
    data: tuple[str, ...] = ()  # sources and licences
    licence: str = ""


def train_tokens(texts: Sequence[str], vocabulary: int, symbols: Sequence[str]) -> bytes:
    """A SentencePiece model of some texts; squares and other symbols are tokens of their own."""
    pieces, out = _sentencepiece(), io.BytesIO()
    squares = [f"{file}{rank}" for file in "abcdefgh" for rank in range(1, 9)]
    pieces.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=out,
        vocab_size=vocabulary,
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name="identity",
        pad_id=PAD,
        bos_id=FIRST,
        eos_id=LAST,
        unk_id=UNKNOWN,
        user_defined_symbols=[*symbols, *squares],
        minloglevel=2,
    )
    return out.getvalue()


def load_tokens(model: bytes) -> Any:
    """SentencePiece's processor of a model."""
    return _sentencepiece().SentencePieceProcessor(model_proto=model)


def _sentencepiece() -> Any:
    try:
        import sentencepiece
    except ImportError as error:
        raise missing_extra("the decoder", "sentencepiece", "words") from error
    return sentencepiece


def author_symbol(author: str) -> str:
    """The first token of a text, which says whose style it has."""
    return f"<{author}>"


def planes_of(encoding: str, moves: Sequence[tuple[Board, str]]) -> np.ndarray:
    """Planes of the positions before and after moves, float32 [B, 2, planes, 8, 8]."""
    layout, games = layout_of(encoding), []
    for board, move in moves:
        after = board.copy()
        after.push(move)
        games += [after.positions()[:-1], after.positions()]
    out = np.zeros((len(games), layout.planes, 8, 8), np.float32)
    encode(encoding, leaves_of(games, layout.history), out)
    return out.reshape(len(moves), 2, layout.planes, 8, 8)


def padded(rows: Sequence[Sequence[int]], least: int = 1) -> np.ndarray:
    """Rows of tokens side by side, int64 [B, longest]."""
    out = np.full((len(rows), max([least, *map(len, rows)])), PAD, np.int64)
    for row, tokens in enumerate(rows):
        out[row, : len(tokens)] = tokens
    return out


def save_words(location: Location, card: WordsCard, parts: dict[str, bytes]) -> None:
    """Write a decoder's file, atomically."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in {CARD: msgspec.json.encode(card), **parts}.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, content)
    write_bytes(location, out.getvalue())


class Decoder:
    """A decoder that speaks of moves."""

    def __init__(self, location: Location) -> None:
        """Open a file; every byte is checked by the checksums of its parts."""
        import onnxruntime  # type: ignore[import-untyped]

        name, content = os.fspath(location), read_bytes(location)
        parts = parts_of(content, location, "decoder's file")
        try:
            self.card = msgspec.json.decode(parts[CARD], type=WordsCard)
            tokens, models = parts[TOKENS], [parts[ENCODE], parts[NEXT]]
        except (KeyError, msgspec.DecodeError, RecursionError) as error:
            raise DamagedFileError(f"no decoder's file ({error})", value=name) from error
        if self.card.format_version > FORMAT_VERSION:
            raise DamagedFileError("made by a newer Kibitz", value=name, fix="update Kibitz")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        try:
            self.tokens = load_tokens(tokens)
            self._encode, self._next = (
                onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
                for model in models
            )
        except MissingExtraError:
            raise
        except Exception as error:  # of two libraries, whose errors have no common class
            raise DamagedFileError(f"no decoder's file ({error})", value=name) from error

    def texts(
        self,
        board: Board,
        move: str,
        claims: str,
        sampling: Sampling,
        count: int,
        random: np.random.Generator,
        author: str = "table",
    ) -> list[str]:
        """So many texts about a move."""
        spoken = self.tokens.encode(claims)[: self.card.longest_claims]
        white = np.array([board.turn == "white"], np.int64)
        memory = self._encode.run(
            None,
            {
                "planes": planes_of(self.card.encoding, [(board, move)]),
                "side": white,
                "claims": padded([spoken]),
            },
        )
        named = dict(zip(("memory", "present"), memory, strict=True))

        def next_logits(tokens: np.ndarray) -> np.ndarray:
            rows = {name: np.repeat(one, len(tokens), 0) for name, one in named.items()}
            result: np.ndarray = self._next.run(None, {**rows, "tokens": tokens})[0]
            return result

        ends = (self.tokens.piece_to_id(author_symbol(author)), LAST)
        found = sample(next_logits, sampling, count, random, ends, self.card.longest)
        return [str(self.tokens.decode(one)) for one in found]
