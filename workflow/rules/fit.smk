rule fit:
    input:
        table=rules.prepare.output.table,
        split=rules.split.output[0],
    output:
        f"{RESULTS}/fits/{{dataset}}/{{sensitive}}/{{method}}.npz",
    log:
        f"{RESULTS}/logs/fit/{{dataset}}/{{sensitive}}/{{method}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=method_settings,
        folds=FOLDS,
        seed=config["seed"],
        source=method_source,
    script:
        "../scripts/fit.py"
