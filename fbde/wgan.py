"""Small Wasserstein GANs for encoded tables, those of several folds stacked into one tensor.

Generator and critic both have two layers of the width d of the encoded rows: a tensor of shape
(folds, 2, d, d + 1) with the biases last. Rows are tensors of shape (folds, rows, d). Torch is slow on
networks this small for want of work per call: stacking gives it more, and the closed-form gradient of the
critic needs a third of the calls.
"""

import math

TEMPERATURE = 0.2  # of the Gumbel softmax
PENALTY = 10.0
LEAK = 0.01
DECAY = (0.5, 0.999)
TINY = 1e-12
SMALL = 12


def first_layers(width, stream):
    """Two layers with torch's usual start, uniform within ±1/√d, from a random stream."""
    import torch

    return torch.empty(2, width, width + 1).uniform_(-(width**-0.5), width**-0.5, generator=stream)


def to_gumbel(uniform):
    """Uniform numbers to Gumbel ones, in place."""
    return uniform.clamp_min_(TINY).log_().neg_().log_().neg_()


def with_ones(rows):
    import torch

    return torch.nn.functional.pad(rows, (0, 1), value=1.0)


def product(left, right):
    """left @ right for each fold.

    In MKL's batched product of very small matrices, the last bits of one depend on its place in the batch.
    These are multiplied one by one, so that a fold gets the same bits in a stack and alone.
    """
    import torch

    if min(*left.shape[1:], *right.shape[1:]) >= SMALL:
        return left.bmm(right)
    return torch.stack([a @ b for a, b in zip(left, right, strict=True)])


def linear(rows, layer):
    return product(with_ones(rows), layer.mT)


def slopes_of(before):
    """The slope of the leaky ReLU: 1 where a unit is positive, LEAK elsewhere."""
    return before.detach().sign().clamp_min_(LEAK)


def generate(generator, noise, gumbel, numeric, sizes):
    """G(z): ReLU for the ``numeric`` first columns, then a Gumbel softmax for each block of columns.

    ``sizes``, the sizes of the blocks, must not decrease.
    """
    import torch

    outputs = linear(linear(noise, generator[:, 0]).relu(), generator[:, 1])
    parts, scores, start = [outputs[..., :numeric].relu()], (outputs[..., numeric:] + gumbel) / TEMPERATURE, 0
    for size in sorted(set(sizes)):
        stop = start + size * sizes.count(size)
        run, start = scores[..., start:stop], stop
        if size == 2:  # torch's softmax is slow on rows of two
            odds = run[..., 1::2] - run[..., ::2]
            parts.append(torch.stack([-odds, odds], -1).flatten(-2).sigmoid())
        else:
            parts.append(run.unflatten(-1, (-1, size)).softmax(-1).flatten(-2))
    return torch.cat(parts, -1)


def critique(critic, rows):
    """D(rows), with d outputs."""
    before = linear(rows, critic[:, 0])
    output = linear(before * slopes_of(before), critic[:, 1])
    return output * slopes_of(output)


def critic_loss(critic, fake, real, share):
    """mean D(fake) − mean D(real) + 10 · mean (‖∇ΣD(x̂)‖ − 1)² for each fold.

    x̂ lies between a fake and a real row; ``share`` says how near to the real one, for each coordinate.
    """
    import torch

    between = fake.lerp(real, share).requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(critique(critic, between).sum(), between)
    penalty = ((gradient.norm(dim=2) - 1) ** 2).mean(1)
    return critique(critic, fake).mean((1, 2)) - critique(critic, real).mean((1, 2)) + PENALTY * penalty


def critic_gradient(critic, fake, real, share):
    """The gradient of :func:`critic_loss` in the critic's layers, in closed form.

    Slopes are constant almost everywhere. So with u = slope ⊙ (slope_out W₂), ∇ΣD(x) = u W₁; and ΣD(x)
    has the gradients uᵀx in W₁ and slope_outᵀ hidden in W₂ (x and hidden with a 1 for the bias). For a
    fixed p, p·∇ΣD(x) has the same with p in place of x, slope ⊙ (W₁p) in place of hidden, 0 for the bias.
    """
    import torch

    batch, width = real.shape[1:]
    first, second = critic[:, 0], critic[:, 1]
    rows = with_ones(torch.cat([fake, real, fake.lerp(real, share)], 1))
    before = product(rows, first.mT)
    slope = slopes_of(before)
    hidden = with_ones(before.mul_(slope))
    slope_out = slopes_of(product(hidden, second.mT))
    u = product(slope_out, second[..., :-1]).mul_(slope)

    gradient = product(u[:, 2 * batch :], first[..., :-1])
    norm = gradient.norm(dim=2, keepdim=True).clamp_min_(TINY)
    p = gradient.mul_((1 - 1 / norm).mul_(2 * PENALTY / batch))
    hidden_p = product(p, first[..., :-1].mT).mul_(slope[:, 2 * batch :])
    for inputs, inputs_p in ((rows, p), (hidden, hidden_p)):
        inputs[:, :batch] *= 1 / (batch * width)
        inputs[:, batch : 2 * batch] *= -1 / (batch * width)
        inputs[:, 2 * batch :, :-1] = inputs_p
        inputs[:, 2 * batch :, -1] = 0
    return torch.stack([product(u.mT, rows), product(slope_out.mT, hidden)], 1)


def generator_loss(critic, fake, weight, label_at, under_at, other_at):
    """−mean D(fake) − weight · (r_under − r_other) for each fold.

    ``label_at`` is the column of the positive label; ``under_at`` and ``other_at`` are, for each fold, those
    of the two groups.
    """
    loss = -critique(critic, fake).mean((1, 2))
    if weight == 0:
        return loss
    folds, positive = range(len(fake)), fake[..., label_at]

    def rate(columns):
        group = fake[folds, :, columns]
        # A mean over a sum: P(y=1 | group) divided by the batch size, as in the authors' code.
        return (group * positive).mean(1) / group.sum(1).clamp_min(TINY)

    return loss - weight * (rate(under_at) - rate(other_at))


class Adam:
    """Adam for one tensor, with few calls."""

    def __init__(self, parameters, rate):
        self.parameters, self.rate, self.steps = parameters, rate, 0
        self.mean, self.square = parameters * 0, parameters * 0

    def step(self, gradient):
        self.steps += 1
        mean_decay, square_decay = DECAY
        self.mean.lerp_(gradient, 1 - mean_decay)
        self.square.mul_(square_decay).addcmul_(gradient, gradient, value=1 - square_decay)
        spread = self.square.sqrt().div_(math.sqrt(1 - square_decay**self.steps)).add_(1e-8)
        self.parameters.addcdiv_(self.mean, spread, value=-self.rate / (1 - mean_decay**self.steps))
