"""The compiled activation against torch's own operations, values and gradients."""

from __future__ import annotations

import torch

from kibitz.nets.models.sparse import screlu


def plain(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(0, 1) ** 2


def test_values_and_gradients_are_torchs() -> None:
    torch.manual_seed(0)
    x = torch.randn(37, 19)
    x[0, :4] = torch.tensor([0.0, 1.0, -0.0, 2.0])
    upstream = torch.randn(37, 19)
    for transposed in (False, True):
        mine, theirs = (x.clone().requires_grad_() for _ in range(2))
        left, right = (
            function(leaf.T if transposed else leaf)
            for function, leaf in ((screlu, mine), (plain, theirs))
        )
        assert torch.equal(left, right)
        given = upstream.T if transposed else upstream
        left.backward(given)  # type: ignore[no-untyped-call]
        right.backward(given)  # type: ignore[no-untyped-call]
        assert mine.grad is not None
        assert theirs.grad is not None
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_what_is_no_number_stays_none() -> None:
    x = torch.tensor([[float("nan"), 0.5, float("inf"), -float("inf")]])
    found = screlu(x)
    assert found.isnan().tolist() == [[True, False, False, False]]
    assert found[0, 1:].tolist() == [0.25, 1.0, 0.0]


def test_other_types_and_shapes_work_too() -> None:
    x = torch.randn(5, 4, 3)
    assert torch.equal(screlu(x), plain(x))
    doubled = x[0].double()
    assert torch.equal(screlu(doubled), plain(doubled))
