"""Search with an evaluator of your own, written in Python: it likes to have many moves."""

import numpy as np

from kibitz import Board, Limits
from kibitz.nets.encodings.leaves import Leaves
from kibitz.nets.encodings.planes import Sight
from kibitz.nets.evaluators.batched import Evaluations
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings


class Mobility:
    """Values a position by the number of its legal moves; all moves are equally likely."""

    name = "mobility"
    sees = Sight()  # one position at a time, without clock and repetitions

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Fill win, draw, loss float32 [B, 3] and a logit for every legal move float32 [M]."""
        moves = np.diff(leaves.offsets)
        value = np.tanh((moves - 30) / 30)
        out.wdl[:, 0], out.wdl[:, 1], out.wdl[:, 2] = (1 + value) / 2, 0.0, (1 - value) / 2
        out.logits[:] = 0.0


def main() -> None:
    """Search the start position and print the line that keeps the pieces free."""
    board = Board()
    with Searcher(Mobility(), Settings(hash=16)) as searcher:
        result = searcher.search(board, Limits(nodes=2_000))
    best = result.report.best
    print(f"{result.report.nodes} nodes, value {best.value:+.3f}:", *best.moves)


if __name__ == "__main__":
    main()
