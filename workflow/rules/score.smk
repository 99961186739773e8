rule score:
    input:
        fit=rules.fit.output[0],
        table=rules.prepare.output.table,
        split=rules.split.output[0],
    output:
        f"{RESULTS}/scores/{{dataset}}/{{sensitive}}/{{method}}.parquet",
    params:
        seed=config["seed"],
        source=source_of("fbde.evaluate"),
    log:
        f"{RESULTS}/logs/score/{{dataset}}/{{sensitive}}/{{method}}.log",
    threads: 1
    conda:
        "../../environment.yml"
    script:
        "../scripts/score.py"
