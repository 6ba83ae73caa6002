"""A UCI program that plays the first legal move until it misbehaves, in the way it is told to.

python fake_engine.py WAY [MOVES]   misbehave after so many answers (by default at the second)
"""

import os
import sys
import time

import chess

WAY = sys.argv[1]
AFTER = int(sys.argv[2]) if len(sys.argv) > 2 else 1
FOREVER = 1000.0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def board_of(line: str) -> chess.Board:
    words = line.split()
    start = " ".join(words[2:8])
    board = chess.Board() if words[1] == "startpos" else chess.Board(start)
    for move in words[words.index("moves") + 1 :] if "moves" in words else []:
        board.push_uci(move)
    return board


def answer(board: chess.Board, told: int) -> None:
    move = sorted(board.legal_moves, key=str)[0]
    if told >= AFTER:
        misbehave(board)
    say(f"info depth 1 score cp 13 nodes {len(list(board.legal_moves))} pv {move}")
    say(f"bestmove {move}")


def misbehave(board: chess.Board) -> None:
    if WAY == "crash":
        os._exit(3)
    if WAY == "hang":
        time.sleep(FOREVER)
    if WAY == "close-output":
        os.close(1)
        time.sleep(FOREVER)
    if WAY == "close-input":
        os.close(0)
        time.sleep(FOREVER)
    if WAY == "slow":
        time.sleep(0.6)
    if WAY == "flood":
        for number in range(20_000):
            say(f"info string {number} blah blah")
    lies = {"nonsense": "bestmove banana", "silence": "bestmove (none)", "pass": "bestmove 0000"}
    if WAY == "illegal":
        say(f"bestmove {chess.square_name(board.king(board.turn) or 0)}e5")
    elif WAY in lies:
        say(lies[WAY])


def main() -> None:
    board, told = chess.Board(), 0
    if WAY == "once":  # crashes in its first life only
        flag = sys.argv[3]
        if not os.path.exists(flag):  # noqa: PTH110 - the fewer imports, the faster
            with open(flag, "w"):  # noqa: PTH123
                pass
        else:
            globals()["AFTER"] = 10**9
        globals()["WAY"] = "crash"
    for line in sys.stdin:
        command = line.split()[0] if line.split() else ""
        if command == "uci" and WAY != "mute":
            say("id name Fake\noption name Threads type spin default 1 min 1 max 8\nuciok")
        elif command == "isready":
            say("readyok")
        elif command == "position":
            board = board_of(line)
        elif command == "go":
            answer(board, told)
            told += 1
        elif command == "quit" and WAY == "linger":
            os.close(0)
            time.sleep(1.0)
            os._exit(7)
        elif command == "quit" and WAY != "stay":
            return


main()
