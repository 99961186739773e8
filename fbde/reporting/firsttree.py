"""The weak learner of the first boosting round: what the paper shows to explain a distribution.

COMPAS (race) is the paper's. There Q_0 keeps the data's x | y, s, so only y and s tell real from fake; German (sex)
starts from a mixture with the uniform distribution and has more to learn.
"""

from fbde import datasets
from fbde.config import settings
from fbde.tasks import Task, make_folds

SENSITIVE = {"compas": "race", "german": "sex"}
METHOD = "M-E-1.0"


def why_absent(dataset, config):
    """Why the configuration does not give the tree, or None if it does."""
    if SENSITIVE[dataset] not in config["tasks"].get(dataset, []):
        return f"{dataset} ({SENSITIVE[dataset]}) is not in the configuration"
    if METHOD not in config["methods"]:
        return f"method {METHOD} is not in the configuration"
    return None


def first_tree(dataset, table, fold_of_row, config):
    """The first tree of M-E-1.0 in fold 0, as nested dicts, with the meaning of the 0/1 columns."""
    from fbde.estimator import FBDE

    task = Task.of(dataset, SENSITIVE[dataset])
    (fold,) = make_folds(table, fold_of_row, task, method=METHOD, base_seed=config["seed"], numbers=[0])
    model = FBDE(**{**settings(config, METHOD, dataset), "n_steps": 1}, random_state=fold.seed)
    model.fit(fold.train.X, fold.train.y, sensitive_features=fold.train.s, support=fold.domain.X)
    names = [*task.features, task.label, task.sensitive]
    tree = model.weak_learners_[0]
    source = datasets.get(dataset)
    meanings = {task.label: dict(source.label_meaning)} | {name: dict(v) for name, v in source.sensitive.items()}
    return {
        "dataset": dataset,
        "sensitive": task.sensitive,
        "method": METHOD,
        "fold": 0,
        "meanings": {name: {str(value): text for value, text in entry.items()} for name, entry in meanings.items()},
        "tree": tree.to_dict(names),
        "text": tree.to_text(names),
    }


def prune(node, tolerance=1e-6):
    """The tree without questions that tell nothing: those with the same P(real), whatever the answers."""
    if "feature" not in node:
        return node
    sides = {side: prune(node[side], tolerance) for side in ("yes", "no")}
    same = abs(sides["yes"]["real"] - sides["no"]["real"]) <= tolerance
    if same and not any("feature" in side for side in sides.values()):
        return {key: node[key] for key in ("real", "c", "weight")}
    return node | sides


def questions(node, levels=None):
    """The columns that are asked for, from the root down; in the first ``levels`` levels only if given."""
    if "feature" in node and levels != 0:
        yield node["feature"]
        for side in ("yes", "no"):
            yield from questions(node[side], None if levels is None else levels - 1)
