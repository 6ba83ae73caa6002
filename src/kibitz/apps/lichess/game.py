"""One game: follows its stream, thinks in both players' time, moves, offers, answers.

Threads meet in one inbox: one reads the stream, one searches, and `play` takes what they bring, a
message at a time, so that nothing here needs a lock. One more writes into the chat.
"""

from __future__ import annotations

import math
import queue
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kibitz.apps.lichess.archive import Archive, result_of
from kibitz.apps.lichess.chat import Chat, View, answer_to, last_move_in_words, lines_of
from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.decisions import (
    centipawns_of,
    gives_up,
    limits_of,
    offers_draw,
    takes_draw,
)
from kibitz.apps.lichess.delivery import Delivery, GameActions, Moves, Reply
from kibitz.apps.lichess.lookups import KnownMove, Lookups
from kibitz.apps.lichess.messages import (
    ChatLine,
    Full,
    Message,
    OpponentGone,
    Player,
    State,
)
from kibitz.apps.lichess.server import Server
from kibitz.data.openings import odds_in
from kibitz.engine import Engine
from kibitz.engine.levels import against_people
from kibitz.engine.running import Search
from kibitz.position.board import Board, Side
from kibitz.position.fen import START
from kibitz.position.notation import Move
from kibitz.search.report import Report, Result, Score

OFFERS = "draw/yes", "draw/no", "takeback/yes", "takeback/no"


class FinishedSearch(NamedTuple):
    """What a search has come to."""

    search: Search
    result: Result | KnownMove | BaseException


@dataclass
class RunningSearch:
    """The search under way."""

    search: Search
    moves: Moves  # after which it began
    ponder_until: float | None  # on the opponent's time, until the expected move is played

    def ponders_after(self, moves: Moves) -> bool:
        """Whether it ponders on an answer to these moves."""
        return self.ponder_until is not None and self.moves[: len(moves)] == moves


@dataclass
class Scores:
    """What the searches for the bot's own moves have said."""

    report: Report | None = None  # of the last one, and
    board: Board | None = None  # where it began
    own: list[int] = field(default_factory=list)  # centipawns of its moves
    white: dict[int, Score] = field(default_factory=dict)  # White's, by ply

    def add(self, report: Report, board: Board, ply: int) -> None:
        """Keep the report of a search at a ply."""
        score = report.best.score
        self.report, self.board = report, board.copy()
        self.own.append(centipawns_of(score))
        self.white[ply] = score if board.turn == "white" else Score(score.kind, -score.amount)


class Game:
    """A game of the bot's, from the first message to the last."""

    def __init__(
        self,
        name: str,
        me: str,
        server: Server,
        engine: Engine,
        settings: Lichess,
        archive: Archive,
        lookups: Lookups,
        leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        self.id, self._me, self._lookups = name, me.casefold(), lookups
        self._server, self._engine = server, engine
        self._settings, self._archive = settings, archive
        self._inbox: queue.Queue[Message | FinishedSearch | BaseException] = queue.Queue()
        self._chat = Chat(name, server, archive, me)
        self._delivery = Delivery(name, server, archive)
        self._acts = GameActions(name, server, archive)
        self._leaving = leaving  # whether the bot is to end
        self.over = False
        self.rests = False  # it waits for a reply that may take days
        self._full: Full | None = None
        self._state, self._heard = State("", 0, 0, "started"), time.monotonic()
        self._side: Side = "white"
        self._board, self._moves = Board(), Moves()
        self._at_odds = False
        # what it thinks and has done
        self._running: RunningSearch | None = None
        self._expected: tuple[Moves, str] | None = None  # the reply that a search expects
        self._scores = Scores()
        self._clocks: dict[int, int] = {}  # ms left after a ply
        self._takebacks = settings.takebacks
        self._began = self._commented = time.monotonic()

    @property
    def _left(self) -> int:
        """Milliseconds on the bot's clock when it was last told."""
        return self._state.wtime if self._side == "white" else self._state.btime

    @property
    def _timed(self) -> bool:
        """Whether clocks run."""
        return self._full is not None and self._full.clock is not None

    @property
    def opponent(self) -> Player:
        """Who plays against the bot."""
        if self._full is None:
            return Player()
        return self._full.black if self._side == "white" else self._full.white

    def play(self) -> None:
        """Play the game to its end."""
        threading.Thread(target=self._read, name=f"stream {self.id}", daemon=True).start()
        try:
            while not (self.over or self.rests):
                try:
                    item = self._inbox.get(timeout=self._server.pauses.tick)
                except queue.Empty:
                    self._look_at_the_time()
                    continue
                if isinstance(item, BaseException):
                    raise item
                self._handle(item)
                self._look_at_the_time()
        finally:
            self.over = True
            self._drop_search()
            self._chat.close()

    def _read(self) -> None:
        """Put what the stream brings into the inbox."""
        try:
            for message in self._server.game(self.id, lambda: not self.over):
                self._inbox.put(message)
                if isinstance(message, State) and not message.going_on:
                    return
        except BaseException as error:  # noqa: BLE001 - play raises it
            self._inbox.put(error)

    def _handle(self, item: Message | FinishedSearch) -> None:
        if isinstance(item, FinishedSearch):
            self._take(item)
        elif isinstance(item, Full):
            self._begin(item)
        elif isinstance(item, State):
            self._follow(item)
        elif isinstance(item, ChatLine):
            self._hear(item)
        elif isinstance(item, OpponentGone):
            wait = item.claim_win_in_seconds
            if item.gone and wait is not None:
                self._acts.ask("claim-victory", time.monotonic() + wait)
            else:
                self._acts.drop("claim-victory")

    # --- how the game stands --------------------------------------------------------------------

    def _begin(self, full: Full) -> None:
        """Take the message that every stream begins with: of a new game, or after a break."""
        first, self._full = self._full is None, full
        if first:
            self._side = "white" if full.white.id.casefold() == self._me else "black"
            self._set_up(full)
            self._began = time.monotonic()  # what was loaded does not count
            how = f"{full.speed}, {'rated' if full.rated else 'casual'}, {full.variant.key}"
            self._archive.say(f"game {self.id}: {self._side} against {self.opponent} ({how})")
            if not full.state.moves and full.state.going_on:
                self._greet(self._settings.greeting)
        self._follow(full.state)

    def _set_up(self, full: Full) -> None:
        fen = START if full.initial_fen == "startpos" else full.initial_fen
        self._board = Board(fen, chess960=full.variant.key == "chess960")
        missing = odds_in(fen, self._side) if full.variant.key == "fromPosition" else ""
        self._at_odds = missing not in ("", "none")
        elo = self._settings.elo_against(self.opponent.rating)
        if self._settings.mistakes == "always" or (
            self._at_odds and self._settings.mistakes == "odds"
        ):
            rating = self.opponent.rating or self._settings.strength_elo
            self._engine.configure(**against_people(self._engine.options.weights, rating))
        elif self._at_odds:
            self._engine.configure(**self._settings.odds_settings())
        elif elo is not None:
            seed = zlib.crc32(full.id.encode()) >> 1  # or every game of a level would begin alike
            self._engine.configure(limit_strength=True, elo=elo, seed=seed)
        self._engine.ready()

    def _follow(self, state: State) -> None:
        """Go on from a state: the board, offers, whose turn it is, the end."""
        before, self._state, self._heard = self._state, state, time.monotonic()
        moves = tuple(state.moves.split())
        if moves != self._moves:
            self._replay(moves)
        if not state.going_on:
            self._end(state)
            return
        self._answer_offers(before, state)
        if self._board.turn == self._side:
            self._think()
        else:
            self._ponder()

    def _replay(self, moves: Moves) -> None:
        """Bring the board to the moves that the server has: more of them, or a takeback."""
        common = 0
        while self._moves[common : common + 1] == moves[common : common + 1] != ():
            common += 1
        for _ in self._moves[common:]:
            self._board.pop()
        for move in moves[common:]:
            self._board.push(move)
        self._moves = moves
        self._acts.drop(*OFFERS)  # a move ends them
        increment = self._state.winc if self._side == "white" else self._state.binc
        self._delivery.confirmed(moves, self._left, increment)
        if moves:
            black_moved = self._board.turn == "white"
            self._clocks[len(moves) - 1] = self._state.btime if black_moved else self._state.wtime

    def _answer_offers(self, before: State, state: State) -> None:
        """Answer an offer of the opponent's, once."""
        letter = "b" if self._side == "white" else "w"
        if getattr(state, f"{letter}draw") and not getattr(before, f"{letter}draw"):
            accepts = takes_draw(self._scores.own, self._board, self._settings)
            self._acts.ask("draw/yes" if accepts else "draw/no")
        if getattr(state, f"{letter}takeback") and not getattr(before, f"{letter}takeback"):
            full = self._full
            casual = full is not None and not full.rated and not full.tournament_id
            accepts = casual and self._takebacks > 0
            self._takebacks -= accepts
            if accepts:
                self._delivery.hold()
            self._acts.ask("takeback/yes" if accepts else "takeback/no")
        self._acts.look()  # at once: a move of the bot's would end the offer

    def _end(self, state: State) -> None:
        self.over = True
        self._drop_search()
        result = result_of(state)
        self._archive.say(f"game {self.id}: {result} ({state.status})")
        assert self._full is not None
        self._archive.keep(self._full, state, self._board, self._scores.white, self._clocks)
        if result != "*":
            self._greet(self._settings.farewell)

    # --- thinking -------------------------------------------------------------------------------

    def _think(self) -> None:
        """See to it that a search for the bot's move is under way, or that the move is sent."""
        if self._delivery.has_move_for(self._moves):
            self._delivery.doubt()
            self._send()
        elif self._running is None or self._running.moves != self._moves:
            self._delivery.lag.begin(self._left)
            self._begin_search(self._board, self._moves)
        elif self._running.ponder_until is not None:
            self._delivery.lag.begin(self._left)
            self._running.ponder_until = None
            self._running.search.ponderhit()

    def _ponder(self) -> None:
        """Think about the answer to the move that is expected."""
        if self._running is not None and self._running.ponders_after(self._moves):
            return
        self._drop_search()
        expected, self._expected = self._expected, None
        if not self._settings.ponder or expected is None or expected[0] != self._moves:
            return
        if not self._timed:
            return
        board = self._board.copy()
        board.push(expected[1])
        if board.outcome(claim=True) is None:
            until = time.monotonic() + self._settings.ponder_seconds
            self._begin_search(board, (*self._moves, expected[1]), until)

    def _begin_search(self, board: Board, moves: Moves, ponder_until: float | None = None) -> None:
        self._drop_search()
        assert self._full is not None
        ponder = ponder_until is not None
        spent = 0.0 if ponder else 1000 * (time.monotonic() - self._heard)
        may_look_up = not ponder and self._full.variant.key == "standard"
        if may_look_up and self._lookups.asks_online(board, self._left - spent):
            spent += 1000 * self._settings.online_seconds
        limits = limits_of(
            self._state,
            len(moves),
            self._side,
            self._settings,
            spent=spent,
            lag=self._delivery.lag.average,
            timed=self._timed,
        )
        search = self._engine.begin(board, replace(limits, ponder=ponder))
        self._running = RunningSearch(search, moves, ponder_until)
        name = f"search {self.id}"
        arguments = (search, board.copy() if may_look_up else None, self._left)
        threading.Thread(target=self._run, args=arguments, name=name, daemon=True).start()

    def _run(self, search: Search, board: Board | None, left: float) -> None:
        """What the thread of a search does: on a board that may be known, that is asked first."""
        try:
            known_move = None if board is None else self._lookups.move(board, left)
            if known_move is not None:
                search.stop()  # it has still to run, or the engine would wait for it
            result = search.run()
            self._inbox.put(FinishedSearch(search, known_move or result))
        except BaseException as error:  # noqa: BLE001 - play raises it
            self._inbox.put(FinishedSearch(search, error))

    def _drop_search(self) -> None:
        """Stop a search that is of no use any more; its result is not looked at."""
        if self._running is not None:
            self._running.search.stop()
            self._running = None

    def _take(self, thought: FinishedSearch) -> None:
        """Play what a search has come to, unless the game has gone another way."""
        running = self._running
        if running is None or thought.search is not running.search:
            return
        self._running = None
        if isinstance(thought.result, BaseException):
            raise thought.result
        pondered = running.ponder_until is not None
        if thought.result.move is None or pondered or running.moves != self._moves:
            return
        if isinstance(thought.result, KnownMove):
            move, source = thought.result
            self._archive.say(f"game {self.id}: {self._board.san(move)} from {source}")
            self._decide(move, None)
            self._send()
            return
        self._scores.add(thought.result.report, self._board, len(self._moves))
        if (
            gives_up(self._scores.own, self._settings, self._at_odds)
            and self._acts.do("resign") is None
        ):
            return
        self._decide(thought.result.move, thought.result.ponder)
        self._send()

    def _decide(self, move: Move, expected: Move | None) -> None:
        """Choose a move, and what to ponder on after it."""
        uci = self._board.uci(move)
        if expected is not None:
            after = self._board.copy()
            after.push(move)
            self._expected = ((*self._moves, uci), after.uci(expected))
        draw = offers_draw(self._scores.own, self._board, self._settings)
        self._delivery.take(Reply(self._moves, uci, draw))

    def _send(self) -> None:
        """Send the move if it is due; where no move is taken, resign."""
        until = self._heard + self._left / 1000 if self._timed else math.inf
        sent = self._delivery.send(until)
        if isinstance(sent, Full):
            self._follow(sent.state)
        elif not sent:
            self._acts.ask("resign")

    # --- as time goes by ------------------------------------------------------------------------

    def _look_at_the_time(self) -> None:
        """Do what is due at this time: send, claim a win, abort, end pondering."""
        if self.over or self._full is None:
            return
        self._acts.look()
        now = time.monotonic()
        if self._delivery.has_move_for(self._moves):
            self._send()
        running = self._running
        if running is not None and now > (running.ponder_until or math.inf):
            self._drop_search()
        if not self._timed:
            self._rest(now)
            return
        silent = len(self._moves) < 2 and self._board.turn != self._side
        silent = silent and not self._full.tournament_id  # which ends such games itself
        if silent and now - self._began > self._settings.abort_seconds:
            self._began = now  # and once more after that time
            self._acts.do("abort")
        self._comment(now)

    def _rest(self, now: float) -> None:
        """Let a game without clocks be until there is a reply; nothing is held for it meanwhile."""
        waits = self._board.turn != self._side and self._running is None
        if waits and (self._leaving() or now - self._heard >= self._settings.correspondence_rest):
            self.rests = True

    # --- chat -----------------------------------------------------------------------------------

    def _hear(self, line: ChatLine) -> None:
        name = line.username.casefold()
        question = line.text.lstrip().startswith("!")
        if not self._settings.answers or not question or name in (self._me, "lichess"):
            return
        if not self._chat.takes_question(time.monotonic()):
            return
        scores, secret = self._scores, line.room != "spectator"
        view = View(self._board, self._side, self._engine, scores.report, scores.board, secret)
        for text in answer_to(line.text, view):
            self._chat.write(text, spectators=line.room == "spectator")

    def _comment(self, now: float) -> None:
        """Tell spectators now and then what the last move is about, while there is time."""
        every = self._settings.comment_every
        least = 1000 * self._settings.comment_least
        if not every or now - self._commented < every or self._left < least:
            return
        if self._board.turn == self._side or self._full is None:
            return
        self._commented = now
        for text in lines_of(last_move_in_words(self._board, self._engine)):
            self._chat.write(text, spectators=True)

    def _greet(self, form: str) -> None:
        """Say something to the opponent."""
        for line in lines_of(form.replace("{opponent}", str(self.opponent))):
            self._chat.write(line, spectators=False, once=True)
