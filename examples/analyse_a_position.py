"""Watch the best line of a position change while the search goes on."""

from kibitz import Board, Engine

# Ruy Lopez; Black has just played a6. Any FEN will do.
BOARD = Board("r1bqkbnr/1ppp1ppp/p1n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 0 4")


def main() -> None:
    """Search 20 000 nodes, print every report, then the moves of the root."""
    with Engine() as engine:
        for report in engine.analyse(BOARD, nodes=20_000):
            line = " ".join(str(move) for move in report.best.moves[:6])
            print(f"{report.nodes:7d} nodes  {report.best.score!s:>8}  {line}")
        final = engine.stats()
    assert final is not None
    for row in sorted(final.moves, key=lambda row: -row.visits)[:5]:
        print(f"{BOARD.san(row.move):6} {row.visits:7d} visits  value {row.value:+.3f}")


if __name__ == "__main__":
    main()
