"""Comments in a decoder's words: sampled, read back, and shown only if all they say is proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kibitz.comment.annotate import Words
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.lines.outlook import outlooks
from kibitz.comment.decoder.file import Decoder, Sampling
from kibitz.comment.decoder.spelling import spelled
from kibitz.comment.decoder.verify import verified
from kibitz.comment.facts import Scene
from kibitz.comment.select.rank import LEVELS, Level, Memory, worth_saying
from kibitz.comment.words.language import Language
from kibitz.comment.words.speaker import Comment, Speaker
from kibitz.position.board import Board

TRIES = 8  # texts that are sampled for a move
AT_ONCE = 4
FORMS = 6  # of a sentence


@dataclass
class Tally:
    """What became of sampled texts."""

    sampled: int = 0
    shown: int = 0
    refused: Counter[str] = field(default_factory=Counter)  # by the kind of reason
    table: int = 0  # comments in the table's words, as no text held

    def facts(self) -> dict[str, int | float]:
        """The numbers, for a report."""
        rejected = self.refused.total()
        share = round(rejected / self.sampled, 3) if self.sampled else 0.0
        facts: dict[str, int | float] = {"sampled": self.sampled, "rejected": rejected}
        facts |= {"rejected_share": share, "shown": self.shown, "in_the_tables_words": self.table}
        return facts | {f"rejected: {why}": count for why, count in self.refused.most_common()}


class DecodedSpeaker(Speaker):
    """Says what the table would say in a decoder's words, where these are proved."""

    def __init__(
        self, level: Level, decoder: Decoder, sampling: Sampling, tally: Tally, seed: int = 0
    ) -> None:
        super().__init__(level)
        self._decoder, self._sampling, self.tally = decoder, sampling, tally
        self._random = np.random.default_rng(seed)
        self._texts: set[str] = set()

    def comment(self, scene: Scene) -> Comment:
        """The first sampled text that holds and is new in this game, else the table's."""
        comment = super().comment(scene)
        if not comment.text:
            return comment
        for text in self.held(scene, comment):
            if text not in self._texts:
                self._texts.add(text)
                self.tally.shown += 1
                return comment._replace(text=text)
        self.tally.table += 1
        return comment

    def held(self, scene: Scene, comment: Comment) -> Iterator[str]:
        """The sampled texts all of whose statements are proved."""
        board, move = Board.from_chess(scene.before), scene.move.uci()
        claims = spelled(scene, comment)
        for _ in range(TRIES // AT_ONCE):
            for text in self._decoder.texts(
                board, move, claims, self._sampling, AT_ONCE, self._random
            ):
                self.tally.sampled += 1
                verdict = verified(text, scene, comment)
                if verdict.holds:
                    yield text
                else:
                    kind = verdict.refused.partition(":")[0]
                    self.tally.refused["no such piece" if kind[:3] == "no " else kind] += 1


def decoded_words(decoder: Decoder, sampling: Sampling, tally: Tally) -> Words:
    """The words of a decoder, for a `Style`."""

    def speaker(level: Level, _: Language) -> Speaker:
        return DecodedSpeaker(level, decoder, sampling, tally)

    return Words(f"{decoder.card.name} ({sampling.method})", speaker)


# --- the suite ------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A move of the suite."""

    name: str
    fen: str
    move: str  # in SAN


# ChessCoach's suite has 11 positions, of which its documents give no FEN; these are Kibitz's own.
SUITE = (
    Case("fork", "q3k3/p4ppp/8/3N4/8/8/P4PPP/4K3 w - - 0 1", "Nc7+"),
    Case("pin", "rnbqkbnr/ppp2ppp/4p3/3p4/3PP3/2N5/PPP2PPP/R1BQKBNR b KQkq - 1 3", "Bb4"),
    Case("skewer", "8/5ppp/1q6/8/8/1k6/5PPP/R5K1 w - - 0 1", "Rb1+"),
    Case("discovery", "4k3/p4ppp/2q5/4N3/8/8/P4PPP/4R1K1 w - - 0 1", "Nxc6+"),
    Case("gain", "4k3/pp3ppp/8/8/2b5/8/PP3PPP/2R3K1 w - - 0 1", "Rxc4"),
    Case("blunder", "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3", "Nf6"),
    Case("mate", "3r2k1/pp3ppp/8/8/8/8/PP3PPP/3R2K1 w - - 0 1", "Rxd8#"),
    Case("passed pawn", "6k1/pp3ppp/8/3Pp3/8/8/PP3PPP/6K1 w - - 0 1", "d6"),
    Case("outpost", "r4rk1/pp3ppp/3p4/2p1p3/4P3/2N5/PP3PPP/R4RK1 w - - 0 1", "Nd5"),
    Case("castling", "r4rk1/ppp1qppp/2np1n2/4p3/2B1P3/2NP1N2/PPP1QPPP/R3K2R w KQ - 0 8", "O-O-O"),
    Case("seventh rank", "6k1/5ppp/8/8/8/8/5PPP/RR4K1 w - - 0 1", "Ra7"),
)


def several(speaker: Speaker, scene: Scene, most: int = 5) -> list[tuple[str, str]]:
    """Up to so many different comments on a move, and whose words they are.

    First what there is to say of it, then each thing alone, then the same in other words.
    """
    texts: dict[str, str] = {}
    comment = Speaker.comment(speaker, scene)
    if isinstance(speaker, DecodedSpeaker) and comment.text:
        texts = dict.fromkeys(speaker.held(scene, comment), "decoder")
    if comment.text:
        texts.setdefault(comment.text, "table")
    claims = [*each_alone(scene, comment, speaker.level)]
    other = Speaker(speaker.level, speaker.language)
    for _ in range(FORMS):
        for claim in claims:
            if len(texts) < most:
                texts.setdefault(other.sentence_of(scene, claim), "table")
    return list(texts.items())[:most]


def each_alone(scene: Scene, comment: Comment, level: Level) -> Iterator[Claim]:
    """Each thing that can be said of a move, to readers of every level, the most telling first."""
    claims: list[Claim] = [*comment.claims] if len(comment.claims) > 1 else []
    for readers in (level, *LEVELS):
        claims += worth_saying(scene, Memory(), readers, most=FORMS)
    claims += outlooks(scene)
    if len(comment.claims) == 1:  # which has been said
        claims = [*(claim for claim in claims if claim not in comment.claims), *comment.claims]
    yield from dict.fromkeys(claims)
