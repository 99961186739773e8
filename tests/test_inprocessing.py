"""Fair Constraints, Reductions and Fair GLM against independent computations of the same thing."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from fbde import logistic, methods
from fbde.errors import FBDEError, FitFailed
from fbde.logistic import Counted, newton, with_intercept
from fbde.metrics import classifier_rate
from fbde.tasks import Rows


def inside(name):
    """The names defined in a method's file."""
    return methods.load(name).fit_fold.__globals__


def random_rows(number=300, columns=3, groups=2, seed=0):
    """Rows with real features, so that coefficients are unique, and with unequal weights."""
    rng = np.random.default_rng(seed)
    s = rng.integers(groups, size=number)
    X = rng.normal(size=(number, columns)) + 0.5 * s[:, None]
    y = (rng.random(number) < expit(X[:, 0] - 0.5 * X[:, 1] + 0.3 * s)).astype(int)
    return Rows(X, y, s, rng.integers(1, 4, number).astype(float))


def on_train(fold):
    """The fold with its training rows as test rows: what the method does on what it was fitted on."""
    return replace(fold, test=fold.train)


# ------------------------------------------------------------------------------ logistic regression


def test_counted_loss_and_gradient_are_those_of_the_rows(fold):
    data, rows, beta = Counted.of(fold.train), fold.train, np.array([0.3, -1.0, 0.5, 0.2, 0.8])
    sign, eta = np.where(rows.y == 1, 1, -1), with_intercept(rows.X) @ beta
    assert len(data.design) < len(rows.X)
    assert data.loss(beta) == pytest.approx(np.mean(np.log1p(np.exp(-sign * eta))))
    by_difference = [(data.loss(beta + step) - data.loss(beta - step)) / 2e-6 for step in 1e-6 * np.eye(5)]
    assert data.gradient(beta) == pytest.approx(np.array(by_difference), abs=1e-8)


def test_newton_finds_what_a_general_minimiser_finds():
    data, penalty = Counted.of(random_rows()), np.diag([0, 0.1, 0.2, 0.3])
    found = minimize(lambda b: data.loss(b) + b @ penalty @ b / 2, np.zeros(4), tol=1e-10)
    assert newton(data, penalty) == pytest.approx(found.x, abs=1e-5)


def test_newton_copes_with_one_hot_columns_and_says_when_it_fails(fold, monkeypatch):
    data = Counted.of(fold.train)
    assert np.linalg.matrix_rank(data.design) < data.design.shape[1]
    assert np.abs(data.gradient(newton(data))).max() < 1e-8
    monkeypatch.setattr(logistic, "STEPS", 1)
    with pytest.raises(FitFailed, match="after 1 Newton steps"):
        newton(data)


def test_the_rule_takes_the_first_that_reaches_tau_or_else_the_last():
    rows = Rows(np.zeros((2, 1)), np.array([0, 1]), np.array([0, 1]), np.ones(2))

    def choose(tau):
        return logistic.first_reaching(tau, [0.5, 0.8, 0.9], rows, lambda rate: np.array([rate, 1.0]))

    assert [choose(0.4), choose(0.75), choose(0.8), choose(0.95)] == [0.5, 0.8, 0.8, 0.9]


# --------------------------------------------------------------------------------- Fair Constraints


def newton_kkt(data, a, bound):
    """min loss subject to aᵀβ = bound, by Newton steps on β and the multiplier together."""
    size = data.design.shape[1]
    beta, multiplier = np.zeros(size), 0.0
    for _ in range(50):
        system = np.block([[data.hessian(beta), a[:, None]], [a[None], np.zeros((1, 1))]])
        residual = np.append(data.gradient(beta) + multiplier * a, a @ beta - bound)
        step = np.linalg.solve(system, residual)
        beta, multiplier = beta - step[:size], multiplier - step[size]
    assert np.abs(residual).max() < 1e-12
    return beta


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_fair_constraints_agrees_with_an_independent_newton_solution(share):
    module, rows = inside("fairconstraints"), random_rows()
    data, A = Counted.of(rows), module["covariance"](rows)
    free = A @ newton(data)
    found = module["solve"](data, A, share * np.abs(free).max())
    assert found == pytest.approx(newton_kkt(data, A[0], share * free[0]), abs=1e-5)


def test_covariance_is_that_of_the_repeated_rows():
    rows, beta = random_rows(), np.array([2.0, 1.0, -1.0, 0.5])
    times = rows.weight.astype(int)
    score = np.repeat(with_intercept(rows.X) @ beta, times)
    expected = np.cov(np.repeat(rows.s == 0, times), score, bias=True)[0, 1]
    assert inside("fairconstraints")["covariance"](rows) @ beta == pytest.approx([expected])


def test_optimality_error_tells_a_solution_from_what_is_near_it():
    module, rows = inside("fairconstraints"), random_rows(groups=3)
    data, A = Counted.of(rows), module["covariance"](rows)
    c = 0.5 * np.abs(A @ newton(data)).max()
    beta, error = module["solve"](data, A, c), module["optimality_error"]
    assert A.shape[0] == 2
    assert error(data, A, c, beta) < 1e-5
    assert error(data, A, c, beta + 1e-2) > 1e-4
    assert error(data, A, 2 * c, beta) > 1e-4  # a bound that is not reached has no multiplier
    assert error(data, A, c / 2, beta) == pytest.approx(c / 2, rel=1e-3)


def test_fair_constraints_bound_is_kept_and_its_rule_reaches_tau(folds):
    cls = methods.load("fairconstraints")
    free, half, none = (cls(share=share).fit_fold(on_train(folds[0])) for share in (1.0, 0.5, 0.0))
    s = folds[0].train.s == 0

    def covariance(found):
        return np.cov(s, np.log(found.probability / (1 - found.probability)), bias=True)[0, 1]

    assert covariance(half) == pytest.approx(covariance(free) / 2, rel=1e-4)
    assert abs(covariance(none)) < 1e-6
    chosen = cls(share=None, tau=0.9).fit_fold(on_train(folds[0]))
    rates = [classifier_rate(found.probability, folds[0].train.s) for found in (free, chosen, none)]
    assert rates[0] < 0.9 <= rates[1] < rates[2]


def test_a_fair_constraints_solver_that_fails_says_so(fold, monkeypatch):
    import cvxpy

    module = inside("fairconstraints")
    data, A = Counted.of(fold.train), module["covariance"](fold.train)
    with pytest.raises(FitFailed, match="infeasible"):
        module["solve"](data, A, -1.0)
    monkeypatch.setitem(module, "optimality_error", lambda *_: 0.5)
    with pytest.raises(FitFailed, match=r"optimality error 5\.0e-01"):
        module["solve"](data, A, 0.0)

    def broken(self, **_):
        raise cvxpy.SolverError("no solution")

    monkeypatch.setattr(cvxpy.Problem, "solve", broken)
    with pytest.raises(FitFailed, match="no solution"):
        module["solve"](data, A, 0.0)


# ----------------------------------------------------------------------------------------- Fair GLM


@pytest.mark.parametrize("groups", [2, 3])
def test_fair_glm_penalty_is_the_mean_over_all_pairs(groups):
    rows = random_rows(40, 2, groups)
    design, times = with_intercept(rows.X), rows.weight.astype(int)
    design, y, s = (np.repeat(part, times, axis=0) for part in (design, rows.y, rows.s))
    total, terms = 0, 0
    for label, first, second in product((0, 1), range(groups), range(groups)):
        if first < second:
            pairs = product(design[(y == label) & (s == first)], design[(y == label) & (s == second)])
            total = total + np.mean([np.outer(x - z, x - z) for x, z in pairs], axis=0)
            terms += 1
    assert terms == 2 * groups * (groups - 1) / 2
    assert inside("fairglm")["pairwise_differences"](rows) == pytest.approx(total / terms, abs=1e-12)


def test_published_fair_glm_is_a_hundred_unit_gradient_steps(fold):
    found = methods.load("fairglm")(penalty=0, solver="gradient").fit_fold(fold)
    design, y, beta = with_intercept(fold.train.X), fold.train.y, np.zeros(5)
    for _ in range(100):
        beta -= design.T @ (expit(design @ beta) - y) / len(y)
    assert found.probability == pytest.approx(expit(with_intercept(fold.test.X) @ beta), abs=1e-12)
    converged = methods.load("fairglm")(penalty=0).fit_fold(fold)
    assert np.abs(found.probability - converged.probability).max() > 1e-3


def test_fair_glm_takes_the_smallest_penalty_that_reaches_tau(fold):
    cls, grid = methods.load("fairglm"), inside("fairglm")["PENALTIES"]

    def rate(**parameters):
        return classifier_rate(cls(**parameters).fit_fold(on_train(fold)).probability, fold.train.s)

    rates = np.array([rate(penalty=float(penalty)) for penalty in grid])
    assert rate(penalty=0) < 0.9
    assert (np.diff(rates) > 0).all()
    assert rates[-1] == pytest.approx(1, abs=1e-3)
    assert rate(tau=0.9) == pytest.approx(rates[rates >= 0.9][0])


def test_fair_glm_refuses_an_empty_label_of_a_group(fold):
    kept = (fold.train.y == 0) | (fold.train.s == 0)
    train = Rows(*(getattr(fold.train, name)[kept] for name in ("X", "y", "s", "weight")))
    with pytest.raises(FitFailed, match="label 1 and group 1"):
        methods.load("fairglm")().fit_fold(replace(fold, train=train))


# --------------------------------------------------------------------------------------- Reductions


def test_grid_search_is_fairlearns_with_plain_logistic_regression(fold):
    from fairlearn.reductions import DemographicParity, GridSearch
    from sklearn.linear_model import LogisticRegression

    learner = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    search = GridSearch(learner, DemographicParity(difference_bound=0), grid_size=8, constraint_weight=0.5)
    search.fit(fold.train.X, fold.train.y, sensitive_features=fold.train.s)
    found = methods.load("reductions")(grid_size=8, constraint_weight=0.5).fit_fold(fold)
    assert found.probability == pytest.approx(search.predict_proba(fold.test.X)[:, 1], abs=1e-4)
    assert (found.decision == (found.probability > 0.5)).all()


def test_a_grid_search_that_chooses_a_constant_gives_a_constant(fold):
    constant = replace(fold, train=replace(fold.train, y=np.ones_like(fold.train.y)))
    found = methods.load("reductions")(grid_size=3).fit_fold(constant)
    assert (found.decision == 1).all()
    assert (found.probability == 1).all()


def test_exponentiated_gradient_gives_the_probability_of_its_random_decision(fold):
    method = methods.load("reductions")(search="gradient", difference_bound=0.01)
    found, trained = method.fit_fold(fold), method.fit_fold(on_train(fold))
    assert set(np.unique(found.decision)) <= {0, 1}
    never, always = found.probability == 0, found.probability == 1
    assert (found.decision[never] == 0).all()
    assert (found.decision[always] == 1).all()
    by_group = [trained.probability[fold.train.s == group].mean() for group in (0, 1)]
    # fairlearn allows the bound of .01 to either side of the mean, and its solver's eps of .01.
    assert abs(by_group[0] - by_group[1]) <= 0.04
    plain = methods.load("fairglm")(penalty=0).fit_fold(on_train(fold))
    free = [plain.decision[fold.train.s == group].mean() for group in (0, 1)]
    assert abs(free[0] - free[1]) > 0.1


def test_an_exponentiated_gradient_that_does_not_converge_says_so(fold, monkeypatch):
    from fairlearn.reductions import ExponentiatedGradient

    fit = ExponentiatedGradient.fit

    def stuck(self, *arguments, **options):
        fit(self, *arguments, **options).best_gap_ = 1.0
        return self

    monkeypatch.setattr(ExponentiatedGradient, "fit", stuck)
    with pytest.raises(FitFailed, match=r"duality gap is 1\.0000"):
        methods.load("reductions")(search="gradient").fit_fold(fold)


def test_reductions_refuses_weights_that_are_no_counts(fold):
    train = replace(fold.train, weight=fold.train.weight * 1.5)
    with pytest.raises(FBDEError, match="fairlearn takes no sample weights"):
        methods.load("reductions")().fit_fold(replace(fold, train=train))
