"""TabFairGAN: a Wasserstein GAN for tables whose last epochs also ask for fairness.

With D the critic, G the generator, x real rows:

* critic:     mean D(G(z)) − mean D(x) + 10 · mean (‖∇ΣD(x̂)‖ − 1)², x̂ between a fake and a real row
* generator:  −mean D(G(z)), and in the fair epochs − λ · (r_under − r_other), where r_g is the rate of the
  positive label in group g, divided by the batch size (so the authors' code has it)

The networks of all folds are trained as one batch of matrices (``fbde/wgan.py``). A fold draws from its own
random stream, so that its result is that of training it alone, to the byte.
"""

import logging
import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fbde import wgan
from fbde.errors import ConfigError, DataError, FBDEError
from fbde.evaluate import SAMPLES_PER_ROW
from fbde.methods import Distribution
from fbde.methods import Method as Base
from fbde.tasks import Rows

log = logging.getLogger("fbde.stage")

CRITIC_STEPS = 4  # per step of the generator
RATE, FAIR_RATE = 2e-4, 1e-4
HELD_OUT = 0.1  # share of the rows that the authors' code sets aside and does not use
QUANTILES = 2000
# Vector units take this many numbers at once. A batch that does not fill them evenly could make the last bits
# of a fold depend on its place in the stack.
LANES = 16


class Method(Base):
    """Rajabi, Garibay: TabFairGAN: Fair Tabular Data Generation with Generative Adversarial Networks.
    Machine Learning and Knowledge Extraction 4(2), 2022.

    ``encoding`` says how 0/1 feature columns are seen: "categorical", as the features they come from, or
    "numeric", each as a number of its own (the printed numbers come out so). ``underprivileged`` is the
    group whose rate of positive labels is to rise: 0, 1, or the one with the lower rate in the training
    fold. Generated rows may lie outside of the domain.
    """

    kind = "sampler"
    smoke = {"epochs": 2, "fair_epochs": 1, "batch_size": 64}

    def __init__(
        self,
        *,
        epochs: int = 128,
        fair_epochs: int = 30,
        batch_size: int = 128,
        fairness_weight: float = 2.0,
        encoding: Literal["categorical", "numeric"] = "categorical",
        underprivileged: Literal["lower rate", 0, 1] = "lower rate",
    ):
        wrong = {
            f"epochs must be at least 1, not {epochs}": epochs < 1,
            f"fair_epochs must be from 0 to epochs ({epochs}), not {fair_epochs}": not 0 <= fair_epochs <= epochs,
            f"batch_size must be at least 1, not {batch_size}": batch_size < 1,
            f"fairness_weight must be 0 or more, not {fairness_weight}": not 0 <= fairness_weight < math.inf,
        }
        for sentence, holds in wrong.items():
            if holds:
                raise ConfigError(f"TabFairGAN: {sentence}.")
        self.epochs, self.fair_epochs, self.batch_size = epochs, fair_epochs, batch_size
        self.fairness_weight, self.encoding, self.underprivileged = fairness_weight, encoding, underprivileged

    def fit_folds(self, folds):
        with one_torch_thread():
            members = [Member(fold, self) for fold in folds]
            for stack in stacks(members):
                train(self, stack)
            samples = [member.sample(SAMPLES_PER_ROW * len(member.fold.train.X)) for member in members]
        yield from (Distribution(samples=rows) for rows in samples)


@contextmanager
def one_torch_thread():
    """The networks are tiny: more threads cost more than they give, and could change the last bits."""
    try:
        import torch
    except ImportError:
        raise FBDEError("TabFairGAN needs PyTorch: pip install 'fbde[torch]'.") from None
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(before)


# ---------------------------------------------------------------------- rows to numbers and back


@dataclass(frozen=True)
class Block:
    """A categorical: its one-hot columns, or one 0/1 column, in the table (x, y, s)."""

    columns: tuple[int, ...]

    @property
    def size(self):
        return max(len(self.columns), 2)

    def encode(self, table):
        values = table[:, self.columns]
        return values if len(self.columns) > 1 else np.hstack([values != 1, values == 1])

    def decode(self, shares):
        chosen = np.argmax(shares, axis=1)
        return np.eye(self.size)[chosen] if len(self.columns) > 1 else chosen[:, None]


class Encoder:
    """Rows as the networks see them: numeric columns through their quantiles, then blocks by growing size.

    The blocks of label and group come first. A constant numeric column stays constant; a level that does
    not occur in training keeps its (empty) column.
    """

    def __init__(self, rows, task, encoding):
        from sklearn.preprocessing import QuantileTransformer

        position = {name: index for index, name in enumerate([*task.features, "label", "group"])}
        numeric = set(task.features if encoding == "numeric" else task.continuous)
        in_groups = {name for names in task.groups.values() for name in names}
        names_of = [*task.groups.values(), *((name,) for name in task.features if name not in in_groups)]
        names_of = [names for names in names_of if not set(names) & numeric]
        names_of = [("label",), ("group",), *sorted(names_of, key=lambda names: max(len(names), 2))]
        self.blocks = [Block(tuple(position[name] for name in names)) for names in names_of]
        self.sizes = [block.size for block in self.blocks]
        self.numeric = [position[name] for name in task.features if name in numeric]
        self.width = len(self.numeric) + sum(self.sizes)
        # Columns of the positive label and of group 0; that of group 1 is the next one.
        self.label_at, self.group_at = len(self.numeric) + 1, len(self.numeric) + 2
        if self.numeric:
            quantiles = QuantileTransformer(n_quantiles=min(QUANTILES, len(rows.X)), subsample=None)
            self.quantiles = quantiles.fit(rows.X[:, self.numeric])

    def encode(self, rows):
        table = np.column_stack([rows.X, rows.y, rows.s])
        numbers = [self.quantiles.transform(rows.X[:, self.numeric])] if self.numeric else []
        return np.hstack([*numbers, *(block.encode(table) for block in self.blocks)]).astype("float32")

    def decode(self, encoded):
        """Encoded rows as merged rows: of each block the largest share."""
        encoded, start = encoded.astype(float), len(self.numeric)
        table = np.empty((len(encoded), start + sum(len(block.columns) for block in self.blocks)))
        if self.numeric:
            table[:, self.numeric] = self.quantiles.inverse_transform(encoded[:, :start])
        for block in self.blocks:
            table[:, block.columns] = block.decode(encoded[:, start : start + block.size])
            start += block.size
        # Bytes are compared far faster than rows of numbers; what is left to merge is little.
        key = np.dtype((np.void, table.dtype.itemsize * table.shape[1]))
        _, first, count = np.unique(table.view(key).ravel(), return_index=True, return_counts=True)
        X, y, s = table[first, :-2], table[first, -2].astype(int), table[first, -1].astype(int)
        return Rows(X, y, s, count.astype(float)).merged()


# -------------------------------------------------------------------------------------- training


class Member:
    """One fold in training: its encoded batches, its random stream and, in the end, its generator."""

    def __init__(self, fold, settings):
        import torch

        _check(fold, settings.batch_size)
        self.fold, self.generator = fold, None
        self.encoder = Encoder(fold.train, fold.task, settings.encoding)
        used = _usable(fold) // settings.batch_size * settings.batch_size
        order = fold.rng.permutation(len(fold.train.X))[:used]
        encoded = torch.from_numpy(self.encoder.encode(fold.train)[order])
        self.batches = encoded.reshape(-1, settings.batch_size, self.encoder.width)
        self.random = torch.Generator().manual_seed(fold.seed)
        under = settings.underprivileged
        self.under = _lower_group(fold.train) if under == "lower rate" else under

    def sample(self, number):
        import torch

        encoder = self.encoder
        noise = torch.empty(1, number, encoder.width).normal_(generator=self.random)
        gumbel = wgan.to_gumbel(torch.empty(1, number, sum(encoder.sizes)).uniform_(generator=self.random))
        rows = wgan.generate(self.generator[None], noise, gumbel, len(encoder.numeric), encoder.sizes)
        return encoder.decode(rows[0].numpy())


def _check(fold, batch_size):
    where = f"fold {fold.number} of {fold.task.name}"
    for what, values in (("label", fold.train.y), ("sensitive attribute", fold.train.s)):
        found = np.unique(values).tolist()
        if found != [0, 1]:
            has = " and ".join(map(str, found)) or "none"
            raise DataError(f"TabFairGAN needs a {what} of 0 and 1; the training rows of {where} have {has}.")
    if _usable(fold) < batch_size:
        raise DataError(
            f"TabFairGAN trains on 90 % of the rows, in whole batches: that is {_usable(fold)} rows in {where},"
            f" and batch_size is {batch_size}."
        )


def _usable(fold):
    return len(fold.train.X) - math.ceil(HELD_OUT * len(fold.train.X))


def _lower_group(rows):
    group, positive = rows.s.astype(int), rows.weight * (rows.y == 1)
    return int(np.argmin(np.bincount(group, positive) / np.bincount(group, rows.weight)))


class Noise:
    """The random numbers of a round, CRITIC_STEPS steps of the critic and one of the generator, of all folds."""

    def __init__(self, members, size):
        import torch

        encoder, folds, rows = members[0].encoder, len(members), size * CRITIC_STEPS
        self.streams = [member.random for member in members]
        self.normal = torch.empty(folds, rows + size, encoder.width)
        self.gumbel = torch.empty(folds, rows + size, sum(encoder.sizes))
        self.share = torch.empty(folds, rows, encoder.width)

    def draw(self):
        for index, stream in enumerate(self.streams):
            self.normal[index].normal_(generator=stream)
            self.gumbel[index].uniform_(generator=stream)
            self.share[index].uniform_(generator=stream)
        wgan.to_gumbel(self.gumbel)


def stacks(members):
    """Which members to train together: those with equally many batches (folds differ by a row)."""
    if members[0].batches.shape[1] % LANES:
        return [[member] for member in members]
    counts = sorted({len(member.batches) for member in members})
    return [[member for member in members if len(member.batches) == count] for count in counts]


def train(settings, members):
    """Train the networks of all ``members`` together; each keeps its generator."""
    import torch

    batches = torch.stack([member.batches for member in members], 1)
    noise, encoder = Noise(members, settings.batch_size), members[0].encoder
    generator = torch.stack([wgan.first_layers(encoder.width, member.random) for member in members])
    critic = torch.stack([wgan.first_layers(encoder.width, member.random) for member in members])
    critic_adam, adam, weight = wgan.Adam(critic, RATE), wgan.Adam(generator, RATE), 0.0
    for epoch in range(settings.epochs):
        if epoch == settings.epochs - settings.fair_epochs:
            adam, weight = wgan.Adam(generator, FAIR_RATE), settings.fairness_weight
        for real in batches:
            noise.draw()
            fake = train_critic(critic_adam, generator, real, noise, encoder)
            adam.step(generator_gradient(generator, critic, weight, noise, members))
        if (epoch + 1) * 10 // settings.epochs > epoch * 10 // settings.epochs:
            loss = wgan.critic_loss(critic, fake, real, noise.share[:, -settings.batch_size :]).mean()
            log.info("TabFairGAN: epoch %d of %d, critic loss %.3f", epoch + 1, settings.epochs, loss)
    for member, layers in zip(members, generator, strict=True):
        member.generator = layers


def train_critic(adam, generator, real, noise, encoder):
    """CRITIC_STEPS steps of the critic on one batch of real rows; gives the last fake rows."""
    size, shape = real.shape[1], (len(encoder.numeric), encoder.sizes)
    fakes = wgan.generate(generator, noise.normal[:, :-size], noise.gumbel[:, :-size], *shape)
    for fake, share in zip(fakes.split(size, 1), noise.share.split(size, 1), strict=True):
        adam.step(wgan.critic_gradient(adam.parameters, fake, real, share))
    return fake


def generator_gradient(generator, critic, weight, noise, members):
    """The gradient of the generator's loss on fresh fake rows."""
    import torch

    encoder, used = members[0].encoder, noise.share.shape[1]
    under = [encoder.group_at + member.under for member in members]
    other = [encoder.group_at + 1 - member.under for member in members]
    with torch.enable_grad():
        layers = generator.detach().requires_grad_()
        fresh = noise.normal[:, used:], noise.gumbel[:, used:]
        fake = wgan.generate(layers, *fresh, len(encoder.numeric), encoder.sizes)
        loss = wgan.generator_loss(critic, fake, weight, encoder.label_at, under, other)
        return torch.autograd.grad(loss.sum(), layers)[0]
