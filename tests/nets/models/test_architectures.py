"""Parameter counts against the four systems' own, output shapes, and what each square can see."""

from __future__ import annotations

import pytest
import torch

from kibitz.core.errors import InputError
from kibitz.nets.card import Heads
from kibitz.nets.models.build import build, count_parameters
from kibitz.nets.models.convolutional import AttackShapedInput, Tower, legal_logits
from kibitz.nets.models.sizes import inputs_of, new_card, parse


@pytest.mark.parametrize(
    ("size", "published", "precision", "exact"),
    [
        ("tower-19x256", 23_330_000, 5_000, 23_327_823),
        ("tower-8x128", 2_660_000, 5_000, 2_663_503),
        ("plain-4x64", 219_000, 1_000, 219_852),
        ("residual-4x64", 369_000, 500, 369_228),
        ("se-4x64", 372_000, 500, 371_548),
        ("se-5x64", 446_000, 500, 446_112),
        ("dilated-eval", 331_000, 500, 331_441),
        ("dilated-move", 301_000, 500, 301_049),
    ],
)
def test_parameter_counts(size: str, published: int, precision: int, exact: int) -> None:
    with torch.device("meta"):
        count = count_parameters(build(size))
    assert count == exact
    assert abs(count - published) <= precision


@pytest.mark.parametrize("encoding", ["history109", "colour21", "colour22", "oriented22"])
@pytest.mark.parametrize("size", ["tower-2x16", "tower-2x16-se", "plain-2x16", "se-2x16-input"])
def test_every_head_of_the_convolutional_families(size: str, encoding: str) -> None:
    heads = Heads(value="wdl", mcts_value=True, moves_left=True, soft_policy=True)
    card = new_card(size, encoding=encoding, heads=heads)
    outputs = build(card)(torch.randn(3, inputs_of(card), 8, 8))
    assert {name: tuple(output.shape) for name, output in outputs.items()} == {
        "value": (3, 3),
        "policy": (3, 4672),
        "soft_policy": (3, 4672),
        "mcts_value": (3,),
        "moves_left": (3,),
    }
    assert (outputs["mcts_value"].abs() <= 1).all()
    assert (outputs["moves_left"] >= 0).all()


def test_a_usual_tower_has_chesscoach_heads() -> None:
    outputs = build("tower-1x16")(100 * torch.randn(4, 109, 8, 8))
    assert list(outputs) == ["value", "policy", "mcts_value"]
    assert outputs["value"].shape == (4,)
    assert (outputs["value"].abs() <= 1).all()


def test_the_first_tower_block_has_no_leading_norm_and_every_skip_is_untouched() -> None:
    tower = Tower(109, 3, 16, squeeze=False, heads=Heads())
    norms = [
        module for module in tower.blocks.modules() if isinstance(module, torch.nn.BatchNorm2d)
    ]
    assert len(norms) == 2 * 3 - 1
    for name, parameter in tower.blocks.named_parameters():
        if "convolution2" in name:
            torch.nn.init.zeros_(parameter)
    x = torch.randn(2, 16, 8, 8)
    assert torch.equal(tower.blocks(x), x)


def test_dilated_networks_score_positions_and_moves() -> None:
    planes = torch.randn(3, 15, 8, 8)
    assert build("dilated-eval")(planes)["value"].shape == (3,)
    policy = build("dilated-move")(planes)["policy"]
    moves, offsets = torch.tensor([5, 4671, 0]), torch.tensor([0, 2, 2, 3])
    scores = legal_logits(policy, moves, offsets)
    assert torch.equal(scores, torch.stack([policy[0, 5], policy[0, 4671], policy[2, 0]]))


def attack_squares(rank: int, file: int) -> set[tuple[int, int]]:
    """Every square a queen or a knight could come from on an empty board, and the square itself."""
    lines = {(r, f) for r in range(8) for f in range(8) if r == rank or f == file}
    lines |= {(r, f) for r in range(8) for f in range(8) if abs(r - rank) == abs(f - file)}
    jumps = {(r, f) for r in range(8) for f in range(8) if {abs(r - rank), abs(f - file)} == {1, 2}}
    return lines | jumps


@pytest.mark.parametrize("square", [(0, 0), (3, 4), (7, 1), (5, 7)])
def test_the_first_dilated_layer_sees_exactly_the_attack_squares(square: tuple[int, int]) -> None:
    planes = torch.randn(1, 15, 8, 8, requires_grad=True)
    AttackShapedInput(15, 1)(planes)[0, :, square[0], square[1]].square().sum().backward()
    assert planes.grad is not None
    seen = {(r, f) for r, f in planes.grad[0].abs().sum(0).nonzero().tolist()}
    assert seen == attack_squares(*square)


def test_dials_multiply() -> None:
    small, large = (build(size) for size in ("dilated-eval", "dilated-eval-x2"))
    assert 3.5 < count_parameters(large) / count_parameters(small) < 4.1


@pytest.mark.parametrize(
    ("text", "blocks", "width", "policy_width", "options"),
    [
        ("tower-19x256", 19, 256, 0, set()),
        ("residual-4x64-input", 4, 64, 0, {"input"}),
        ("dilated-move-x3", 0, 3, 0, {"move"}),
        ("sparse-512", 0, 512, 256, set()),
        ("sparse-512x256-threats-both-direct", 0, 512, 256, {"threats", "both", "direct"}),
    ],
)
def test_size_strings(
    text: str, blocks: int, width: int, policy_width: int, options: set[str]
) -> None:
    assert parse(text)[1:] == (blocks, width, policy_width, frozenset(options))


@pytest.mark.parametrize(
    "text",
    ["", "towre-4x64", "tower", "tower-4", "tower-0x64", "plain-4x64-se", "sparse-0", "sparse-ax2",
     "dilated-both", "dilated-eval-move", "dilated-eval-x0", "tower-4x64-", "sparse-512x"],
)  # fmt: skip
def test_malformed_sizes_are_refused_by_name(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse(text)
    assert text.split("-")[-1] in str(refusal.value)


@pytest.mark.parametrize(
    ("size", "encoding", "order", "heads"),
    [
        ("sparse-64", "threat3072", "", None),
        ("sparse-64", "", "dlchess", None),
        ("sparse-64", "", "", Heads(value="tanh")),
        ("tower-1x8", "sparse768", "", None),
        ("tower-1x8", "", "table1858", None),
        ("tower-1x8", "planes110", "", None),
        ("dilated-eval", "", "", Heads()),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    size: str, encoding: str, order: str, heads: Heads | None
) -> None:
    with pytest.raises(InputError):
        new_card(size, encoding=encoding, policy_order=order, heads=heads)
