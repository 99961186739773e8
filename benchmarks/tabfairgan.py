"""TabFairGAN on five Adult folds: stacked training against five separate trainings in plain torch.

Both do the same work on the same batches with one thread: per batch four steps of the critic and one of the
generator. The plain one is written as one would: modules, automatic differentiation (twice for the gradient
penalty), torch's Adam.

Run: python benchmarks/tabfairgan.py
"""

import time
from types import SimpleNamespace

from common import load_folds, markdown

from fbde import methods, wgan

EPOCHS, PUBLISHED_EPOCHS = 2, 128
METHOD = methods.load("tabfairgan")
MODULE = SimpleNamespace(**METHOD.fit_folds.__globals__)


def plain_networks(width, numeric, sizes):
    """Generator and critic as torch modules."""
    import torch
    from torch import nn

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.numbers = nn.Linear(width, width), nn.Linear(width, numeric)
            self.heads = nn.ModuleList([nn.Linear(width, size) for size in sizes])

        def forward(self, noise):
            hidden = self.hidden(noise).relu()
            heads = [nn.functional.gumbel_softmax(head(hidden), tau=wgan.TEMPERATURE) for head in self.heads]
            return torch.cat([self.numbers(hidden).relu(), *heads], 1)

    critic = nn.Sequential(nn.Linear(width, width), nn.LeakyReLU(), nn.Linear(width, width), nn.LeakyReLU())
    return Generator(), critic


def train_plainly(member, epochs):
    """One fold, one epoch after the other; the fair epochs' extra term is left out, in the plain code's favour."""
    import torch

    encoder = member.encoder
    generator, critic = plain_networks(encoder.width, len(encoder.numeric), encoder.sizes)
    adam, critic_adam = (
        torch.optim.Adam(network.parameters(), lr=MODULE.RATE, betas=wgan.DECAY) for network in (generator, critic)
    )
    for real in member.batches.repeat(epochs, 1, 1):
        for _ in range(MODULE.CRITIC_STEPS):
            fake = generator(torch.randn_like(real)).detach()
            between = torch.lerp(fake, real, torch.rand_like(real)).requires_grad_()
            (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
            penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
            critic_adam.zero_grad()
            (critic(fake).mean() - critic(real).mean() + wgan.PENALTY * penalty).backward()
            critic_adam.step()
        adam.zero_grad()
        (-critic(generator(torch.randn_like(real))).mean()).backward()
        adam.step()


def cpu_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def measure():
    """Processor seconds of EPOCHS epochs of five folds, stacked and plain, measured in turns."""
    import torch

    settings = METHOD(epochs=EPOCHS, fair_epochs=EPOCHS // 2, encoding="numeric", underprivileged=0)
    stacked = plain = 0.0
    with MODULE.one_torch_thread():
        members = [MODULE.Member(fold, settings) for fold in load_folds("adult", "sex", range(5))]
        MODULE.train(METHOD(epochs=1, fair_epochs=0), members[:1])  # the first calls are slower
        for member in members:
            stacked += cpu_seconds(lambda: MODULE.train(settings, members)) / len(members)
            with torch.enable_grad():
                plain += cpu_seconds(lambda member=member: train_plainly(member, EPOCHS))
    return stacked, plain


def main():
    stacked, plain = measure()
    row = {
        "task": "adult/sex, five folds",
        "stacked (s)": f"{stacked / EPOCHS * PUBLISHED_EPOCHS:.0f}",
        "five plain trainings (s)": f"{plain / EPOCHS * PUBLISHED_EPOCHS:.0f}",
        "factor": f"{plain / stacked:.1f}",
    }
    return (
        "## TabFairGAN, folds stacked\n\n"
        f"Processor seconds of one thread for {PUBLISHED_EPOCHS} epochs, extrapolated from {EPOCHS}.\n\n"
        + markdown([row])
    )


if __name__ == "__main__":
    print(main())
