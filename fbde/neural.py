"""A small network as weak learner, for continuous features: c(x, y, s) = clip(network, −C, C).

As published: one hidden layer of 20 ReLU units, 32 epochs in batches of 64, Adadelta with a rate that shrinks by 0.7
each epoch, logistic loss on n real against n fake rows. Batches of 64 rows and 121 weights are too small for a
tensor library to pay off: written out in numpy, a step costs about 30 microseconds and needs no torch.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit

from fbde.weak import LOG2

CHUNK = 4096  # rows evaluated at a time: the hidden layer stays in the cache
DECAY = 0.9  # Adadelta's own constants, Zeiler (2012)
EPSILON = 1e-6 / (1 - DECAY)  # in the units of the running sums


@dataclass(frozen=True, eq=False)
class Network:
    """A fitted weak learner: one weight matrix (inputs + 1, outputs) per layer, the bias in the last row."""

    weights: list
    C: float

    def __call__(self, points):
        """c at each point."""
        points = np.asarray(points, dtype=np.float32)
        output = np.empty(len(points))
        for start in range(0, len(points), CHUNK):
            rows = slice(start, start + CHUNK)
            output[rows] = self._layers(points[rows])[-1][:, 0]
        return np.clip(output, -self.C, self.C)

    def gradient(self, points):
        """∇c by the columns of the points; 0 where c is clipped."""
        *hidden, output = self._layers(np.asarray(points, dtype=np.float32))
        slope = (np.abs(output) < self.C).astype(np.float32)
        for layer, W in zip(reversed(hidden), reversed(self.weights[1:]), strict=True):
            slope = slope @ W[:-1].T
            slope *= layer > 0
        return slope @ self.weights[0][:-1].T

    def _layers(self, points):
        """Outputs of all layers, the last one not clipped."""
        layers = []
        for W in self.weights[:-1]:
            points = points @ W[:-1]
            points += W[-1]
            np.maximum(points, 0, out=points)
            layers.append(points)
        return [*layers, points @ self.weights[-1][:-1] + self.weights[-1][-1]]

    def arrays(self):
        return {f"W{i}": W for i, W in enumerate(self.weights)} | {"C": np.asarray(self.C)}

    @classmethod
    def from_arrays(cls, arrays):
        return cls([arrays[f"W{i}"] for i in range(len(arrays) - 1)], float(arrays["C"]))


@dataclass(frozen=True)
class NetworkLearner:
    """Makes :class:`Network` objects; the same interface as :class:`fbde.weak.TreeLearner`.

    Parameters
    ----------
    C : float
        Bound of the output.
    layers, units : int
        Hidden layers, and ReLU units in each.
    epochs, batch_size, rate, shrink : training
        Adadelta's learning rate is ``rate`` in the first epoch and is multiplied by ``shrink`` after each.
    hidden : tuple of int
        Columns the network may not see.
    """

    C: float = LOG2
    layers: int = 1
    units: int = 20
    epochs: int = 32
    batch_size: int = 64
    rate: float = 1.0
    shrink: float = 0.7
    hidden: tuple[int, ...] = ()

    def bind(self, real, fake):
        """Prepare for two tables of points; gives ``fit(p, q, n, rng) → (c, c on real, c on fake)``."""

        def fit(p, q, n, rng):
            n = round(n)
            table = np.concatenate([_rows(real, p, n, rng), _rows(fake, q, n, rng)])
            sign = np.repeat([1.0, -1.0], [len(table) - n, n])
            c = self.train(table, sign, rng)
            return c, c(real), c(fake)

        return fit

    def train(self, table, sign, rng):
        """Fit to rows that are real (sign 1) or fake (sign −1)."""
        inputs = np.column_stack([table, np.ones(len(table))]).astype(float)
        inputs[:, list(self.hidden)] = 0
        sizes = [table.shape[1], *[self.units] * self.layers, 1]
        weights, views = initial_weights(sizes, rng)
        views[0][list(self.hidden)] = 0
        square, moved = np.zeros_like(weights), np.zeros_like(weights)
        starts = range(0, len(inputs), self.batch_size)
        batches = [(start, min(start + self.batch_size, len(inputs))) for start in starts]
        work = {size: Workspace(views, size, self.C) for size in {stop - start for start, stop in batches}}
        rate = self.rate
        for _ in range(self.epochs):
            order = rng.permutation(len(inputs))
            rows, signs = inputs[order], sign[order]
            for start, stop in batches:
                gradient = work[stop - start].gradient(rows[start:stop], signs[start:stop])
                adadelta(weights, gradient, square, moved, rate)
            rate *= self.shrink
        return Network([W.astype(np.float32) for W in views], self.C)


def _rows(table, mass, n, rng):
    """n rows by their masses; all of them, once, where each has the same mass and there are n of them."""
    if len(table) == n and np.ptp(mass) <= 1e-12 * mass[0]:
        return table
    return np.repeat(table, rng.multinomial(n, mass / mass.sum()), axis=0)


def initial_weights(sizes, rng):
    """All weights in one vector, uniform in ±1/√inputs as torch's linear layers start, and a view per layer."""
    shapes = [(before + 1, after) for before, after in pairwise(sizes)]
    weights = np.concatenate([rng.uniform(-1, 1, a * b) / np.sqrt(a - 1) for a, b in shapes])
    return weights, split(weights, shapes)


def split(vector, shapes):
    """Views of the matrices that lie one after another in ``vector``."""
    ends = np.cumsum([a * b for a, b in shapes])
    return [vector[end - a * b : end].reshape(a, b) for end, (a, b) in zip(ends, shapes, strict=True)]


class Workspace:
    """Gradient of the mean logistic loss log(1 + exp(−sign·c)) of a batch of fixed size, in arrays that are reused.

    Points run along the last axis, so that the part of a layer without its constant 1 is contiguous.
    """

    def __init__(self, views, batch, C):
        self.views, self.C, self.batch = views, C, batch
        # The last row stays 1 and meets the bias.
        self.hidden = [np.ones((W.shape[1] + 1, batch)) for W in views[:-1]]
        self.slopes = [np.empty((W.shape[1], batch)) for W in views[:-1]]
        self.total = np.empty(sum(W.size for W in views))
        self.gradients = split(self.total, [W.shape for W in views])

    def gradient(self, rows, signs):
        inputs = [rows.T, *self.hidden]
        for W, below, layer in zip(self.views, inputs, self.hidden, strict=False):
            units = layer[:-1]
            np.dot(W.T, below, out=units)
            np.maximum(units, 0, out=units)
        last = self.views[-1][:, 0]
        output = np.dot(last, inputs[-1])
        # −sign / (1 + exp(sign·c)) where c is not clipped
        slope = expit(output * -signs)
        slope *= signs
        slope *= np.abs(output) < self.C
        slope *= -1 / self.batch
        np.dot(inputs[-1], slope, out=self.gradients[-1][:, 0])
        above = slope[None]
        for k in range(len(self.hidden), 0, -1):
            here = self.slopes[k - 1]
            np.dot(self.views[k][:-1], above, out=here)
            here *= self.hidden[k - 1][:-1] > 0
            np.dot(inputs[k - 1], here.T, out=self.gradients[k - 1])
            above = here
        return self.total


def adadelta(weights, gradient, square, moved, rate):
    """One step of Adadelta, in place; ``square`` and ``moved`` are its running means, divided by 1 − DECAY."""
    square *= DECAY
    square += gradient * gradient
    step = moved + EPSILON
    step /= square + EPSILON
    np.sqrt(step, out=step)
    step *= gradient
    moved *= DECAY
    moved += step * step
    step *= rate
    weights -= step
