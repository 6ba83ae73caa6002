"""What noisy measurements say of every point: a Gaussian process, its best point, its shape.

Matern 5/2 with a length for each parameter; amplitude, lengths and a noise beyond the given errors
are the likeliest under wide priors. Measurements of which none is clearly better than another give
an almost flat model: that is an answer, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TRIES, REFINED = 60, 120  # sets of lengths and noises that are tried, at random and near the best
GRID, AROUND = 25, 128  # points of a curve; settings of the other parameters it is averaged over


class Model:
    """A smooth function with noise, known by its measurements; higher or lower as measured."""

    def __init__(self, points: Array, values: Array, errors: Array) -> None:
        self.points = points  # [n, d]
        self._mean, self._scale = float(values.mean()), float(values.std()) or 1.0
        self._values = (values - self._mean) / self._scale
        self._variances = (errors / self._scale) ** 2
        self._logs = self._likeliest()
        root, self._weights, _ = self._solved(self._logs)
        self._inverse = np.linalg.inv(root)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Means and standard deviations of the function itself, without noise."""
        amplitude, lengths, _ = _parts(self._logs)
        across = amplitude * _matern(points, self.points, lengths)
        left = amplitude - ((across @ self._inverse.T) ** 2).sum(axis=1)
        means = self._mean + self._scale * (across @ self._weights)
        return means, self._scale * np.sqrt(np.maximum(left, 0.0))

    def curve(self, place: int) -> tuple[Array, Array, Array]:
        """Partial dependence on one parameter: its places, means, standard deviations."""
        amplitude, lengths, _ = _parts(self._logs)
        grid, means, deviations = np.linspace(0.0, 1.0, GRID), [], []
        for at in grid:
            around = even_points(AROUND, self.points.shape[1])
            around[:, place] = at
            across = amplitude * _matern(around, self.points, lengths).mean(axis=0)
            own = amplitude * _matern(around, around, lengths).mean()
            means.append(self._mean + self._scale * float(across @ self._weights))
            left = own - float(((self._inverse @ across) ** 2).sum())
            deviations.append(self._scale * max(0.0, left) ** 0.5)
        return grid, np.array(means), np.array(deviations)

    def shares(self) -> list[float]:
        """The share of the model's variance that each parameter explains by itself."""
        count = self.points.shape[1]
        whole = float(self.predict(even_points(4 * AROUND, count))[0].var())
        own = [float(self.curve(place)[1].var()) for place in range(count)]
        return [min(1.0, one / whole) if whole > 1e-12 * self._scale**2 else 0.0 for one in own]

    def _likeliest(self) -> Array:
        """Logarithms of amplitude, noise and lengths with the highest posterior."""
        generator = np.random.default_rng(0)
        middle = np.log([1.0, 0.05, *[0.5] * self.points.shape[1]])
        spread = np.array([1.0, 1.5, *[0.8] * self.points.shape[1]])

        def worth(logs: Array) -> float:
            return self._solved(logs)[2] - 0.5 * float((((logs - middle) / spread) ** 2).sum())

        best = middle
        highest = worth(best)
        for number in range(TRIES + REFINED):
            near = best if number >= TRIES else middle
            width = 1.0 if number < TRIES else 0.3
            tried = near + width * spread * generator.standard_normal(len(middle))
            found = worth(tried)
            if found > highest:
                best, highest = tried, found
        return best

    def _solved(self, logs: Array) -> tuple[Array, Array, float]:
        """Cholesky root of the covariance, weights of the measurements, log-likelihood."""
        amplitude, lengths, noise = _parts(logs)
        covariance = amplitude * _matern(self.points, self.points, lengths)
        root = np.linalg.cholesky(covariance + np.diag(self._variances + noise + 1e-8))
        weights = np.linalg.solve(root.T, np.linalg.solve(root, self._values))
        fit = -0.5 * float(self._values @ weights) - float(np.log(np.diag(root)).sum())
        return np.asarray(root, dtype=np.float64), weights, fit


def _parts(logs: Array) -> tuple[float, Array, float]:
    return float(np.exp(logs[0])), np.exp(logs[2:]), float(np.exp(logs[1]))


def _matern(first: Array, second: Array, lengths: Array) -> Array:
    apart = (first[:, None, :] - second[None, :, :]) / lengths
    distance = np.sqrt(5.0 * (apart**2).sum(axis=2))
    shape: Array = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    return shape


def even_points(count: int, dimensions: int, start: float = 0.5) -> Array:
    """Points spread evenly over the unit cube (M. Roberts' sequence by generalised golden ratios).

    >>> even_points(3, 1).round(3).ravel().tolist()
    [0.118, 0.736, 0.354]
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    points: Array = (start + np.arange(1, count + 1)[:, None] * steps) % 1.0
    return points
