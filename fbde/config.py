"""The configuration: checked against its schema and against the methods it names."""

from copy import deepcopy

from fbde import datasets, methods
from fbde.errors import ConfigError, unknown
from fbde.published import paper


def check(config, schema):
    """Fill in defaults and refuse anything unknown, in one sentence that names it.

    Returns a new configuration in which every method has ``file``, ``params``, ``per_dataset``.
    """
    import jsonschema

    config = deepcopy(dict(config))
    _fill(config, schema)
    for name, entry in schema["properties"].items():
        # snakemake --config passes "true" on as a text.
        if entry.get("type") == "boolean" and str(config[name]).lower() in ("true", "false"):
            config[name] = str(config[name]).lower() == "true"
    methods_given = config.get("methods")
    for name, method in methods_given.items() if isinstance(methods_given, dict) else ():
        methods_given[name] = {} if method is None else method
        if isinstance(methods_given[name], dict):
            _fill(methods_given[name], schema["properties"]["methods"]["additionalProperties"])
    errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(config), key=lambda e: [*map(str, e.path)])
    if errors:
        raise ConfigError(_sentence(errors[0]))
    for dataset, attributes in config["tasks"].items():
        for sensitive in attributes:
            datasets.get(dataset).features(sensitive)
    if config["smoke"]:
        config["tasks"] = {dataset: attributes[:1] for dataset, attributes in config["tasks"].items()}
    cells = paper()
    columns, tables = list(cells["method"].unique()), list(cells["table"].unique())
    for name, method in config["methods"].items():
        method["file"] = method["file"] or name
        for dataset in [*(method["only"] or []), *method["per_dataset"]]:
            if dataset not in datasets.names():
                raise ConfigError(f"method {name}: {unknown('dataset', dataset, datasets.names())}")
        if method["paper"] is not None and method["paper"] not in columns:
            raise ConfigError(f"method {name}: {unknown('column of the paper', method['paper'], columns)}")
        for table in method["tables"] or []:
            if table not in tables:
                raise ConfigError(f"method {name}: {unknown('table', table, tables)}")
        found = methods.load(method["file"])
        for dataset in config["tasks"]:
            given = settings(config, name, dataset, smoke=found.smoke if config["smoke"] else {})
            methods.check_parameters(found, given, f"method {name}")
    return config


def settings(config, method, dataset, smoke=()):
    """The parameters of a method on a dataset: general ones, then the dataset's, then those of a smoke run."""
    entry = config["methods"][method]
    return {**entry["params"], **entry["per_dataset"].get(dataset, {}), **dict(smoke)}


def runs(config):
    """Every (dataset, sensitive, method) the configuration asks for."""
    return [
        (dataset, sensitive, method)
        for dataset, attributes in config["tasks"].items()
        for sensitive in attributes
        for method, entry in config["methods"].items()
        if dataset in (entry["only"] or [dataset])
    ]


def _fill(values, schema):
    for name, entry in schema["properties"].items():
        if "default" in entry:
            values.setdefault(name, deepcopy(entry["default"]))


def _sentence(error):
    where = "/".join(map(str, error.path))
    prefix = f"config {where}: " if where else "config: "
    if error.validator == "additionalProperties":
        extra = next(name for name in error.instance if name not in error.schema.get("properties", {}))
        return prefix + unknown("key", extra, error.schema["properties"])
    return prefix + error.message + "."
