rule first_tree:
    input:
        first_tree_data,
    output:
        f"{RESULTS}/trees/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/first_tree_{{dataset}}.log",
    conda:
        "../../environment.yml"
    params:
        config=SETTINGS,
        source=source_of("fbde.reporting.firsttree"),
    script:
        "../scripts/first_tree.py"


rule statistics:
    input:
        rules.collect.output[0],
    output:
        f"{RESULTS}/statistics.csv",
    log:
        f"{RESULTS}/logs/statistics.log",
    conda:
        "../../environment.yml"
    params:
        source=source_of("fbde.reporting.statistics"),
    script:
        "../scripts/statistics.py"


rule figures:
    input:
        scores=rules.collect.output[0],
        comparison=rules.compare.output.comparison,
        trees=expand(rules.first_tree.output, dataset=TREES),
        data=expand(rules.fetch.output, dataset=config["tasks"]),
    output:
        report(
            directory(f"{RESULTS}/figures"),
            patterns=["{name}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"figure": "{name}"},
        ),
    log:
        f"{RESULTS}/logs/figures.log",
    conda:
        "../../environment.yml"
    params:
        config=SETTINGS,
        source=source_of("fbde.reporting.figures.__init__"),
    script:
        "../scripts/figures.py"


rule report_page:
    input:
        scores=rules.collect.output[0],
        scores_csv=rules.collect.output[1],
        comparison=rules.compare.output.comparison,
        statistics=rules.statistics.output[0],
        trees=expand(rules.first_tree.output, dataset=TREES),
        figures=rules.figures.output[0],
        data=expand(rules.fetch.output, dataset=config["tasks"]),
        templates=expand(
            "fbde/reporting/templates/report.{part}", part=["html", "css", "js"]
        ),
    output:
        page=report(
            f"{RESULTS}/report.html",
            caption="../report/report.rst",
            category="Report",
        ),
        provenance=f"{RESULTS}/provenance.json",
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../../environment.yml"
    params:
        config=SETTINGS,
        source=source_of("fbde.reporting.report"),
    script:
        "../scripts/report.py"
