"""The weak learner of the first boosting round on one task: what the paper shows to explain a distribution."""

from fbde import datasets
from fbde.config import settings
from fbde.tasks import Task, make_folds

DATASET, SENSITIVE, METHOD = "compas", "race", "M-E-1.0"


def absent(reason):
    """What stands in for the tree when it cannot be grown."""
    return {"dataset": DATASET, "sensitive": SENSITIVE, "method": METHOD, "fold": 0, "absent": reason}


def why_absent(config):
    """Why the configuration does not give the tree, or None if it does."""
    if SENSITIVE not in config["tasks"].get(DATASET, []):
        return f"{DATASET} ({SENSITIVE}) is not in the configuration"
    if METHOD not in config["methods"]:
        return f"method {METHOD} is not in the configuration"
    return None


def first_tree(table, fold_of_row, config):
    """The first tree of M-E-1.0 on COMPAS (race), fold 0, as nested dicts, with the meaning of the 0/1 columns."""
    from fbde.estimator import FBDE

    task = Task.of(DATASET, SENSITIVE)
    (fold,) = make_folds(table, fold_of_row, task, method=METHOD, base_seed=config["seed"], numbers=[0])
    model = FBDE(**{**settings(config, METHOD, DATASET), "n_steps": 1}, random_state=fold.seed)
    model.fit(fold.train.X, fold.train.y, sensitive_features=fold.train.s, support=fold.domain.X)
    names = [*task.features, task.label, task.sensitive]
    tree = model.weak_learners_[0]
    source = datasets.get(DATASET)
    meanings = {task.label: dict(source.label_meaning)} | {name: dict(v) for name, v in source.sensitive.items()}
    return {
        "dataset": DATASET,
        "sensitive": SENSITIVE,
        "method": METHOD,
        "fold": 0,
        "meanings": {name: {str(value): text for value, text in entry.items()} for name, entry in meanings.items()},
        "tree": tree.to_dict(names),
        "text": tree.to_text(names),
    }
