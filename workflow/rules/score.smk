rule score:
    input:
        fit=rules.fit.output[0],
        table=rules.prepare.output.table,
        split=rules.split.output[0],
    output:
        f"{RESULTS}/scores/{{dataset}}/{{sensitive}}/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/score/{{dataset}}/{{sensitive}}/{{method}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        seed=config["seed"],
        source=source_of("fbde.evaluate"),
    script:
        "../scripts/score.py"
