"""Ask which rule of selection finds a mate with the fewest nodes."""

from kibitz import Board, Engine

MATES = (
    "6rk/6pp/8/6N1/8/8/8/K7 w - - 0 1",  # Nf7 mates
    "r1b2k1r/ppp1bppp/8/1B1Q4/5q2/2P5/PPP2PPP/R3R1K1 w - - 1 1",
    "6k1/pp4p1/2p5/2bp4/8/P5Pb/1P3rrP/2BRRN1K b - - 0 1",
)
BUDGETS = (100, 1_000, 10_000)


def nodes_to_mate(engine: Engine, fen: str) -> int | None:
    """The smallest budget with which the search announces a mate."""
    for nodes in BUDGETS:
        engine.new_game()
        if str(engine.play(Board(fen), nodes=nodes).report.best.score).startswith("mate"):
            return nodes
    return None


def main() -> None:
    """Print a row for every rule."""
    for rule in ("puct", "azero", "sble", "gumbel"):
        with Engine("material", search_rule=rule) as engine:
            found = [nodes_to_mate(engine, fen) for fen in MATES]
        print(f"{rule:8}", *(f"{nodes or 'not found':>10}" for nodes in found))


if __name__ == "__main__":
    main()
