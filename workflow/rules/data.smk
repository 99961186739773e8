checkpoint fetch:
    output:
        f"{RESULTS}/data/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/fetch/{{dataset}}.log",
    conda:
        "../../environment.yml"
    params:
        data_dir=config["data_dir"],
        require_all=config["require_all"],
        smoke=config["smoke"],
        source=dataset_source,
    script:
        "../scripts/fetch.py"


rule prepare:
    input:
        rules.fetch.output,
    output:
        table=f"{RESULTS}/prepared/{{dataset}}.parquet",
        description=f"{RESULTS}/prepared/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/prepare/{{dataset}}.log",
    conda:
        "../../environment.yml"
    params:
        source=dataset_source,
    script:
        "../scripts/prepare.py"


rule split:
    input:
        rules.prepare.output.table,
    output:
        f"{RESULTS}/splits/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/split/{{dataset}}.log",
    conda:
        "../../environment.yml"
    params:
        folds=config["folds"],
        seed=config["split_seed"],
    script:
        "../scripts/split.py"
