rule fit:
    input:
        table=rules.prepare.output.table,
        split=rules.split.output[0],
    output:
        f"{RESULTS}/fits/{{dataset}}/{{sensitive}}/{{method}}.npz",
    params:
        settings=method_settings,
        folds=FOLDS,
        seed=config["seed"],
        source=method_source,
    log:
        f"{RESULTS}/logs/fit/{{dataset}}/{{sensitive}}/{{method}}.log",
    threads: 1
    conda:
        "../../environment.yml"
    script:
        "../scripts/fit.py"
