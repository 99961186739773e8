rule collect:
    input:
        data=expand(rules.fetch.output, dataset=config["tasks"]),
        scores=all_scores,
    output:
        f"{RESULTS}/scores.parquet",
        f"{RESULTS}/scores.csv",
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../../environment.yml"
    params:
        runs=RUNS,
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
    log:
        f"{RESULTS}/logs/compare.log",
    conda:
        "../../environment.yml"
    params:
        config={key: config[key] for key in ("tasks", "methods", "smoke")},
        source=source_of("fbde.published"),
    script:
        "../scripts/compare.py"


rule tables:
    input:
        scores=rules.collect.output[0],
        comparison=rules.compare.output.comparison,
        data=expand(rules.fetch.output, dataset=config["tasks"]),
    output:
        report(
            directory(f"{RESULTS}/tables"),
            patterns=["{name}.html"],
            caption="../report/tables.rst",
            category="Tables",
            labels={"table": "{name}"},
        ),
    log:
        f"{RESULTS}/logs/tables.log",
    conda:
        "../../environment.yml"
    params:
        config={key: config[key] for key in ("tasks", "methods", "smoke")},
        source=source_of("fbde.reporting.tablefiles"),
    script:
        "../scripts/tables.py"
