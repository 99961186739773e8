"""Where a set of results comes from: commit, configuration, data, versions, machine. No dates, no paths."""

import hashlib
import json
import os
import platform
import subprocess
from importlib import metadata

from fbde import datasets
from fbde.methods import ROOT

PACKAGES = [
    "fbde", "numpy", "scipy", "pandas", "scikit-learn", "matplotlib", "snakemake", "torch", "cvxpy", "fairlearn",
    "aif360", "imbalanced-learn", "scikit-posthocs", "jinja2",
]  # fmt: skip


def collect(config):
    """Everything that is needed to say which program made the results, on which data and machine."""
    return {
        "commit": commit(),
        "config": digest(config),
        "seed": config.get("seed", 0),
        "split_seed": config.get("split_seed"),
        "folds": config.get("folds"),
        "data": data_files(config),
        "versions": versions(),
        "machine": machine(),
    }


def commit():
    """The commit with its date, and whether files differ from it; "unknown" outside of a repository."""
    try:
        head = _git("log", "-1", "--format=%H %cs")
        changed = bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return {"id": "unknown", "date": "", "changed": False}
    name, date = head.split()
    return {"id": name, "date": date, "changed": changed}


def _git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def digest(value):
    """A short digest of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def data_files(config):
    """Raw file → sha256 of the datasets of a configuration; files are verified against it when they are read."""
    return {
        raw.name: raw.sha256 for name in config["tasks"] if name in datasets.names() for raw in datasets.get(name).files
    }


def versions():
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine():
    """Processor, cores and memory."""
    entry = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "system": platform.system()}
    try:
        with open("/proc/cpuinfo") as file:
            entry["cpu"] = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        entry["memory_gb"] = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    return entry
