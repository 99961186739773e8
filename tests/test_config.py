"""The configuration: what is right passes with its defaults, what is wrong is named in one sentence."""

from pathlib import Path

import pytest
import yaml

from fbde import config as configuration
from fbde import datasets, methods
from fbde.errors import ConfigError

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text(encoding="utf-8"))


def committed():
    return yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def small(**changes):
    return {"tasks": {"compas": ["sex"]}, "methods": {"data": {}}} | changes


def refusal(**changes):
    with pytest.raises(ConfigError) as error:
        configuration.check(small(**changes), SCHEMA)
    sentence = str(error.value)
    assert "\n" not in sentence
    return sentence


# ------------------------------------------------------------------ what is right


@pytest.mark.parametrize("smoke", [False, True])
def test_the_committed_configuration_passes(smoke):
    checked = configuration.check(committed() | {"smoke": smoke}, SCHEMA)
    assert checked["folds"] == 5 and checked["split_seed"] == 1
    assert all(method["file"] in methods.names() for method in checked["methods"].values())


def test_the_committed_configuration_runs_every_task_of_the_paper_and_both_controls():
    config = configuration.check(committed(), SCHEMA)
    runs = configuration.runs(config)
    tasks = {(name, s) for name in datasets.names() for s in datasets.get(name).sensitive}
    for method in ("data", "shuffled"):
        assert {(dataset, s) for dataset, s, m in runs if m == method} == tasks
    assert len(runs) == len(set(runs))


def test_defaults_are_filled_in_and_the_given_configuration_is_left_alone():
    given = small(methods={"data": None, "mine": {"file": "data"}})
    checked = configuration.check(given, SCHEMA)
    assert given == small(methods={"data": None, "mine": {"file": "data"}})
    assert checked["methods"]["data"]["file"] == checked["methods"]["mine"]["file"] == "data"
    assert checked["results"] == "results" and checked["require_all"] is False
    assert checked["methods"]["data"]["params"] == {} and checked["methods"]["data"]["only"] is None


def test_checking_twice_changes_nothing():
    once = configuration.check(committed(), SCHEMA)
    assert configuration.check(once, SCHEMA) == once


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_true_and_false_may_be_given_as_text(text, value):
    assert configuration.check(small(smoke=text), SCHEMA)["smoke"] is value


def test_a_dataset_has_its_own_parameters_and_a_smoke_run_its_own():
    entry = {"file": "fbde", "params": {"alpha": 0.1, "tau": 0.7}, "per_dataset": {"german": {"alpha": 0.5}}}
    config = configuration.check(small(methods={"mine": entry}), SCHEMA)
    assert configuration.settings(config, "mine", "compas") == {"alpha": 0.1, "tau": 0.7}
    assert configuration.settings(config, "mine", "german") == {"alpha": 0.5, "tau": 0.7}
    assert configuration.settings(config, "mine", "german", {"alpha": 0.9}) == {"alpha": 0.9, "tau": 0.7}


def test_a_method_runs_on_the_datasets_it_is_meant_for_only():
    config = small(tasks={"compas": ["sex", "race"], "german": ["age"]}, methods={"data": {"only": ["german"]}})
    assert configuration.runs(configuration.check(config, SCHEMA)) == [("german", "age", "data")]


def test_every_key_of_the_schema_is_described_and_every_optional_one_has_a_default():
    method = SCHEMA["properties"]["methods"]["additionalProperties"]
    for schema in (SCHEMA, method):
        assert schema["additionalProperties"] is False
        for name, entry in schema["properties"].items():
            assert entry["description"], name
            assert "default" in entry or name in schema["required"], name


# ------------------------------------------------------------------ what is wrong


def test_an_unknown_key_is_named_with_the_nearest_and_all_allowed():
    sentence = refusal(flods=3)
    assert sentence.startswith("config: unknown key 'flods'; did you mean 'folds'? Allowed: results, data_dir")
    assert "methods." in sentence


def test_an_unknown_key_of_a_method_is_named_with_its_place():
    sentence = refusal(methods={"data": {"parms": {}}})
    assert sentence.startswith("config methods/data: unknown key 'parms'; did you mean 'params'? Allowed: file")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            {"paper": "MaxEntt"},
            "method data: unknown column of the paper 'MaxEntt'; did you mean 'MaxEnt'? Allowed: Data",
        ),
        ({"tables": ["runtimes"]}, "method data: unknown table 'runtimes'; did you mean 'runtime'? Allowed: "),
    ],
)
def test_what_is_not_in_print_is_named(entry, words):
    assert refusal(methods={"data": entry}).startswith(words)


def test_a_misspelt_method_parameter_is_named():
    sentence = refusal(methods={"M": {"file": "fbde", "params": {"leverge": "exact"}}})
    assert sentence.startswith("method M: unknown parameter 'leverge'; did you mean 'leverage'? Allowed: leverage, sr0")


def test_a_misspelt_parameter_of_one_dataset_is_named():
    method = {"file": "fbde", "per_dataset": {"compas": {"alhpa": 0.5}}}
    assert refusal(methods={"M": method}).startswith("method M: unknown parameter 'alhpa'; did you mean 'alpha'?")


def test_a_parameter_of_another_type_is_named_with_what_it_must_be():
    sentence = refusal(methods={"M": {"file": "fbde", "params": {"leverage": "exakt"}}})
    assert sentence == "method M: parameter 'leverage' must be 'exact' or 'sound' or 'relative', not 'exakt'"


def test_an_unknown_dataset_is_named():
    sentence = refusal(tasks={"compass": ["sex"]})
    assert sentence.startswith("unknown dataset 'compass'; did you mean 'compas'? Allowed: adult, compas, dutch")


@pytest.mark.parametrize("key", [{"only": ["compass"]}, {"per_dataset": {"compass": {}}}])
def test_an_unknown_dataset_of_a_method_is_named(key):
    assert refusal(methods={"data": key}).startswith("method data: unknown dataset 'compass'; did you mean 'compas'?")


def test_an_unknown_sensitive_attribute_is_named():
    sentence = refusal(tasks={"compas": ["age"]})
    assert sentence == "unknown sensitive attribute of COMPAS 'age'. Allowed: sex, race."


def test_an_unknown_method_file_is_named():
    sentence = refusal(methods={"mine": {"file": "fdbe"}})
    assert sentence.startswith("unknown method file 'fdbe'; did you mean 'fbde'? Allowed: ")
    assert "shuffled" in sentence


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folds": 1}, "config folds: 1 is less than the minimum of 2."),
        ({"smoke": "maybe"}, "config smoke: 'maybe' is not of type 'boolean'."),
        ({"tasks": {}}, "config tasks: {} should be non-empty."),
        ({"tasks": ["compas"]}, "config tasks: ['compas'] is not of type 'object'."),
        ({"tasks": {"compas": "sex"}}, "config tasks/compas: 'sex' is not of type 'array'."),
        ({"methods": ["data"]}, "config methods: ['data'] is not of type 'object'."),
        ({"methods": None}, "config methods: None is not of type 'object'."),
        ({"methods": {"data": "fast"}}, "config methods/data: 'fast' is not of type 'object'."),
        (
            {"methods": {"data": {"time_limit": 0}}},
            "config methods/data/time_limit: 0 is less than or equal to the minimum of 0.",
        ),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_its_place(changes, message):
    assert refusal(**changes) == message


def test_a_method_id_that_could_not_be_a_file_name_is_refused():
    assert "'a/b' does not match" in refusal(methods={"a/b": {"file": "data"}})


def test_a_configuration_without_methods_is_refused():
    with pytest.raises(ConfigError, match="'methods' is a required property"):
        configuration.check({"tasks": {"compas": ["sex"]}}, SCHEMA)
