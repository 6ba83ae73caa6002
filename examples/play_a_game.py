"""Let two engines play a game and print it as PGN."""

import chess.pgn

from kibitz import Board, Engine

LONGEST = 60  # plies


def main() -> None:
    """Play the shipped network against a count of material, 400 nodes a move."""
    board = Board()
    with Engine() as white, Engine("material") as black:
        while board.outcome() is None and len(board.moves) < LONGEST:
            engine = white if board.turn == "white" else black
            move = engine.play(board, nodes=400).move
            assert move is not None
            board.push(move)
    game = chess.pgn.Game.from_board(board.to_chess())
    game.headers.update(White="Kibitz", Black="material", Event="An example")
    print(game)


if __name__ == "__main__":
    main()
