"""The paper's claims, each judged by a stated rule on the results of a run.

A rule counts cases; all of them true: reproduced, none: not, else partly. A claim without cases was not run, and one
with fewer cases than a complete run has says so.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fbde.reporting import claimrules as rules
from fbde.reporting.claimrules import SLIGHT, STEP, TAU


@dataclass(frozen=True)
class Claim:
    """What the paper says, the rule by which it is judged, where the evidence is, and what is known beyond it.

    ``complete`` is the number of cases that the rule finds in a run of the whole paper with five folds.
    """

    title: str
    says: str
    rule: str
    cases: Callable
    complete: int
    evidence: tuple[str, ...]
    remark: str = ""


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    verdict: str
    held: int
    total: int
    failures: tuple[str, ...]

    @property
    def sentence(self):
        if not self.total:
            return "Nothing that this needs was run."
        text = f"{self.held} of {self.total} cases as claimed."
        return text if self.complete else f"{text} A complete run has {self.claim.complete}."

    @property
    def complete(self):
        return self.total >= self.claim.complete

    @property
    def badge(self):
        """The verdict, with a warning if it rests on a part of the cases only."""
        return self.verdict if self.complete or not self.total else f"{self.verdict} (incomplete run)"

    @property
    def exceptions(self):
        """The first cases that are not as claimed, or nothing."""
        if not self.failures:
            return ""
        shown = "; ".join(self.failures[:4])
        more = f"; and {len(self.failures) - 4} more" if len(self.failures) > 4 else ""
        return f"Not so: {shown}{more}."


def judge(claim, results):
    cases = list(claim.cases(results))
    held = sum(case.holds for case in cases)
    verdict = "not run" if not cases else "reproduced" if held == len(cases) else "partly" if held else "not reproduced"
    failures = tuple(case.what for case in cases if not case.holds)
    return Verdict(claim, verdict, held, len(cases), failures)


def judge_all(results):
    return [judge(claim, results) for claim in CLAIMS]


CLAIMS = [
    Claim(
        "Q_T is fair: RR and SR rise",
        "FBDE raises representation and statistical rate over the data's on COMPAS and Adult.",
        "Mean RR and mean SR of each of the four configurations exceed Data's, on each COMPAS and Adult task.",
        rules.data_fairness,
        32,
        ("table-summary_experiments_table", "figure-pareto_sr_kl", "figure-pareto_rr_kl"),
    ),
    Claim(
        "SR stays above the budget τ (exact leverage)",
        "Theorem 3.2: SR(Q_T) > τ for the exact leverage.",
        f"The exact SR of M-E-1.0 and M-E-0.9 exceeds {TAU} in every fold of every discrete task.",
        rules.budget,
        80,
        ("figure-certificates", "table-leverage_schemes"),
        "Measured only. As a theorem it does not hold: it guarantees τ²/sr0 (see the findings).",
    ),
    Claim(
        "Exact leverage: fairer, at a higher KL",
        "Exact leverage gives stronger fairness than relative leverage at the cost of a higher KL.",
        "SR and KL, both exact, of M-E exceed those of M-R with the same sr0, on each COMPAS and Adult task.",
        rules.leverage_tradeoff,
        16,
        ("table-summary_experiments_table", "figure-sr_kl"),
    ),
    Claim(
        "KL below MaxEnt's",
        "MaxEnt has the best SR, at a cost in KL against FBDE.",
        "Mean KL of each configuration is below MaxEnt's, as published, on each COMPAS and Adult task.",
        rules.kl_against_maxent,
        16,
        ("table-full_experiments_table", "figure-pareto_sr_kl"),
    ),
    Claim(
        "KL below MaxEnt's, both from the density",
        "The same with equal treatment: the paper took MaxEnt's KL from samples and FBDE's from the density.",
        "As before, with the exact KL of both.",
        rules.kl_against_maxent_exact,
        16,
        ("table-full_experiments_table",),
    ),
    Claim(
        "Fairness and KL better than TabFairGAN's",
        "FBDE is better in fairness and KL than TabFairGAN.",
        "SR, RR and KL of each configuration are better than TabFairGAN's as published, on each COMPAS and Adult task.",
        rules.against_tabfairgan,
        48,
        ("table-full_experiments_table",),
        "The published KL of TabFairGAN comes from binary columns that were treated as numeric.",
    ),
    Claim(
        "T = 8 suffices",
        "Most of the learning happens in the first iterations.",
        f"More than half of the drop in KL is reached after {STEP} steps, for each configuration and discrete task.",
        rules.early_steps,
        32,
        ("figure-boosting_main", "figure-wl_kl"),
    ),
    Claim(
        "The drop in KL follows the weak learner's accuracy",
        "More accurate weak learners give larger drops in KL.",
        "Over the steps, the rank correlation of accuracy and drop in KL per unit of leverage exceeds 0.5.",
        rules.drop_follows_accuracy,
        32,
        ("figure-wl_kl", "figure-wl_kl_extra"),
    ),
    Claim(
        "Predictions become fairer at a slight loss of accuracy",
        "Classifiers trained on the samples have higher SR_c and EO than on the data, with slightly lower accuracy.",
        f"SR_c and EO exceed Data's and Acc falls by at most {SLIGHT}, for each configuration, COMPAS and Adult.",
        rules.prediction,
        48,
        ("table-summary_experiments_table", "figure-pareto_src_acc"),
    ),
    Claim(
        "SR_c follows SR",
        "The classifier's statistical rate tends to follow the data's over the iterations.",
        "From the first to the last step SR and SR_c move in the same direction.",
        rules.classifier_follows_data,
        32,
        ("figure-sr_src", "figure-sr_src_extra"),
    ),
    Claim(
        "In-processing: the order of the methods",
        "The paper prints FBDE beside three in-processing methods without a sentence on who wins.",
        "Where print sets FBDE and a rival apart by more than both stds in SR_c or Acc, ours has the same order.",
        rules.in_processing,
        132,
        ("table-inprocessing", "figure-forest_inprocessing", "figure-pareto_src_acc"),
    ),
    Claim(
        "Clustering: fair K-means has the best dist",
        "Rényi fair K-means has the best distance to the centres.",
        "dist of FairKMeans, as published, is below that of every configuration on each COMPAS and Adult task.",
        rules.clustering_distance,
        4,
        ("table-full_experiments_table",),
        "dist as published measures a normalisation: the corrected rows show what is left of the difference.",
    ),
    Claim(
        "Clustering: FBDE can have the better cSR",
        "Pre-processing can beat fair K-means in the spread of statistical rates.",
        "The least cSR of the four configurations is below FairKMeans's on each COMPAS and Adult task.",
        rules.clustering_rate,
        4,
        ("table-full_experiments_table",),
    ),
    Claim(
        "Weak learners can be read",
        "The first tree on COMPAS (race) shows a race and sex dependent segregation.",
        "The first question is on race, and two_year_recid and sex are asked to some effect within the first three "
        "levels (fold 0).",
        rules.interpretability,
        3,
        ("figure-weak_tree_top", "figure-weak_tree_full"),
        "Q_0 keeps x | y, s: given y and s, sex cannot tell real from fake. Print's tree is fitted on drawn rows.",
    ),
    Claim(
        "Continuous domain: SR above the budget, RR improved",
        "On Minneapolis SR stays above the budget and RR improves.",
        f"SR of the exact configurations exceeds {TAU} in every fold and RR exceeds Data's.",
        rules.continuous,
        14,
        ("table-summary_continuous_table", "figure-minneapolis_all"),
    ),
    Claim(
        "Continuous domain: RR ≥ √τ up to sampling error",
        "RR of M-E-1.0 should exceed √τ; the paper puts the shortfall down to sampling.",
        "RR of M-E-1.0 exceeds √τ in every fold.",
        rules.continuous_bound,
        5,
        ("figure-certificates", "table-summary_continuous_table"),
        "It is the leverage and not the sampler: the bound that holds is rr0·τ/sr0 = 0.8.",
    ),
    Claim(
        "Without mixing KL is worse",
        "On Dutch and German KL is much worse without prior mixing.",
        "KL without mixing exceeds KL with it, for each configuration.",
        rules.mixing_helps,
        16,
        ("table-no_mixing_experiments_table", "table-full_experiments_table_extra"),
    ),
]
