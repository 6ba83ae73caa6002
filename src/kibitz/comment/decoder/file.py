"""The decoder's file, and texts drawn from it."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from kibitz.core.errors import DamagedFileError, InputError, MissingExtraError, missing_extra
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
            rows = {name: np.repeat(array, len(tokens), 0) for name, array in named.items()}
            result: np.ndarray = self._next.run(None, {**rows, "tokens": tokens})[0]
            return result

        ends = (self.tokens.piece_to_id(author_symbol(author)), LAST)
        samples = sample(next_logits, sampling, count, random, ends, self.card.longest)
        return [str(self.tokens.decode(tokens)) for tokens in samples]


# --- sampling -------------------------------------------------------------------------------------
#
# How the decoder's next word is chosen: COVET, nucleus, top-k, greedy; and beam search.
#
# COVET is nucleus sampling with a low p and a high temperature: little may be said at each place,
# and what may be said is said in turns. As described, p cuts first and the temperature evens out
# what is left; the code that ChessCoach called divides by the temperature first. Both orders are
# here.


Method: TypeAlias = Literal["covet", "nucleus", "top-k", "greedy", "beam"]
Order: TypeAlias = Literal["cut", "temperature"]  # what comes first
# Token ids so far, [B, L], and for each the row of the start it goes on from -> logits [B, V].
NextLogits: TypeAlias = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Sampling:
    """A method with its numbers."""

    method: Method = "covet"
    p: float = 0.1  # of covet and nucleus
    temperature: float = 1.5  # of all but greedy and beam
    order: Order = "cut"
    k: int = 10  # of top-k
    beams: int = 4
    alpha: float = 0.6  # how much beam search favours longer texts

    def __post_init__(self) -> None:
        if not 0.0 < self.p <= 1.0:
            raise InputError("p of sampling", value=self.p, fix="give a number in (0, 1]")
        if not 0.0 < self.temperature < np.inf:
            raise InputError("temperature", value=self.temperature, fix="give a number above 0")
        if min(self.k, self.beams) < 1:
            raise InputError("k and beams", value=(self.k, self.beams), fix="give 1 or more")


PRESETS = {
    "covet": Sampling(),
    "nucleus": Sampling("nucleus", p=0.9, temperature=1.0),
    "top-k": Sampling("top-k", temperature=1.0),
    "greedy": Sampling("greedy"),
    "beam": Sampling("beam"),
}


def distribution(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """The probabilities [V] that the next token is drawn from; 0 for what may not be said."""
    match sampling.method:
        case "greedy" | "beam":
            return _softmax(_kept(logits, np.argsort(-logits, kind="stable")[:1]))
        case "top-k":
            best = np.argsort(-logits, kind="stable")[: sampling.k]
            return _softmax(_kept(logits, best) / sampling.temperature)
        case "covet" | "nucleus":
            if sampling.order == "temperature":
                logits = logits / sampling.temperature
                return _softmax(_kept(logits, nucleus(_softmax(logits), sampling.p)))
            likely = _kept(logits, nucleus(_softmax(logits), sampling.p))
            return _softmax(likely / sampling.temperature)


def nucleus(probabilities: np.ndarray, p: float) -> np.ndarray:
    """The likeliest tokens up to the first with which their mass exceeds p; at least one."""
    order = np.argsort(-probabilities, kind="stable")
    before = np.cumsum(probabilities[order]) - probabilities[order]
    tokens: np.ndarray = order[
        (before <= p) & (np.arange(len(order)) < max(1, (before <= p).sum()))
    ]
    return tokens


def _kept(logits: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    out = np.full_like(logits, -np.inf)
    out[tokens] = logits[tokens]
    return out


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    result: np.ndarray = weights / weights.sum()
    return result


def sample(
    next_logits: NextLogits,
    sampling: Sampling,
    count: int,
    random: np.random.Generator,
    ends: tuple[int, int],
    longest: int,
) -> list[list[int]]:
    """So many texts as token ids, without the first and the last token, which `ends` are.

    Beam search has one answer, which is repeated.
    """
    if sampling.method == "beam":
        return [beam(next_logits, sampling, ends, longest)] * count
    first, last = ends
    tokens = np.full((count, 1), first, np.int64)
    ended = np.zeros(count, np.bool_)
    while tokens.shape[1] <= longest and not ended.all():
        rows = [distribution(row, sampling) for row in next_logits(tokens)]
        drawn = np.array([random.choice(len(row), p=row) for row in rows], np.int64)
        drawn[ended] = last
        tokens = np.column_stack([tokens, drawn])
        ended |= drawn == last
    return [_until(row, last) for row in tokens[:, 1:].tolist()]


def _until(tokens: Sequence[int], last: int) -> list[int]:
    return list(tokens[: tokens.index(last)] if last in tokens else tokens)


def beam(
    next_logits: NextLogits, sampling: Sampling, ends: tuple[int, int], longest: int
) -> list[int]:
    """The likeliest text found by beam search, its logarithm divided by ((5 + n) / 6) ** alpha."""
    first, last = ends
    alive: list[tuple[float, list[int]]] = [(0.0, [first])]
    done: list[tuple[float, list[int]]] = []
    for length in range(1, longest + 1):
        logits = next_logits(np.array([tokens for _, tokens in alive], np.int64))
        beams: list[tuple[float, list[int]]] = []
        for (score, tokens), row in zip(alive, logits, strict=True):
            logs = np.log(_softmax(row) + 1e-30)
            best = np.argsort(-logs, kind="stable")[: 2 * sampling.beams].tolist()
            beams += [(score + float(logs[token]), [*tokens, token]) for token in best]
        beams.sort(key=lambda beam: -beam[0])
        penalty = ((5.0 + length) / 6.0) ** sampling.alpha
        done += [(score / penalty, tokens) for score, tokens in beams if tokens[-1] == last]
        alive = [beam for beam in beams if beam[1][-1] != last][: sampling.beams]
        most = ((5.0 + longest) / 6.0) ** sampling.alpha
        if not alive or (done and max(done)[0] >= alive[0][0] / most):
            break  # scores are below 0, so no text that is not done can become better
    best = max(done or alive)[1]
    return _until(best[1:], last)
