#!/usr/bin/env python3
"""What study.sh derives from its own files: the universes to simulate again, and the tables at the end.

  tables.py design STUDY N   writes STUDY/finer.csv: N + 2 universes of the test split
  tables.py mix STUDY        writes STUDY/mixed.csv: training samples unchanged, with the finer ones for testing
  tables.py tables STUDY     prints the tables of the results that are there

Errors are the mean of |x - p| / p over test universes, with truth x and prediction p, as in metrics.json; for several seeds their
mean. ± is the standard error over universes; a bias is the mean of p / x - 1.
"""

import csv
import itertools
import json
import math
import pathlib
import statistics
import sys

NAMES = {"omega_m": "Ω_m", "sigma8": "σ_8", "n_s": "n_s"}
BASELINES = {"centre": "centre of the ranges", "power_spectrum": "regression on P(k)",
             "summary_statistics": "regression on all statistics"}
# These take statistics averaged over a universe's sub-volumes.
UNIVERSE_BASELINES = {"universe_power_spectrum": "regression on P(k) of universes",
                      "universe_summary_statistics": "regression on all statistics of universes"}


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def json_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write_design(study, number):
    """Seeds and parameters of the first universes of the test split, two more than are tested, because a suite needs all three splits."""
    simulations = {s["seed"]: s["parameters"] for s in json_of(study / "sim/manifest.json")["simulations"]}
    seeds = json_of(study / "data/manifest.json")["splits"]["test"]["seeds"][:number + 2]
    if len(seeds) < number + 2:
        sys.exit(f"{study}/data has fewer than {number + 2} test universes: lower finer_universes in sizes.env.")
    with open(study / "finer.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["seed", *NAMES])
        table.writerows([seed, *(simulations[seed][name] for name in NAMES)] for seed in seeds)


def write_mix(study):
    """Training and validation samples of the suite and test samples of the finer one, with the universe numbers of the former."""
    records = json_of(study / "sim/manifest.json")["simulations"]
    numbers = {str(record["seed"]): record["index"] for record in records}
    with open(study / "mixed.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["file", "split", "simulation", "seed", *NAMES])
        for source, splits in (("data", ("train", "validation")), ("finer-data", ("test",))):
            table.writerows([f"{source}/{row['file']}", row["split"], numbers[row["seed"]], row["seed"], *(row[name] for name in NAMES)]
                            for row in rows_of(study / "npy" / source / "samples.csv") if row["split"] in splits)


class Predictions:
    """Predictions for the universes of one inference, {method: {seed: {parameter: value}}}, and their truths."""

    def __init__(self, directory):
        self.truths, self.of = {}, {"network": {}}
        seeds = {}
        for row in rows_of(directory / "universes.csv"):
            seed = int(row["seed"])
            seeds[row["simulation"]] = seed
            self.truths[seed] = {name: float(row[f"true_{name}"]) for name in NAMES}
            self.of["network"][seed] = {name: float(row[f"predicted_{name}"]) for name in NAMES}
        for row in rows_of(directory / "baselines.csv"):
            if row["subvolume"] == "-1":  # a whole universe
                method = self.of.setdefault(row["method"], {})
                method[seeds[row["simulation"]]] = {name: float(row[f"predicted_{name}"]) for name in NAMES}
        self.uncertainty = json_of(directory / "metrics.json").get("uncertainty", {})

    def errors(self, method, name, seeds=None):
        """Relative errors of a parameter for the universes, in the order of their seeds."""
        return [abs(self.truths[seed][name] / self.of[method][seed][name] - 1) for seed in sorted(seeds or self.truths)]

    def bias(self, method, name, seeds):
        return [self.of[method][seed][name] / self.truths[seed][name] - 1 for seed in sorted(seeds)]


def mean_and_error(values):
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def number(values, digits=4):
    return "{:.{d}f} ± {:.{d}f}".format(*mean_and_error(values), d=digits)


def mean_of(lists):
    """Means over trainings, universe by universe."""
    return [statistics.fmean(values) for values in zip(*lists)]


def print_table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def row_of(title, runs, method):
    return [title, *(number(mean_of([run.errors(method, name) for run in runs])) for name in NAMES)]


def methods_of(run):
    """Keys and titles of the methods that an inference compares, the network last."""
    mixed = "network_alone" in run.of
    return {**BASELINES, **({"network_alone": "network", "network": "network and statistics"} if mixed else {"network": "network"})}


def ratio_row(title, run, method, other):
    """Ratios of a method's mean errors to those of another."""
    return ratios(title, [(run.errors(method, name), run.errors(other, name)) for name in NAMES])


def ratios(title, pairs):
    """Ratios of mean errors, with the standard errors of ratios of paired means."""
    cells = []
    for ours, theirs in pairs:
        scale = statistics.fmean(theirs)
        ratio = statistics.fmean(ours) / scale
        error = mean_and_error([(a - ratio * b) / scale for a, b in zip(ours, theirs)])[1]
        cells.append(f"{ratio:.3f} ± {error:.3f}")
    return [title, *cells]


def main_tables(runs):
    first = next(iter(runs.values()))
    print(f"## {len(runs)} trainings on all universes, {len(first.truths)} test universes\n")
    print_table(["mean relative error", *NAMES.values()],
                [row_of(title, list(runs.values()), key) for key, title in methods_of(first).items()])
    for other in ("power_spectrum", "summary_statistics"):
        print_table([f"ratio to the {BASELINES[other]}", *NAMES.values()],
                    [ratio_row(f"{title}, {name}", run, key, other) for key, title in methods_of(first).items()
                     if key.startswith("network") for name, run in runs.items()])
    agreement_table(list(runs.values()))


def correlation(a, b, name):
    """The correlation, over universes, of a parameter's errors between two (run, method)."""
    return statistics.correlation(*([run.of[method][seed][name] - truth[name] for seed, truth in run.truths.items()] for run, method in (a, b)))


def agreement_table(runs):
    """Correlations of errors: those that trainings share with each other and the regression come from the universes, not the training."""
    pairs = list(itertools.combinations(runs, 2))
    alone = "network_alone" if "network_alone" in runs[0].of else "network"
    rows = {"networks of two seeds": [((a, alone), (b, alone)) for a, b in pairs],
            f"network and {BASELINES['summary_statistics']}": [((run, alone), (run, "summary_statistics")) for run in runs]}
    print_table(["correlation of errors", *NAMES.values()],
                [[title, *(f"{statistics.fmean(correlation(a, b, name) for a, b in of):.3f}" for name in NAMES)] for title, of in rows.items() if of])


def coverage_cell(coverage, sigmas, validation):
    """A share of truths in per cent. Its error has two parts: the test universes, and the width calibrated on `validation` others."""
    key = f"within_{sigmas}_sigma"
    # The share grows by this per unit of the width's logarithm, which N universes determine to 1 / sqrt(2 N).
    slope = 2 * sigmas * math.exp(-sigmas * sigmas / 2) / math.sqrt(2 * math.pi)
    error = math.hypot(coverage[f"{key}_se"] or 0, slope / math.sqrt(2 * validation))
    return f"{100 * coverage[key]:.1f} ± {100 * error:.1f} %"


def posterior_tables(run):
    print("## Posteriors\n")
    found, validation = run.uncertainty["coverage"], run.uncertainty["calibration"]["universes"]
    print_table(["truths within", *NAMES.values()],
                [[f"{level} %", *(coverage_cell(found[name], sigmas, validation) for name in NAMES)]
                 for level, sigmas in ((68.3, 1), (95.4, 2))])
    print_table(["within the bands that hold all with 95 %", *NAMES.values()],
                [[what, *("yes" if run.uncertainty[check]["inside"][name] else "**no**" for name in NAMES)]
                 for what, check in (("ranks of truths (SBC)", "sbc"), ("shares of truths within", "intervals"))])
    print(f"Joint coverage (TARP) is {'inside' if run.uncertainty['tarp']['inside'] else '**outside**'} of its band.\n")


def curve_tables(curve):
    print("## Training universes\n")
    rows = []
    for universes, runs in sorted(curve.items()):
        rows += [row_of(f"{universes}: {title}", runs, key) for key, title in methods_of(runs[0]).items() if key != "centre"]
    print_table(["universes: method", *NAMES.values()], rows)


def finer_tables(runs, finer):
    """The same universes from both kinds of simulation, for the trainings that have predicted both."""
    runs = {seed: runs[seed] for seed in finer}
    shared = next(iter(finer.values())).truths
    print(f"## {len(shared)} test universes, simulated in finer meshes and steps\n")
    rows = []
    for key, title in methods_of(next(iter(finer.values()))).items():
        if key == "centre":
            continue
        for kind, source in (("as trained", runs), ("finer", finer)):
            errors = [number(mean_of([run.errors(key, name, shared) for run in source.values()])) for name in NAMES]
            bias = [number(mean_of([run.bias(key, name, shared) for run in source.values()])) for name in NAMES]
            rows += [[f"{title}, {kind}", *errors], [f"… its bias", *bias]]
    print_table(["mean relative error", *NAMES.values()], rows)


def tuned_tables(tuned, curve):
    print("## Pre-training on cheap universes\n")
    print_table(["mean relative error", *NAMES.values()],
                [row_of(f"{title}, {trained}", runs, key) for key, title in methods_of(tuned[0]).items() if key.startswith("network")
                 for trained, runs in (("pre-trained", tuned), *((f"{number} alone", runs) for number, runs in sorted(curve.items())))])


def limit_tables(study, trainings):
    """Results of trainings on other voxels or of another length, by their models' names."""
    print("## Voxels and time\n")
    errors, compared = [], []
    for model, run in trainings.items():
        manifest = json_of(study / f"model/{model}/manifest.json")
        title = (f"{manifest['normalisation']['voxel_mpc_h']:g} Mpc/h, {len(manifest['seeds']['train'])} universes, "
                 f"{manifest['config']['epochs']} epochs")
        methods = {key: name for key, name in methods_of(run).items() if key != "centre"}
        errors += [row_of(f"{title}: {name}", [run], key) for key, name in methods.items()]
        compared += [ratio_row(f"{title}: {name}", run, key, "summary_statistics") for key, name in methods.items() if key.startswith("network")]
    print_table(["mean relative error", *NAMES.values()], errors)
    print_table([f"ratio to the {BASELINES['summary_statistics']}", *NAMES.values()], compared)


def recalibrated(run, method):
    """Relative errors by parameter after a linear regression of the truths on a method's predictions of all parameters, fitted to every
    other universe and applied to the rest. Means over sub-volumes lie nearer to the centre of the ranges than what all of them together
    say, and mix parameters that look alike in a single sub-volume."""
    import numpy as np  # only here
    seeds = sorted(run.truths)
    truths, said = (np.array([[values[seed][name] for name in NAMES] for seed in seeds]) for values in (run.truths, run.of[method]))
    design = np.column_stack([np.ones(len(seeds)), said])
    for half in (0, 1):
        fit = np.linalg.lstsq(design[1 - half::2], truths[1 - half::2], rcond=None)[0]
        said[half::2] = design[half::2] @ fit
    return dict(zip(NAMES, abs(truths / said - 1).T.tolist()))


def view_tables(study, trainings):
    """Results of trainings on whole boxes and on their sub-volumes, by their models' names."""
    print("## Whole boxes and sub-volumes\n")
    errors, compared = [], []
    whole = next(iter(trainings.values()))
    for model, run in trainings.items():
        config = json_of(study / f"model/{model}/manifest.json")["config"]
        samples = json_of(study / f"predictions/{model}/metrics.json")
        cut = samples["samples"] // samples["universes"]
        title = f"{'whole boxes' if cut == 1 else f'{cut} sub-volumes'}, batches of {config['global_batch']}"
        for key, name in {**(UNIVERSE_BASELINES if cut > 1 else {}), **methods_of(run)}.items():
            if key == "centre" or key not in run.of:
                continue
            errors.append(row_of(f"{title}: {name}", [run], key))
            if not key.startswith("network"):
                continue
            mended, those = recalibrated(run, key), recalibrated(whole, key)
            errors.append(["… recalibrated", *(number(mended[p]) for p in NAMES)])
            if run is not whole:
                compared.append(ratios(f"{title}: {name}", [(run.errors(key, p), whole.errors(key, p)) for p in NAMES]))
                compared.append(ratios("… both recalibrated", [(mended[p], those[p]) for p in NAMES]))
    print_table(["mean relative error", *NAMES.values()], errors)
    print_table(["ratio to the same from whole boxes", *NAMES.values()], compared)


def cost_table(study):
    print("## Costs\n")
    totals = {}
    for made, wall, cpu in csv.reader(open(study / "costs.csv", encoding="utf-8")):
        kind = made.split("/")[0].split("-")[0]
        before = totals.get(kind, (0.0, 0.0))
        totals[kind] = (before[0] + float(wall), before[1] + float(cpu))
    print_table(["made", "hours", "CPU hours"], [[kind, *(f"{seconds / 3600:.2f}" for seconds in took)] for kind, took in totals.items()])


def print_tables(study):
    """Prints the tables of the results that are there: an unfinished study has only some of them."""
    found = {path.parent.name: Predictions(path.parent) for path in sorted((study / "predictions").glob("*/metrics.json"))}
    groups = {}
    for name, run in found.items():
        kind, _, seed = name.partition("-")
        groups.setdefault(kind, {})[f"seed {seed}"] = run
    if "all" not in groups:
        sys.exit(f"{study}/predictions has none of a training on all universes: run study.sh first.")
    main_tables(groups["all"])
    if (first := groups["all"].get("seed 1")) and "sbc" in first.uncertainty:
        posterior_tables(first)
    if curve := {int(kind): list(runs.values()) for kind, runs in groups.items() if kind.isdigit()}:
        curve[len(json_of(study / "data/manifest.json")["splits"]["train"]["seeds"])] = list(groups["all"].values())
        curve_tables(curve)
    if "tuned" in groups:
        tuned_tables(list(groups["tuned"].values()), curve)
    if "finer" in groups:
        finer_tables(groups["all"], groups["finer"])
    if "limit" in groups:
        limit_tables(study, {name: run for name, run in found.items() if name.startswith("limit-")})
    if "view" in groups:
        view_tables(study, {name: run for name, run in found.items() if name.startswith("view-")})
    cost_table(study)


def main():
    match sys.argv[1:]:
        case ["design", study, universes] if universes.isdigit():
            write_design(pathlib.Path(study), int(universes))
        case ["mix", study]:
            write_mix(pathlib.Path(study))
        case ["tables", study]:
            print_tables(pathlib.Path(study))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
