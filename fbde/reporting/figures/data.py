"""What figures need from the scores: means and spreads over folds, final or by step, and why something is not there."""

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from fbde.files import read_json
from fbde.published import missing_sentence, paper_tasks
from fbde.reporting.tables import dataset_title

CONFIGURATIONS = ["M-E-1.0", "M-E-0.9", "M-R-1.0", "M-R-0.9"]


@dataclass
class Results:
    """One run of the workflow: everything the figures and the report draw on."""

    scores: pd.DataFrame
    comparison: pd.DataFrame
    config: dict
    missing: list = field(default_factory=list)
    trees: dict = field(default_factory=dict)
    smoke: bool = False

    def __post_init__(self):
        scores = self.scores = self.scores.reset_index(drop=True)
        self.steps = scores[scores["step"].notna() & (scores["status"] == "done")]
        self.final = scores[scores["step"].isna() & (scores["status"] == "done")]
        self.of_paper = paper_tasks(self.config["tasks"])
        self._values = {
            key: group.set_index("fold")["value"].astype(float)
            for key, group in self.final.groupby(["dataset", "sensitive", "method", "metric", "variant"], observed=True)
        }
        grouped = self.steps.groupby(["dataset", "sensitive", "method", "metric"], observed=True)
        self._step_rows = {key: self.steps.index[rows] for key, rows in grouped.indices.items()}

    @classmethod
    def read(cls, scores, comparison, config, *, data=(), trees=()):
        """From the files of the workflow's stages; ``data`` are the reports of the datasets, ``trees`` first trees."""
        return cls(
            pd.read_parquet(scores),
            pd.read_csv(comparison),
            config,
            [entry for entry in map(read_json, data) if entry["status"] == "missing"],
            {entry["dataset"]: entry for entry in map(read_json, trees)},
            config["smoke"],
        )

    @classmethod
    def of_folder(cls, folder):
        """From a folder that the workflow has filled; its ``provenance.json`` knows the configuration."""
        folder = Path(folder)
        config = read_json(folder / "provenance.json")["configuration"]
        paths = folder / "scores.parquet", folder / "comparison.csv"
        data, trees = (sorted(folder.glob(f"{part}/*.json")) for part in ("data", "trees"))
        return cls.read(*paths, config, data=data, trees=trees)

    @property
    def tasks(self):
        """(dataset, sensitive) of the configuration, in its order."""
        return [(dataset, name) for dataset, names in self.config["tasks"].items() for name in names]

    def discrete_tasks(self, datasets):
        return [(dataset, name) for dataset in datasets for name in self.config["tasks"].get(dataset, [])]

    def method_for(self, label, dataset):
        """The id that supplies a column of the paper outside of tables that have their own."""
        methods = self.config["methods"]
        fits = [
            name
            for name, entry in methods.items()
            if entry.get("paper") == label and not entry.get("tables") and dataset in (entry.get("only") or [dataset])
        ]
        return fits[0] if fits else None

    def folds(self, task, method, metric, variant="published"):
        """Fold values of the final step; empty if there are none."""
        return self._values.get((*task, method, metric, variant), pd.Series(dtype=float))

    def mean(self, task, method, metric, variant="published"):
        """The mean over the folds, or None."""
        values = self.folds(task, method, metric, variant)
        return float(values.mean()) if len(values) else None

    def by_step(self, task, method, metric):
        """Steps × folds; empty if there are none."""
        rows = self._step_rows.get((*task, method, metric))
        if rows is None:
            return pd.DataFrame(dtype=float)
        found = self.steps.loc[rows].drop_duplicates(["step", "fold"])
        return found.pivot(index="step", columns="fold", values="value").astype(float)

    @property
    def timed(self):
        """Ids of the methods that were timed somewhere."""
        return {key[2] for key in self._values if key[3] == "time"}

    def methods_with(self, *metrics):
        """Ids that have all of these metrics somewhere, in the order of the configuration."""
        having = [{key[2] for key in self._values if key[3] == metric} for metric in metrics]
        return [name for name in self.config["methods"] if all(name in names for names in having)]

    def general(self, methods):
        """Those ids that are not bound to single tables of the paper."""
        return [name for name in methods if not self.config["methods"][name].get("tables")]

    def why_absent(self, datasets):
        """A sentence on why nothing of these datasets is there."""
        asked = [dataset for dataset in datasets if dataset in self.config["tasks"]]
        if not asked:
            return f"{', '.join(map(dataset_title, datasets))}: not in the configuration"
        said = [missing_sentence(entry).splitlines()[0] for entry in self.missing if entry["dataset"] in asked]
        if said:
            return "\n".join(said)
        rows = self.scores[self.scores["dataset"].isin(asked) & (self.scores["status"] == "not applicable")]
        reasons = list(dict.fromkeys(rows["reason"].dropna()))
        return "; ".join(reasons) or "no run of it is among the results"
