"""Minneapolis with S and Y exchanged: the roles behind the published numbers (docs/findings.md)."""

from dataclasses import replace

from fbde.datasets import minneapolis

DATASET = replace(
    minneapolis.DATASET,
    title="Minneapolis (roles as published)",
    label="race",
    label_meaning=minneapolis.RACE,
    sensitive={"search": minneapolis.SEARCH},
    # Printed as S = race in the paper.
    paper={"search": ("minneapolis", "race")},
)
