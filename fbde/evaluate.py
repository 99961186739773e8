"""From a fitted method and a test fold to metric rows (metric, variant, value, step).

Samplers are judged as published on 5·n rows drawn from them, where n is the size of the training
fold. Rows are merged with counts before anything is trained on them: a tree or K-means with
weights gives what it gives on repeated rows, in a fraction of the time.
"""

from functools import partial

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fbde import datasets
from fbde.domain import Domain
from fbde.methods import Centres, Distribution, Predictions
from fbde.metrics import (
    FLOOR,
    accuracy,
    classifier_rate,
    cluster_distance,
    cluster_representation,
    cluster_statistical_rate,
    equal_opportunity,
    kl_divergence,
    rates_of_marginal,
    representation_rate,
    statistical_rate,
)
from fbde.tasks import Rows

SAMPLES_PER_ROW = 5
CLUSTERS = 4
BINS = 20
UNMOVED = 2e-6  # L1 distance below which two distributions are taken for the same


def score(result, fold):
    """All metric rows of one fold: a list of dicts with metric, variant, value and step (None: the final one)."""
    scorers = {Distribution: score_distribution, Predictions: score_predictions, Centres: score_centres}
    # The problems are small: threads cost more than they give.
    with threadpool_limits(1):
        return [
            {"metric": metric, "variant": variant, "value": value, "step": step}
            for metric, variant, value, step in scorers[type(result)](result, fold)
        ]


def score_distribution(result, fold):
    """A sampler: data, prediction and clustering metrics, and those of each boosting step."""
    samples = result.samples
    if samples is None:
        samples = draw(result.density, fold.domain, SAMPLES_PER_ROW * fold.train.total, fold.rng)
    RR, SR = _published_rates(result, samples, fold)
    yield "RR", "published", RR, None
    yield "SR", "published", SR, None
    yield "KL", "published", _published_kl(result, samples, fold), None
    if result.density is not None or result.marginal is not None:
        RR, SR = exact_rates(result, fold)
        yield "RR", "exact", RR, None
        yield "SR", "exact", SR, None
    if result.density is not None:
        yield "KL", "exact", kl_divergence(fold.test_distribution, result.density), None
    if fold.domain is None:
        yield "KL", "corrected", binned_kl(fold.test, samples), None
    if result.log_likelihood is not None:
        yield "log_likelihood", "exact", float(result.log_likelihood), None

    samples = samples.merged() if fold.domain else samples
    for metric, variant, value in _tree_metrics(samples, fold):
        yield metric, variant, value, None
    if result.density is not None and result.marginal is None:
        for metric, value in _exact_tree_metrics(result.density, fold).items():
            yield metric, "exact", value, None
    for metric, variant, value in _kmeans_metrics(samples, fold):
        yield metric, variant, value, None
    yield from _step_metrics(result, fold)


def score_predictions(result, fold):
    """A classifier: prediction metrics. One that only decides has no soft variants, and says so by leaving them out."""
    for metric, variant, value in prediction_metrics(result.decision, result.probability, fold):
        yield metric, variant, value, None


def score_centres(result, fold):
    """A clusterer: its centres, on the test rows scaled as published and on one common scale."""
    for metric, variant, value in _cluster_metrics(result, fold):
        yield metric, variant, value, None


def draw(density, domain, number, rng):
    """Draw ``number`` rows from a density on the cells: counts of the cells that were hit."""
    p = np.ravel(density)
    counts = rng.multinomial(int(number), p / p.sum())
    X, y, s = domain.cells()
    hit = counts > 0
    return Rows(X[hit], y[hit], s[hit], counts[hit].astype(float))


def exact_rates(result, fold):
    """(RR, SR) from the density or the marginal itself."""
    marginal = result.density.sum(axis=0) if result.marginal is None else result.marginal
    labels = np.unique(fold.train.y) if fold.domain is None else fold.domain.labels
    return rates_of_marginal(marginal, positive=int(np.searchsorted(labels, 1)))


def _published_rates(result, samples, fold):
    """(RR, SR) of the samples, or of the density where the paper must have taken them from it."""
    if result.samples is None and datasets.get(fold.task.dataset).rates_from_density:
        return exact_rates(result, fold)
    RR = representation_rate(samples.s, samples.weight, groups=fold.groups)
    return RR, statistical_rate(samples.y, samples.s, samples.weight, groups=fold.groups)


def _published_kl(result, samples, fold):
    """From the density where the paper did so; else from the sample frequencies, raised by a floor."""
    if fold.domain is None:
        return marginal_kl(fold.test, samples)
    if result.density is not None and not result.kl_from_samples:
        return kl_divergence(fold.test_distribution, result.density)
    Q = fold.domain.count(samples.X, samples.y, samples.s, samples.weight, outside="drop") / samples.total
    return kl_divergence(fold.test_distribution, Q + FLOOR)


def marginal_kl(test, samples):
    """KL of the tables over (y, s) alone, which is what the paper prints for Minneapolis (docs/findings.md)."""
    domain = Domain(np.zeros((1, 1)), np.unique(test.y), np.unique(test.s))
    P, Q = (domain.count(np.zeros((len(rows.y), 1)), rows.y, rows.s, rows.weight) for rows in (test, samples))
    return kl_divergence(P / P.sum(), Q / Q.sum() + FLOOR)


def binned_kl(test, samples):
    """KL of histograms over (x, y, s); the edges of the continuous columns come from the samples, as described."""
    edges = [np.linspace(column.min(), column.max(), BINS + 1) for column in samples.X.T]
    edges += [np.append(values - 0.5, values[-1] + 0.5) for values in (np.unique(test.y), np.unique(test.s))]

    def histogram(rows):
        table = np.column_stack([rows.X, rows.y, rows.s])
        counts, _ = np.histogramdd(table, edges, weights=rows.weight)
        return counts / counts.sum() + FLOOR

    return kl_divergence(histogram(test), histogram(samples))


# ---------------------------------------------------------------------------------- prediction


def fit_tree(rows, seed):
    """The paper's classifier: a decision tree of depth 32 on (x, s)."""
    tree = DecisionTreeClassifier(max_depth=32, random_state=seed)
    kept = rows.weight > 0
    inputs = np.column_stack([rows.X, rows.s])
    return tree.fit(inputs[kept], rows.y[kept], sample_weight=rows.weight[kept])


def _tree_metrics(rows, fold):
    tree = fit_tree(rows, fold.seed)
    inputs = np.column_stack([fold.test.X, fold.test.s])
    positive = np.flatnonzero(tree.classes_ == 1)
    probability = tree.predict_proba(inputs)[:, positive].sum(axis=1)
    return prediction_metrics(tree.predict(inputs), probability, fold)


def _exact_tree_metrics(density, fold):
    """The tree trained on the cells with their probabilities as weights: no sampling noise."""
    X, y, s = fold.domain.cells()
    rows = {row[:2]: row[2] for row in _tree_metrics(Rows(X, y, s, np.ravel(density)), fold)}
    return {"SR_c": rows["SR_c", "corrected"], "EO": rows["EO", "published"], "Acc": rows["Acc", "published"]}


def prediction_metrics(decision, probability, fold):
    """SR_c, EO (soft and hard) and Acc on the test rows."""
    test, groups = fold.test, fold.groups
    rate = partial(classifier_rate, s=test.s, weight=test.weight, groups=groups)
    opportunity = partial(equal_opportunity, y=test.y, s=test.s, weight=test.weight, groups=groups)
    hard = np.asarray(decision) == 1
    rows = [("SR_c", "hard", rate(hard)), ("EO", "hard", opportunity(hard))]
    rows.append(("Acc", "published", accuracy(decision, test.y, test.weight)))
    if probability is not None:
        integer = datasets.get(fold.task.dataset).integer_probabilities
        stored = np.floor(probability) if integer else probability
        rows += [("SR_c", "published", rate(stored)), ("SR_c", "corrected", rate(probability))]
        rows.append(("EO", "published", opportunity(probability)))
    return rows


# ---------------------------------------------------------------------------------- clustering


def _points(rows):
    return np.column_stack([rows.X, rows.y]).astype(float)


def norms(rows):
    """L2 norm of each column of (x, y), with 1 for a column of zeros."""
    norm = np.sqrt(np.average(_points(rows) ** 2, axis=0, weights=rows.weight) * rows.total)
    return np.where(norm > 0, norm, 1.0)


def _kmeans(rows, scale, seed):
    kmeans = KMeans(CLUSTERS, n_init=10, random_state=seed)
    return kmeans.fit(_points(rows) / scale, sample_weight=rows.weight).cluster_centers_


def _kmeans_metrics(rows, fold):
    """K-means fitted on the samples: on columns scaled as published, and in units of the training fold."""
    scale = norms(rows)
    published = Centres(_kmeans(rows, scale, fold.seed), scale)
    unit = common_scale(fold)
    corrected = Centres(_kmeans(rows, unit, fold.seed), unit)
    yield from _assigned(published.centres, norms(fold.test), fold, "published", "nan")
    yield from _assigned(corrected.centres, unit, fold, "corrected", "skip")


def common_scale(fold):
    """Root mean square of each column of the training fold: one unit for every method and number of rows."""
    return norms(fold.train) / np.sqrt(fold.train.total)


def _cluster_metrics(result, fold):
    yield from _assigned(result.centres, norms(fold.test), fold, "published", "nan")
    unit = common_scale(fold)
    yield from _assigned(result.centres * result.scale / unit, unit, fold, "corrected", "skip")


def _assigned(centres, scale, fold, variant, empty):
    test, points = fold.test, _points(fold.test) / scale
    cluster = pairwise_distances_argmin(points, centres)
    k = len(centres)
    yield "cPR", variant, cluster_representation(cluster, test.s, test.weight, k=k, empty=empty)
    yield "cSR", variant, cluster_statistical_rate(cluster, test.y, test.s, test.weight, k=k, empty=empty)
    yield "dist", variant, cluster_distance(points, centres, test.weight)


# ------------------------------------------------------------------------------ boosting steps


def _step_metrics(result, fold):
    """Exact RR, SR, KL and SR_c after each boosting step, and the method's own trace."""
    for name, values in result.trace.items():
        for step, value in enumerate(values):
            yield name, "exact", float(value), step
    before, SR_c = None, float("nan")
    for step, density in enumerate(() if result.steps is None else result.steps):
        rates = exact_rates(Distribution(density=density), fold)
        yield "RR", "exact", rates[0], step
        yield "SR", "exact", rates[1], step
        yield "KL", "exact", kl_divergence(fold.test_distribution, density), step
        # The leverages vanish quickly: most late steps leave the distribution as it was.
        if before is None or np.abs(density - before).sum() > UNMOVED:
            before, SR_c = density, _exact_tree_metrics(density, fold)["SR_c"]
        yield "SR_c", "exact", SR_c, step
