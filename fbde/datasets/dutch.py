"""Dutch Census 2001: does a person hold a prestigious occupation?"""

from fbde.datasets import Dataset, one_hot
from fbde.datasets.sources import RawFile
from fbde.errors import DataError

FILE = RawFile(
    "dutch_census_2001.arff",
    "0e7e3f32668919c239db820f625815e1ea834c71402cdea595e03ef08c8616ef",
    "https://raw.githubusercontent.com/tailequy/fairness_dataset/main/Dutch_census/dutch_census_2001.arff",
)
# Only the codes that occur: the header of the file declares more of them.
CODES = {
    "household_position": "1110 1121 1122 1131 1132 1140 1210 1220",
    "household_size": "111 112 113 114 125 126",
    "citizenship": "1 2 3",
    "country_birth": "1 2 3",
    "edu_level": "0 1 2 3 4 5",
    "economic_status": "111 112 120",
    "cur_eco_activity": "111 122 124 131 132 133 134 135 136 137 138 139",
    "Marital_status": "1 2 3 4",
}
BINARY = ("sex", "age", "prev_residence_place", "occupation")


def prepare(files):
    """Sex, age (code over 7), previous residence and occupation as 0/1, every other attribute one-hot."""
    import pandas as pd

    lines = files[FILE.name].decode("utf-8").splitlines()
    start = next(index for index, line in enumerate(lines) if line.strip().lower() == "@data")
    attributes = [line.split()[1] for line in lines[:start] if line.lower().startswith("@attribute")]
    missing = [name for name in (*BINARY, *CODES) if name not in attributes]
    if missing:
        raise DataError(f"{FILE.name} has no column {missing[0]!r}; its columns are: {', '.join(attributes)}")
    rows = [line.split(",") for line in lines[start + 1 :] if line.strip()]
    raw = pd.DataFrame(rows, columns=attributes)
    binary = pd.DataFrame(
        {
            "sex": raw["sex"] == "1",
            "age": raw["age"].astype(int) > 7,
            "prev_residence_place": raw["prev_residence_place"] == "1",
            "occupation": raw["occupation"] == "2_1",
        }
    ).astype("int8")
    return pd.concat([binary, *(one_hot(raw[name], name) for name in CODES)], axis=1)


DATASET = Dataset(
    title="Dutch Census",
    files=(FILE,),
    prepare=prepare,
    label="occupation",
    label_meaning={0: "low prestige", 1: "high prestige"},
    sensitive={"sex": {0: "female", 1: "male"}, "age": {0: "code up to 7", 1: "code over 7"}},
    groups={name: (name,) for name in BINARY}
    | {name: tuple(f"{name}={code}" for code in codes.split()) for name, codes in CODES.items()},
    licence="public use sample of Statistics Netherlands (IPUMS conditions of use)",
    citation="Van der Laan: The 2001 Census in the Netherlands, 2000",
    paper={"sex": ("dutch", "sex"), "age": ("dutch", "age")},
    integer_probabilities=True,
    rates_from_density=True,
)
