"""Monte Carlo tree search in plain Python: the oracle for the compiled one.

Written from the formulas of the papers and systems it follows, with python-chess for the rules and
one object per move. Of the compiled package it uses the settings, the order in which moves are
generated (it decides between equals) and position keys (the test evaluator is made from them).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import chess
import numpy as np

from kibitz.nets.evaluators.inline import Material, Uniform
from kibitz.position.fen import parse_fen
from kibitz.position.moves import FLIP_MOVE, MAX_MOVES, generate
from kibitz.position.notation import Move
from kibitz.search.mcts.rules.parameters import (
    FPU_ABSOLUTE,
    FPU_LOSS,
    FPU_REDUCTION,
    FPU_WIN,
    Behaviour,
    Contempt,
    Expectimax,
    Exploration,
    FirstPlay,
    Forced,
    Gumbel,
    Puct,
    Rule,
    Sble,
)

MASK = 2**64 - 1
SHARED_BEFORE = 60  # plies without a capture or pawn move
LOOK_EVERY = 32  # playouts between two looks at the budget
CENTIPAWNS = {chess.PAWN: 100, chess.KNIGHT: 310, chess.BISHOP: 330, chess.ROOK: 500}
CENTIPAWNS |= {chess.QUEEN: 950}
CHESSCOACH_PIECES = {chess.KNIGHT: 781, chess.BISHOP: 825, chess.ROOK: 1276, chess.QUEEN: 2538}


class Proof(NamedTuple):
    """What is certain about a move, for the player who makes it."""

    value: int  # 1, 0, -1
    plies: int  # until mate, counted from before the move; 0 for a draw


@dataclass(eq=False)
class Node:
    """A move and the position it leads to; values are for the player who makes the move."""

    move: chess.Move | None
    prior: float
    visits: int = 0
    value: float = 0.0
    weight: int = 0  # visits whose value was believed
    square: np.float32 = field(default_factory=np.float32)
    raw: float = 0.0  # the evaluator's value, for the player who is to reply
    over: bool = False
    by_path: bool = False  # a draw only because of how it was reached
    replies: list[Node] | None = None
    first_play: float | None = None
    proof: Proof | None = None
    low: int = -1  # the outcome, 1, 0 or -1, is known to be no worse than this,
    high: int = 1  # and no better than this
    frozen: list[int] | None = None


Selected: TypeAlias = tuple[Node, bool]


class Generator:
    """SplitMix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def unit(self) -> float:
        self.state = word = (self.state + 0x9E3779B97F4A7C15) & MASK
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
        word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
        return ((word ^ word >> 31) >> 11) / 2**53


# --- evaluators ---------------------------------------------------------------------------------


def balance(board: chess.Board) -> int:
    """Centipawns of the side to move."""
    return sum(
        value * (len(board.pieces(piece, board.turn)) - len(board.pieces(piece, not board.turn)))
        for piece, value in CENTIPAWNS.items()
    )


def value_of(evaluator: Any, board: chess.Board, key: int) -> float:
    """Value for the side to move."""
    if isinstance(evaluator, Uniform):
        return evaluator.value
    if isinstance(evaluator, Material):
        return math.tanh(balance(board) / evaluator.scale)
    value: float = balance(board) / 2048 + evaluator.noise * ((key >> 20 & 255) - 128) / 256
    return max(-0.875, min(0.875, value))


def shares_of(evaluator: Any, key: int, codes: list[int]) -> list[float]:
    """Prior of every move, before any temperature."""
    if isinstance(evaluator, Uniform | Material):
        return [1 / len(codes)] * len(codes)
    words = [(key ^ (code + 1) * 0x9E3779B97F4A7C15) & MASK for code in codes]
    bytes_ = [((word ^ word >> 32) * 0xBF58476D1CE4E5B9 & MASK) >> 56 for word in words]
    lots = [byte * byte + 16 for byte in bytes_]
    shares = [1 + lot * (65536 - len(lots)) // sum(lots) for lot in lots]
    shares[0] += 65536 - sum(shares)
    return [share / 65536 for share in shares]


def quantised(prior: float) -> float:
    """A prior as 16 bits keep it."""
    return (math.floor(max(1 / 65536, prior) * 65536 + 0.5 - 1) + 1) / 65536


# --- the search ---------------------------------------------------------------------------------


class Oracle:
    """A tree of nodes and the four steps of a playout."""

    def __init__(
        self,
        board: chess.Board,
        rule: Rule,
        behaviour: Behaviour,
        evaluator: Any,
        seed: int = 1,
        entries: int = 1,
    ) -> None:
        self.board, self.rule, self.behaviour, self.evaluator = board, rule, behaviour, evaluator
        self.generator = Generator(seed)
        self.used, self.root_visits_seen = 0.0, 0
        self.gumbel: list[float] = []  # noise of the root's moves, best prior first
        self.plan: list[int] = []
        self.past = identities(board)
        self.known: dict[int, tuple[int, float]] = {}  # shared values by place: check, value
        self.entries = entries
        self.root = Node(None, 1.0)
        value = self.scaled(value_of(evaluator, board, looked_up(board).key), board)
        self.root.raw, self.root.value, self.root.square = value, -value, np.float32(value**2)
        self.root.visits = self.root.weight = 1
        self.expand(self.root, board, behaviour.root_policy_temperature)

    def run(self, playouts: int) -> None:
        """Play out until the root is proved; all of them are the budget of one move."""
        for done in range(playouts):
            if done % LOOK_EVERY == 0:
                if self.root.proof and not self.behaviour.descend_proven:
                    return
                self.used, self.root_visits_seen = done / playouts, self.root.visits
            self.playout()

    def playout(self) -> None:
        """Select, expand, evaluate, back up."""
        board, path, believed = self.board.copy(stack=False), [self.root], [True]
        line, keys = list(self.past), [0]
        while path[-1].visits > 0 and not path[-1].over:
            node, depth = path[-1], len(path) - 1
            if node.replies is None:
                self.expand(node, board, self.behaviour.policy_temperature)
            if node.proof and depth > 0 and not self.behaviour.descend_proven:
                break
            chosen, trust = self.select(self.rule, node, depth)
            assert chosen.move is not None
            board.push(chosen.move)
            line.append(board._transposition_key())
            path.append(chosen)
            clock = board.halfmove_clock
            keys.append(looked_up(board).key if clock < SHARED_BEFORE else 0)
            believed.append(trust)
        if path[-1].visits == 0:
            self.evaluate(path, board, line)
            if self.behaviour.share_values and not path[-1].over:
                self.recall(path[-1], keys[-1])
            if self.behaviour.draw_sibling and path[-1].over and path[-1].raw == 0:
                self.forgive(path)
                believed[-1] = False
        self.back_up(path, believed)
        if self.behaviour.share_values:
            self.remember(path, keys)

    # share values

    def recall(self, leaf: Node, key: int) -> None:
        """Let a leaf begin with what its position is worth elsewhere."""
        check, value = self.known.get(key % self.entries, (0, 0.0))
        if key and check == key >> 32:
            leaf.raw = value

    def remember(self, path: list[Node], keys: list[int]) -> None:
        """Note what the positions of a path are worth, if it does not depend on the path."""
        for node, key in zip(path[1:], keys[1:], strict=True):
            if key and not node.by_path:
                value = math.floor(32767 - node.value * 32767 + 0.5)
                self.known[key % self.entries] = key >> 32, (value - 32767) / 32767

    # expand

    def expand(self, node: Node, board: chess.Board, temperature: float) -> None:
        """Give a node its moves, best prior first; equals stay as they were generated."""
        key, codes, moves = looked_up(board)
        if not moves:
            node.over = True
            return
        shares = shares_of(self.evaluator, key, codes)
        powers = [share ** (1 / temperature) for share in shares]
        priors = [power / sum(powers) for power in powers]
        node.replies = [Node(m, quantised(p)) for m, p in zip(moves, priors, strict=True)]
        node.replies.sort(key=lambda reply: -reply.prior)

    # evaluate

    def evaluate(self, path: list[Node], board: chess.Board, line: list[Hashable]) -> None:
        """First look at the position after the last move of the path."""
        node, depth = path[-1], len(path) - 1
        if board.is_checkmate():
            node.raw, node.over, proof = -1.0, True, Proof(1, 1)
        elif board.is_stalemate() or board.is_insufficient_material():
            node.raw, node.over, proof = 0.0, True, Proof(0, 0)
        elif board.halfmove_clock >= 100 or repeats(line, depth):
            node.raw, node.over, node.by_path = 0.0, True, True
            return
        else:
            node.raw = self.scaled(value_of(self.evaluator, board, looked_up(board).key), board)
            return
        if self.behaviour.prove:
            self.prove(path, proof)

    def scaled(self, value: float, board: chess.Board) -> float:
        """ChessCoach's shrinking towards a draw; the switch may take a part of it."""
        pieces = sum(
            weight * chess.popcount(board.pieces_mask(piece, chess.WHITE))
            + weight * chess.popcount(board.pieces_mask(piece, chess.BLACK))
            for piece, weight in CHESSCOACH_PIECES.items()
        )
        endgame = (15258 - max(3915, min(15258, pieces))) / 11343
        shrunk = value + (0 - value) * endgame * board.halfmove_clock / 151
        return value + self.behaviour.rule50_scaling * (shrunk - value)

    def prove(self, path: list[Node], proof: Proof | None) -> None:
        """Note a proof and what follows from it further up."""
        for depth in range(len(path) - 1, -1, -1):
            node = path[depth]
            low, high = (proof.value, proof.value) if proof else (-1, 1)
            if depth < len(path) - 1:
                replies = node.replies or []
                low, high = -max(r.high for r in replies), -max(r.low for r in replies)
                proof = Proof(0, 0) if low == high == 0 else proof_by_replies(node)
            if (proof, low, high) == (node.proof, node.low, node.high):
                return
            if self.behaviour.clear_losses and proof and proof.value < 0 and node.proof is None:
                node.prior = (math.floor((node.prior * 65536 - 1) / 1000) + 1) / 65536
            node.proof, node.low, node.high = proof, low, high
            node.value = min(max(node.value, low), high)

    def forgive(self, path: list[Node]) -> None:
        """The draw is not believed; untried siblings, elsewhere losses, are worth the root."""
        if len(path) > 2 and path[-2].first_play is None:
            sign = -1 if len(path) % 2 == 0 else 1  # the root's value is for its opponent
            path[-2].first_play = float(np.float32(sign * self.root.value))

    # back up

    def back_up(self, path: list[Node], believed: list[bool]) -> None:
        """Blend the value of the last move into it, and on while the choices are believed."""
        value, counts = -path[-1].raw, True
        for node, trust in zip(reversed(path), reversed(believed), strict=True):
            node.visits += 1
            value = min(max(value, float(node.low)), float(node.high))
            if counts:
                node.weight += 1
                step = min(max(self.behaviour.build * node.weight, 1.0), self.behaviour.cap)
                node.value += (value - node.value) / step
                square = float(node.square)
                node.square = np.float32(square + (value * value - square) / step)
                counts = trust
            value = -value

    # select

    def select(self, rule: Rule, node: Node, depth: int) -> Selected:
        """The reply to follow, and whether its value may be believed further up."""
        if isinstance(rule, Contempt):
            return self.contempt(rule, node, depth)
        if isinstance(rule, Forced):
            due = self.due(rule, node) if depth == 0 else None
            return due or self.puct(rule.inner, node, depth), True
        if isinstance(rule, Expectimax):
            behind = self.farthest_behind(node) if depth % 2 else None
            return behind or self.puct(rule.inner, node, depth), True
        if isinstance(rule, Puct):
            return self.puct(rule, node, depth), True
        if isinstance(rule, Sble):
            return self.sble(rule, node, depth)
        return self.gumbel_choice(rule, node, depth), True

    def due(self, rule: Forced, node: Node) -> Node | None:
        """The first tried reply with fewer visits than are due to it."""
        for reply in node.replies or []:
            known = reply.proof is not None or (reply.low, reply.high) != (-1, 1)
            due = math.sqrt(rule.share * reply.prior * node.visits)
            if 0 < reply.visits < due and not known:
                return reply
        return None

    def farthest_behind(self, node: Node) -> Node:
        """The reply that has the fewest visits beside its share of them."""
        replies = node.replies or []
        total = 1 + sum(reply.visits for reply in replies)
        return max(replies, key=lambda reply: reply.prior * total - reply.visits)

    def puct(self, rule: Puct, node: Node, depth: int) -> Node:
        """Q + c(N) P sqrt(N) / (1 + n)."""
        replies = node.replies or []
        total = node.visits if rule.count_parent else max(sum(r.visits for r in replies), 1)
        formula = rule.root_exploration if depth == 0 else rule.exploration
        c = growth(formula, node.visits) * math.sqrt(total) * extras(rule, node)
        urgency = first_play(rule.root_first_play if depth == 0 else rule.first_play, node)

        def score(reply: Node) -> float:
            value = reply.value if reply.visits else urgency
            bonus = rule.faster_mate * mate_bonus(reply)
            return value + c * reply.prior / (1 + reply.visits) + c * bonus / (1 + reply.visits)

        if rule.widening > 0:
            replies = replies[: max(1, int(rule.widening * math.sqrt(1 + node.visits)))]
        return max(replies, key=score)

    def sble(self, rule: Sble, node: Node, depth: int) -> Selected:
        """AlphaZero's score, and a linear term for the K best; scores in [0, 1]."""
        replies, n = node.replies or [], node.visits
        c = growth(rule.exploration if depth else rule.root_exploration, n) * math.sqrt(n)
        default = 1.0 if depth == 0 else 0.0
        if node.first_play is not None:
            default = (node.first_play + 1) / 2
        azero = [
            ((reply.value + 1) / 2 if reply.visits else default)
            + c / (1 + reply.visits) * (reply.prior + rule.faster_mate * mate_bonus(reply))
            for reply in replies
        ]
        best_first = sorted(range(len(replies)), key=lambda place: -azero[place])
        scores = list(azero)
        for place in best_first[: self.survivors(rule, n, len(replies))]:
            tries = replies[place].visits
            scores[place] += n / (rule.linear_rate * tries + rule.linear_delay)
        chosen = max(range(len(replies)), key=lambda place: scores[place])
        return replies[chosen], max(azero) - azero[chosen] <= rule.backup_threshold

    def survivors(self, rule: Sble, visits: int, count: int) -> int:
        """K falls from 1024 to 2 as the budget is used up."""
        exponent = max(1, 10 - math.floor(rule.elimination_exponent * self.used))
        root = max(visits, self.root_visits_seen)
        return min(count, 2**10, math.floor(2.0**exponent * root / visits))

    def contempt(self, rule: Contempt, node: Node, depth: int) -> Selected:
        """Equations 4 to 6 of the paper."""
        replies = node.replies or []
        tried = sum(reply.visits for reply in replies)
        if depth == 0 or depth % 2 != rule.parity or (node.frozen is None and tried < rule.limit):
            return self.select(rule.inner, node, depth)
        if node.frozen is None:
            node.frozen = [reply.visits for reply in replies]
            return self.select(rule.inner, node, depth)
        values = [reply.proof.value if reply.proof else 0 for reply in replies]
        if rule.prefer_proven and 1 in values:
            return replies[values.index(1)], True
        weights = [
            count ** (1 / rule.temperature) if count else reply.prior * rule.admit
            for count, reply in zip(node.frozen, replies, strict=True)
        ]
        lasting = [w if v >= 0 else 0.0 for w, v in zip(weights, values, strict=True)]
        if rule.prefer_proven and any(lasting):
            weights = lasting
        return replies[draw(weights, self.generator.unit())], True

    def gumbel_choice(self, rule: Gumbel, node: Node, depth: int) -> Node:
        """Sequential halving at the root; elsewhere the move furthest behind its share."""
        replies = node.replies or []
        total = sum(reply.visits for reply in replies)
        logits = improved_logits(rule, node)
        if depth == 0 and total < len(self.plan):
            planned = [i for i, r in enumerate(replies) if r.visits == self.plan[total]]
            return replies[max(planned, key=lambda place: self.gumbel[place] + logits[place])]
        powers = [math.exp(logit - max(logits)) for logit in logits]
        behind = [
            p / sum(powers) - r.visits / (1 + total) for p, r in zip(powers, replies, strict=True)
        ]
        if depth == 0 and self.plan:
            behind = [
                b if math.isfinite(g) else -9.0 for b, g in zip(behind, self.gumbel, strict=True)
            ]
        return replies[behind.index(max(behind))]


def halving(considered: int, playouts: int) -> list[int]:
    """Sequential halving: how many visits a root move must have to get the p-th playout."""
    rounds = max(1, math.ceil(math.log2(considered)))
    plan: list[int] = []
    visits = 0
    while len(plan) < playouts:
        for _ in range(max(1, playouts // (rounds * considered))):
            plan += [visits] * considered
            visits += 1
        considered = max(min(2, considered), considered // 2)
    return plan[:playouts]


# --- formulas -----------------------------------------------------------------------------------


def growth(formula: Exploration, visits: int) -> float:
    """c(N)."""
    base = formula.base_visits
    return formula.init + formula.factor * math.log((visits + base + formula.offset) / base)


def extras(rule: Puct, node: Node) -> float:
    """What may multiply c: growth with visits, spread of values, spread of priors."""
    scale = 1 + rule.log_visits * math.log(1 + node.visits / rule.log_base)
    if node.weight > 1:
        deviation = math.sqrt(max(0.0, float(node.square) - node.value**2))
        scale *= 1 - rule.variance + rule.variance * min(2.0, deviation / 0.4)
    gini = sum(reply.prior**2 for reply in node.replies or [])
    return scale * (1 - rule.gini * gini)


def first_play(kind: FirstPlay, node: Node) -> float:
    """Value of a move never tried."""
    if node.first_play is not None:
        return node.first_play
    tried = sum(reply.prior for reply in node.replies or [] if reply.visits)
    values: dict[int, Callable[[], float]] = {
        FPU_LOSS: lambda: -1.0,
        FPU_WIN: lambda: 1.0,
        FPU_ABSOLUTE: lambda: kind.value,
        FPU_REDUCTION: lambda: -node.value - kind.value * math.sqrt(tried),
    }
    return values[kind.kind]()


def mate_bonus(reply: Node) -> float:
    """1 for mate in one move, a quarter for two, an eighth for three ..."""
    if reply.proof is None or reply.proof.value <= 0:
        return 0.0
    moves = math.ceil(reply.proof.plies / 2)
    return 1.0 if moves == 1 else 2.0**-moves


def proof_by_replies(node: Node) -> Proof | None:
    """Lost if a reply wins (soonest counts); else known once every reply is."""
    proofs = [reply.proof for reply in node.replies or []]
    known = [proof for proof in proofs if proof]
    if wins := [proof.plies for proof in known if proof.value > 0]:
        return Proof(-1, 1 + min(wins))
    if len(known) < len(proofs) or not known:
        return None
    if any(proof.value == 0 for proof in known):
        return Proof(0, 0)
    return Proof(1, 1 + max(proof.plies for proof in known))


def improved_logits(rule: Gumbel, node: Node) -> list[float]:
    """Logit + (c_visit + max n) c_scale q, untried moves worth the mixed value; q in [0, 1]."""
    replies = node.replies or []
    tried = [reply for reply in replies if reply.visits]
    mixed = node.raw
    if tried:
        total = sum(reply.visits for reply in tried)
        mean = sum(r.prior * r.value for r in tried) / sum(r.prior for r in tried)
        mixed = (node.raw + total * mean) / (1 + total)
    scale = rule.value_scale * (rule.visit_offset + max(reply.visits for reply in replies))
    values = [reply.value if reply.visits else mixed for reply in replies]
    return [math.log(r.prior) + scale * (v + 1) / 2 for r, v in zip(replies, values, strict=True)]


def draw(weights: list[float], unit: float) -> int:
    """Place whose share of the weights a number in [0, 1) falls into."""
    left = unit * sum(weights)
    for place, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return place
    return max(place for place, weight in enumerate(weights) if weight)


# --- chess --------------------------------------------------------------------------------------


class Compiled(NamedTuple):
    """What the compiled package knows of a position: its key, its moves in order."""

    key: int
    codes: list[int]
    moves: list[chess.Move]


_known: dict[Hashable, Compiled] = {}


def looked_up(board: chess.Board) -> Compiled:
    """Ask the compiled package about a position, once."""
    identity = board._transposition_key()
    if identity not in _known:
        position, codes = parse_fen(board.shredder_fen()), np.zeros(MAX_MOVES, np.uint16)
        found = [int(code) for code in codes[: generate(position, codes)]]
        moves = [move_of(code, board) for code in found]
        assert set(moves) == set(board.legal_moves)
        _known[identity] = Compiled(int(position.key), found, moves)
    return _known[identity]


def move_of(code: int, board: chess.Board) -> chess.Move:
    """A move of the compiled generator, which sees the board from the side to move."""
    flip = 0 if board.turn else FLIP_MOVE
    return chess.Move.from_uci(Move(code ^ flip).uci(board.chess960))


def identities(board: chess.Board) -> list[Hashable]:
    """What makes positions repeat, from the start of the game to now."""
    replay, line = board.root(), []
    for move in board.move_stack:
        line.append(replay._transposition_key())
        replay.push(move)
    return [*line, replay._transposition_key()]


def repeats(line: list[Hashable], depth: int) -> bool:
    """Seen once before below the root, or twice anywhere."""
    earlier = [back for back in range(4, len(line)) if line[-1 - back] == line[-1]]
    return any(back < depth for back in earlier) or len(earlier) >= 2


def walk(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """Every visited node with the moves that lead to it."""
    yield path, node
    for reply in node.replies or []:
        if reply.visits:
            yield from walk(reply, f"{path} {reply.move}".strip())
