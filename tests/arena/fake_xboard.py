"""A program that speaks the xboard protocol and plays the first legal move, with its own ways.

python fake_xboard.py WAY   WAY is good, old (no setboard, no usermove), first (version 1 of the
protocol: no feature, no ping), resign, illegal or hang
"""

import sys
import time

import chess

WAY = sys.argv[1]
OLD = WAY in ("old", "first")
board = chess.Board()
editing: list[str] = []


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def edited(lines: list[str], turn: bool) -> chess.Board:
    """The position that edit commands describe."""
    found, white = chess.Board(None), True
    for line in lines:
        if line == "c":
            white = not white
        elif line != "#":
            kind = chess.PIECE_SYMBOLS.index(line[0].lower())
            found.set_piece_at(chess.parse_square(line[1:]), chess.Piece(kind, white))
    found.turn = turn
    found.castling_rights = found.rooks & (chess.BB_RANK_1 | chess.BB_RANK_8)
    found.castling_rights = found.clean_castling_rights()
    return found


def go() -> None:
    if WAY == "hang":
        time.sleep(1000)
    if WAY == "resign" and len(board.move_stack) >= 2:
        say("resign")
        return
    move = sorted(board.legal_moves, key=str)[0]
    say(f" 3 {41 if board.turn else -41} 7 1234 {board.san(move)}")
    say(f"move {'e1e8' if WAY == 'illegal' else move}")
    board.push(move)


is_editing = False
for line in sys.stdin:
    words = line.split()
    if is_editing:
        if words[0] == ".":
            board, is_editing = edited(editing, board.turn), False
        else:
            editing.append(words[0])
    elif WAY == "first" and words[0] in ("protover", "ping"):
        say(f"Error (unknown command): {words[0]}")
    elif words[0] == "protover":
        say("a greeting that is no feature")
        say('feature myname="Fake 1" ping=1 memory=1 done=0')
        if WAY != "old":
            say('feature setboard=1 usermove=1 option="Skill -spin 3 0 9"')
        say("feature done=1")
    elif words[0] == "ping":
        say(f"pong {words[1]}")
    elif words[0] == "new":
        board = chess.Board()
    elif words[0] == "setboard" and not OLD:
        board = chess.Board(" ".join(words[1:]))
    elif words[0] == "edit":
        is_editing, editing = True, []
    elif words[0] == ("move" if OLD else "usermove"):
        board.push_uci(words[1])
    elif OLD and len(words) == 1 and len(words[0]) in (4, 5) and words[0][1].isdigit():
        board.push_uci(words[0])
    elif words[0] == "go":
        go()
    elif words[0] == "quit":
        break
