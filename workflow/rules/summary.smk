rule collect:
    input:
        data=expand(rules.fetch.output, dataset=config["tasks"]),
        scores=all_scores,
    output:
        f"{RESULTS}/scores.parquet",
        f"{RESULTS}/scores.csv",
    params:
        runs=RUNS,
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/collect.py"


rule compare:
    input:
        scores=rules.collect.output[0],
        data=expand(rules.fetch.output, dataset=config["tasks"]),
        paper="published/paper.csv",
        misprints="published/misprints.csv",
    output:
        comparison=f"{RESULTS}/comparison.csv",
        summary=f"{RESULTS}/summary.txt",
    params:
        config={key: config[key] for key in ("tasks", "methods", "smoke")},
        source=source_of("fbde.published"),
    log:
        f"{RESULTS}/logs/compare.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/compare.py"


rule tables:
    input:
        scores=rules.collect.output[0],
        comparison=rules.compare.output.comparison,
        data=expand(rules.fetch.output, dataset=config["tasks"]),
    output:
        directory(f"{RESULTS}/tables"),
    params:
        smoke=config["smoke"],
        source=source_of("fbde.tables"),
    log:
        f"{RESULTS}/logs/tables.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/tables.py"
