"""TabFairGAN on made tables: crossed with the authors' package, and what the contract asks of a method."""

import logging
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fbde import methods, wgan
from fbde.errors import ConfigError, DataError
from fbde.metrics import statistical_rate
from fbde.tasks import Fold, Rows, Task

torch = pytest.importorskip("torch")

Method = methods.load("tabfairgan")
module = SimpleNamespace(**Method.fit_folds.__globals__)

FEATURES = ("flag", "size=small", "size=middle", "size=large", "height")
GROUPS = {"flag": ("flag",), "size": FEATURES[1:4], "height": ("height",)}
TASK = Task("made", "s", "y", FEATURES, GROUPS, ("height",))
SHORT = {"epochs": 2, "fair_epochs": 1, "batch_size": 32}


def made_rows(n, seed=0, rates=(0.3, 0.6)):
    """A flag that follows the label, a size in three levels, a height; P(y=1 | s) = rates[s]."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    y = (rng.random(n) < np.take(rates, s)).astype(int)
    flag = np.where(rng.random(n) < 0.8, y, 1 - y)
    size = np.eye(3)[rng.integers(0, 3, n)]
    return Rows(np.column_stack([flag, size, rng.normal(size=n)]), y, s, np.ones(n))


def made_fold(n=200, seed=0, **options):
    rows = made_rows(n, seed, **options)
    return Fold(TASK, 0, rows, rows, None, seed)


def changed(fold, **columns):
    """The fold with other training columns; x by position, y and s by name."""
    X, parts = fold.train.X.copy(), {"y": fold.train.y, "s": fold.train.s}
    for name, values in columns.items():
        if name in parts:
            parts[name] = np.broadcast_to(values, len(X)).copy()
        else:
            X[:, int(name.removeprefix("x"))] = values
    return Fold(fold.task, fold.number, Rows(X, weight=fold.train.weight, **parts), fold.test, None, fold.seed)


def fit(fold, **settings):
    (result,) = Method(**{**SHORT, **settings}).fit_folds([fold])
    return result.samples


def same_bytes(a, b):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in ("X", "y", "s", "weight"))


# ----------------------------------------------------------------- crossed with the authors' package

FOLDS, BATCH, NUMERIC, SIZES = 2, 16, 3, [2, 2, 2, 4, 5, 5]
WIDTH = NUMERIC + sum(SIZES)
LABEL_AT, GROUP_AT = NUMERIC + 1, NUMERIC + 2


@pytest.fixture
def authors():
    return pytest.importorskip("tabfairgan.modules")


@pytest.fixture
def made():
    """The same weights, batches and noise for both sides."""
    stream = torch.Generator().manual_seed(7)

    def normal(*shape):
        return torch.empty(FOLDS, *shape).normal_(generator=stream)

    def uniform(*shape):
        return torch.empty(FOLDS, *shape).uniform_(generator=stream)

    return SimpleNamespace(
        critic=normal(2, WIDTH, WIDTH + 1) * 0.4,
        generator=normal(2, WIDTH, WIDTH + 1) * 0.4,
        fake=uniform(BATCH, WIDTH),
        real=uniform(BATCH, WIDTH),
        share=uniform(BATCH, WIDTH),
        noise=normal(BATCH, WIDTH),
        gumbel=wgan.to_gumbel(uniform(BATCH, sum(SIZES))),
    )


def their_critic(authors, layers):
    critic = authors.Critic(layers.shape[1])
    for dense, layer in zip((critic.dense1, critic.dense2), layers, strict=True):
        set_linear(dense, layer)
    return critic


def set_linear(dense, layer):
    with torch.no_grad():
        dense.weight.copy_(layer[:, :-1])
        dense.bias.copy_(layer[:, -1])


def gradient_of(dense):
    return torch.cat([dense.weight.grad, dense.bias.grad[:, None]], 1)


@pytest.mark.parametrize("fold", range(FOLDS))
def test_critic_loss_and_its_closed_form_gradient_are_the_authors(authors, made, fold):
    critic = their_critic(authors, made.critic[fold])
    fake, real = made.fake[fold], made.real[fold]
    slope = authors.get_gradient(critic, real, fake, made.share[fold].requires_grad_())
    penalty = authors.gradient_penalty(slope)
    loss = authors.get_crit_loss(critic(fake), critic(real), penalty, c_lambda=10)
    loss.backward()

    ours = made.critic, made.fake, made.real, made.share.detach()
    assert penalty.item() > 0.01
    torch.testing.assert_close(wgan.critic_loss(*ours)[fold], loss.detach())
    theirs = torch.stack([gradient_of(critic.dense1), gradient_of(critic.dense2)])
    torch.testing.assert_close(wgan.critic_gradient(*ours)[fold], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("under", [0, 1])
@pytest.mark.parametrize("weight", [0.0, 40.0])
def test_generator_its_losses_and_their_gradient_are_the_authors(authors, made, monkeypatch, weight, under):
    ours = made.generator.clone().requires_grad_()
    fake = wgan.generate(ours, made.noise, made.gumbel, NUMERIC, SIZES)
    columns = LABEL_AT, [GROUP_AT + under] * FOLDS, [GROUP_AT + 1 - under] * FOLDS
    losses = wgan.generator_loss(made.critic, fake, weight, *columns)
    losses.sum().backward()
    for fold in range(FOLDS):
        noise = iter(made.gumbel[fold].split(SIZES, 1))
        monkeypatch.setattr(authors.f, "gumbel_softmax", lambda x, tau, n=noise: ((x + next(n)) / tau).softmax(1))
        names = {str(index): size for index, size in enumerate(SIZES)}
        theirs = authors.Generator(WIDTH, ["number"] * NUMERIC, names)
        heads = [theirs.lin_numerical, *theirs.lin_cat.values()]
        set_linear(theirs.lin1, made.generator[fold, 0])
        for head, layer in zip(heads, made.generator[fold, 1].split([NUMERIC, *SIZES]), strict=True):
            set_linear(head, layer)
        rows, critic = theirs(made.noise[fold]), their_critic(authors, made.critic[fold])
        fair = authors.FairLossFunc(GROUP_AT, NUMERIC, under, 1 - under, 0, 1)
        loss = fair(rows, critic(rows), weight) if weight else authors.get_gen_loss(critic(rows))
        loss.backward()

        torch.testing.assert_close(fake[fold], rows)
        torch.testing.assert_close(losses[fold], loss)
        gradient = torch.stack([gradient_of(theirs.lin1), torch.cat([gradient_of(head) for head in heads])])
        torch.testing.assert_close(ours.grad[fold], gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore:n_quantiles")
def test_numeric_encoding_is_that_of_the_authors():
    utils = pytest.importorskip("tabfairgan.utils")
    rows = made_rows(60)
    table = pd.DataFrame(rows.X, columns=FEATURES).assign(y=rows.y.astype(str), s=rows.s.astype(str))
    encoded, *at = utils.get_ohe_data_fair(table, "s", "y", S_under="0", Y_desire="1")[4:]
    encoder = module.Encoder(rows, TASK, "numeric")
    np.testing.assert_allclose(encoder.encode(rows), encoded, atol=1e-6)
    assert at == [encoder.group_at, encoder.label_at - 1, 0, 1, 0, 1]


def test_adam_is_torchs():
    ours = torch.linspace(-1, 1, 12).reshape(3, 4)
    theirs = ours.clone().requires_grad_()
    adam, reference = wgan.Adam(ours, 0.01), torch.optim.Adam([theirs], lr=0.01, betas=wgan.DECAY)
    for step in range(5):
        theirs.grad = torch.sin(theirs.detach() * (step + 1))
        adam.step(theirs.grad.clone())
        reference.step()
    torch.testing.assert_close(ours, theirs.detach())


# ------------------------------------------------------------------------------------ the encoding


@pytest.mark.parametrize("encoding, width", [("categorical", 1 + 2 + 2 + 2 + 3), ("numeric", 5 + 2 + 2)])
def test_decoding_undoes_encoding(encoding, width):
    rows = made_rows(300)
    encoder = module.Encoder(rows, TASK, encoding)
    encoded = encoder.encode(rows)
    assert encoded.shape == (300, width) == (300, encoder.width)
    assert encoded.min() >= 0 and encoded.max() <= 1
    back, expected = encoder.decode(encoded), rows.merged()
    np.testing.assert_allclose(back.X, expected.X, atol=1e-4)
    for name in ("y", "s", "weight"):
        np.testing.assert_array_equal(getattr(back, name), getattr(expected, name))


def test_features_without_a_group_are_categoricals_of_their_own():
    task = Task("made", "s", "y", FEATURES, {"size": FEATURES[1:4]}, ("height",))
    assert module.Encoder(made_rows(50), task, "categorical").sizes == [2, 2, 2, 3]


@pytest.mark.parametrize("encoding", ["categorical", "numeric"])
def test_constant_columns_stay_constant_or_in_their_levels(encoding):
    fold = changed(made_fold(), x0=1, x4=7.5)
    samples = fit(fold, encoding=encoding)
    assert set(samples.X[:, 4]) == {7.5}
    assert set(samples.X[:, 0]) <= ({1.0} if encoding == "numeric" else {0.0, 1.0})


def test_a_level_seen_only_in_the_test_fold_is_an_ordinary_level():
    fold = made_fold()
    large = fold.train.X[:, 3] == 1
    fold = changed(fold, x3=0, x2=np.where(large, 1, fold.train.X[:, 2]))
    samples = fit(fold)
    assert (samples.X[:, 1:4].sum(1) == 1).all()
    numeric = fit(fold, encoding="numeric")
    assert (numeric.X[:, 3] == 0).all()


# -------------------------------------------------------------------------------- training and seeds


@pytest.mark.parametrize("encoding", ["categorical", "numeric"])
def test_stacked_training_gives_the_bytes_of_training_a_fold_alone(encoding):
    # 174 rows make four batches of 32, 200 rows make five: the folds are stacked in two parts.
    folds = [made_fold(200, 1), made_fold(174, 2), made_fold(201, 3, rates=(0.7, 0.2)), made_fold(175, 4)]
    method = Method(**SHORT, encoding=encoding, fairness_weight=50.0)
    stacked = [result.samples for result in method.fit_folds(folds)]
    for fold, samples in zip(folds, stacked, strict=True):
        assert samples.total == 5 * fold.train.total
        assert same_bytes(samples, fit(fold, encoding=encoding, fairness_weight=50.0))
    assert len({samples.X.tobytes() for samples in stacked}) == len(folds)


@pytest.mark.parametrize("flags", [0, 1, 2, 5, 8, 9, 16, 40])
@pytest.mark.parametrize("batch_size", [16, 20, 48])
def test_stacked_networks_have_the_bits_of_those_trained_alone(flags, batch_size):
    """Samples hide a last bit that differs, weights do not; for narrow and wide rows, even and odd batches."""
    names = tuple(f"flag{index}" for index in range(flags))
    task = Task("made", "s", "y", names, {name: (name,) for name in names})
    settings = Method(epochs=3, fair_epochs=1, batch_size=batch_size, encoding="numeric")

    def fold(seed):
        rows = made_rows(120, seed)
        flags_too = np.random.default_rng(seed).integers(0, 2, (120, flags)).astype(float)
        rows = Rows(flags_too, rows.y, rows.s, rows.weight)
        return Fold(task, 0, rows, rows, None, seed)

    def trained(seeds):
        with module.one_torch_thread():
            members = [module.Member(fold(seed), settings) for seed in seeds]
            for stack in module.stacks(members):
                module.train(settings, stack)
        return [member.generator for member in members]

    together = trained([1, 2, 3])
    assert all(torch.equal(a, b) for seed, a in enumerate(together, 1) for b in trained([seed]))


def test_only_the_seed_of_the_fold_counts():
    fold = made_fold()
    torch.manual_seed(1)
    first = fit(fold)
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert same_bytes(first, fit(fold))
    assert not same_bytes(first, fit(Fold(TASK, 0, fold.train, fold.test, None, seed=99)))


def test_fairness_weight_moves_the_rates_of_the_groups_together(monkeypatch):
    """P(y=1 | s) is .25 and .75: SR stays low without weight, rises with it, and falls for the wrong group."""
    settings = {"epochs": 60, "fair_epochs": 15, "batch_size": 64}
    # Steps 25 times as long as the published ones: what takes minutes there takes a second here.
    for name in ("RATE", "FAIR_RATE"):
        monkeypatch.setitem(Method.fit_folds.__globals__, name, 25 * getattr(module, name))
    task = Task("made", "s", "y", FEATURES[:4], {"flag": FEATURES[:1], "size": FEATURES[1:4]})
    made = made_rows(640, rates=(0.25, 0.75))
    rows = Rows(made.X[:, :4], made.y, made.s, made.weight)
    folds = [Fold(task, number, rows, rows, None, seed=number) for number in (1, 2, 3)]

    def mean_rate(**weight):
        samples = [result.samples for result in Method(**settings, **weight).fit_folds(folds)]
        return np.mean([statistical_rate(rows.y, rows.s, rows.weight, groups=[0, 1]) for rows in samples])

    plain = mean_rate(fairness_weight=0.0)
    assert plain < 0.6
    assert mean_rate(fairness_weight=2.0) > plain + 0.15
    assert mean_rate(fairness_weight=40.0, underprivileged=1) < plain


def test_a_batch_without_one_group_gives_a_finite_loss(made):
    fake = made.fake.clone()
    fake[..., GROUP_AT] = 0
    loss = wgan.generator_loss(made.critic, fake, 2.0, LABEL_AT, [GROUP_AT] * FOLDS, [GROUP_AT + 1] * FOLDS)
    assert torch.isfinite(loss).all()


# ------------------------------------------------------------------------------ errors and manners


def test_fewer_rows_than_a_batch_is_one_sentence():
    assert fit(made_fold(36)).total == 180  # 32 of 36 rows are used: one batch
    with pytest.raises(DataError, match=r"31 rows in fold 0 of made/s, and batch_size is 32"):
        fit(made_fold(35))


@pytest.mark.parametrize("column, name", [("y", "label"), ("s", "sensitive attribute")])
@pytest.mark.parametrize("values", [1, np.arange(200) % 3])
def test_label_and_group_must_be_binary_in_training(column, name, values):
    with pytest.raises(DataError, match=f"{name} of 0 and 1"):
        fit(changed(made_fold(), **{column: values}))


@pytest.mark.parametrize(
    "wrong, word",
    [
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"fair_epochs": -1}, "fair_epochs"),
        ({"epochs": 5, "fair_epochs": 6}, r"fair_epochs must be from 0 to epochs \(5\), not 6"),
        ({"batch_size": 0}, "batch_size"),
        ({"fairness_weight": -0.5}, "fairness_weight"),
        ({"fairness_weight": float("nan")}, "fairness_weight"),
        ({"fairness_weight": float("inf")}, "fairness_weight"),
    ],
)
def test_wrong_settings_are_named(wrong, word):
    with pytest.raises(ConfigError, match=word):
        Method(**wrong)


def test_parameters_are_checked_by_their_types():
    methods.check_parameters(Method, {"encoding": "numeric", "underprivileged": 0, **Method.smoke}, "here")
    for wrong in ({"encoding": "onehot"}, {"underprivileged": 2}, {"epochs": 1.5}, {"lambda": 1.0}):
        with pytest.raises(ConfigError):
            methods.check_parameters(Method, wrong, "here")


def test_training_is_quiet_tells_the_log_and_gives_the_threads_back(capsys, monkeypatch):
    messages = []
    # The logger itself, since the state that earlier tests leave it in is not this test's business.
    log = logging.getLogger("fbde.stage")
    monkeypatch.setattr(log, "info", lambda message, *values: messages.append((message % values).split(",")[0]))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        fit(made_fold(), epochs=20)
        assert torch.get_num_threads() == 2
        assert torch.is_grad_enabled()
    finally:
        torch.set_num_threads(before)
    assert messages == [f"TabFairGAN: epoch {epoch} of 20" for epoch in range(2, 21, 2)]
    assert capsys.readouterr() == ("", "")
