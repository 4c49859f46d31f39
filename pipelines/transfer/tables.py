#!/usr/bin/env python3
"""Tables, and a figure, of what run.sh predicted.

  tables.py OUT   prints tables and writes OUT/front.svg

A bias is the mean of p - x on the universes of a test, over the rms error of the same model on its validation universes. Several
seeds: their mean ± the standard deviation of one seed, or for one seed the standard error over universes. Precision is the mean
of |x - p| / x on universes of the one setting.
"""

import json
import math
import pathlib
import re
import statistics
import sys

NAMES = {"omega_m": "Ω_m", "sigma8": "σ_8", "n_s": "n_s"}


def json_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


class Recipe:
    """Trainings that differ in their seeds alone."""

    def __init__(self, name):
        self.name = name
        self.runs = []  # {test: metrics} of each seed

    def values(self, test, figure):
        return {p: [figure(run[test], p) for run in self.runs] for p in NAMES}


def recipes_in(out):
    recipes = {}
    for directory in sorted((out / "predictions").iterdir(), key=lambda path: path.name):
        name, _ = re.fullmatch(r"(.*)-(\d+)", directory.name).groups()
        run = {path.name: json_of(path / "metrics.json") for path in directory.iterdir() if (path / "metrics.json").exists()}
        recipes.setdefault(name, Recipe(name)).runs.append(run)
    return list(recipes.values())


def bias(metrics, parameter):
    return metrics["settings"][0][parameter]["bias_deviations"]


def bias_error(metrics, parameter):
    return metrics["settings"][0][parameter]["bias_deviations_se"]


def precision(metrics, parameter):
    return metrics["network"][parameter]["fractional_error"]


def mean_and_scatter(values, error, form):
    scatter = statistics.stdev(values) if len(values) > 1 else error
    return f"{statistics.mean(values):{form}} ± {scatter:{form.lstrip('+')}}"


def row(head, cells):
    return f"| {head} | " + " | ".join(cells) + " |"


def table(corner, columns, rows):
    return "\n".join([row(corner, columns), "|---" * (len(columns) + 1) + "|", *(row(head, cells) for head, cells in rows)])


def tests_of(recipes):
    return [test for test in sorted({test for recipe in recipes for test in recipe.runs[0]}) if test != "own"]


def precision_table(recipes):
    rows = []
    for recipe in recipes:
        found = recipe.values("one-setting", precision)
        error = recipe.values("one-setting", lambda m, p: m["network"][p]["fractional_error_se"])
        rows.append((recipe.name, [mean_and_scatter(found[p], error[p][0], ".4f") for p in NAMES]))
    for key, title in (("power_spectrum", "regression on P(k)"), ("summary_statistics", "regression on all statistics")):
        for recipe in recipes:
            metrics = recipe.runs[0]["one-setting"]["baselines"].get(key)
            if metrics and recipe.name.endswith("-plain"):
                rows.append((f"{title}, learned from {recipe.name[:-len('-plain')]}", [
                    f"{metrics[p]['fractional_error']:.4f} ± {metrics[p]['fractional_error_se']:.4f}" for p in NAMES]))
    return table("", list(NAMES.values()), rows)


def bias_table(recipes, test):
    rows = []
    for recipe in recipes:
        found, error = recipe.values(test, bias), recipe.values(test, bias_error)
        covered = [f"{100 * statistics.mean(recipe.values(test, lambda m, p, k=k: m['settings'][0][p][k])[p]):.1f}"
                   for p in NAMES for k in ("within_1_sigma", "within_2_sigma")]
        rows.append((recipe.name, [mean_and_scatter(found[p], error[p][0], "+.2f") for p in NAMES] +
                     [", ".join(covered[0::2]), ", ".join(covered[1::2])]))
    for recipe in recipes:
        if not recipe.name.endswith("-plain"):
            continue
        for key, title in (("power_spectrum", "regression on P(k)"), ("summary_statistics", "regression on all statistics")):
            there, own = recipe.runs[0][test]["baselines"].get(key), recipe.runs[0]["own"]["baselines"].get(key)
            if there:
                rows.append((f"{title}, learned from {recipe.name[:-len('-plain')]}", [
                    f"{there[p]['bias'] / own[p]['rmse']:+.2f} ± {there[p]['bias_se'] / own[p]['rmse']:.2f}" for p in NAMES] + ["", ""]))
    return table("", [*NAMES.values(), "% within 68.3", "% within 95.4"], rows)


def front(recipes, tests):
    """[(recipe, geometric mean of its precision over the first recipe's, largest |bias| on the tests)]"""
    reference = {p: statistics.mean(values) for p, values in recipes[0].values("one-setting", precision).items()}
    points = []
    for recipe in recipes:
        found = recipe.values("one-setting", precision)
        cost = math.exp(statistics.mean(math.log(statistics.mean(found[p]) / reference[p]) for p in NAMES))
        worst = max(abs(statistics.mean(values)) for test in tests for values in recipe.values(test, bias).values())
        points.append((recipe.name, cost, worst))
    return points


def free_place(labels, text, x, y):
    """A place near (x, y) where the text covers no earlier label; adds it to these."""
    width, height = 7 * len(text), 13
    overlaps = lambda at: any(left < x + width and x < left + of and abs(at - there) < height for left, of, there in labels)
    at = next((y + shift for shift in (0, -height, height, -2 * height, 2 * height) if not overlaps(y + shift)), y)
    labels.append((x, width, at))
    return x, at


def front_svg(points):
    width, height, left, right, top, bottom = 640, 400, 70, 620, 20, 340
    most = max(cost for _, cost, _ in points) * 1.05
    low, high = math.log(0.05), math.log(max(10, max(worst for _, _, worst in points) * 1.2))
    place_x = lambda cost: left + (right - left) * (cost - 0.97) / (most - 0.97)
    place_y = lambda worst: bottom - (bottom - top) * (math.log(max(worst, 0.05)) - low) / (high - low)
    marks = [f'<line x1="{left}" x2="{right}" y1="{place_y(0.3):.1f}" y2="{place_y(0.3):.1f}" stroke="#222222" stroke-dasharray="5 4"/>']
    for value in (0.1, 0.3, 1, 3, 10):
        if value <= math.exp(high):
            marks.append(f'<text x="{left - 8}" y="{place_y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for percent in range(0, int(100 * (most - 1)) + 1, 10):
        marks.append(f'<text x="{place_x(1 + percent / 100):.1f}" y="{bottom + 18}" text-anchor="middle">{percent} %</text>')
    dots, labels = [], []
    for name, cost, worst in points:
        colour = "#0072b2" if name.startswith("one") else "#d55e00"
        x, y = free_place(labels, name, place_x(cost) + 8, place_y(worst) + 4)
        dots.append(f'<circle cx="{place_x(cost):.1f}" cy="{place_y(worst):.1f}" r="5" fill="{colour}"/>'
                    f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{name}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
            f'<title>Bias on universes of other simulators against precision on the own</title><rect width="{width}" height="{height}" fill="#fff"/>'
            f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#222222"/>{"".join(marks)}{"".join(dots)}'
            f'<text x="{(left + right) / 2}" y="{height - 14}" text-anchor="middle">precision lost on universes of one setting</text>'
            f'<text transform="translate(18 {(top + bottom) / 2}) rotate(-90)" text-anchor="middle">largest bias / rms error</text></svg>\n')


def main():
    out = pathlib.Path(sys.argv[1])
    recipes = recipes_in(out)
    recipes.sort(key=lambda recipe: (not recipe.name.startswith("one-"), "plain" not in recipe.name, recipe.name))
    tests = tests_of(recipes)
    held_out = [test for test in tests if test != "one-setting"]
    universes = recipes[0].runs[0]["one-setting"]["universes"]
    print(f"# Where networks hold\n\n## Precision on {universes} universes of one setting\n\nMean of |x - p| / x.\n")
    print(precision_table(recipes))
    for test in tests:
        print(f"\n## Bias on {test}, {recipes[0].runs[0][test]['universes']} universes\n")
        print(bias_table(recipes, test))
    print("\n## The front\n\nPrecision lost: geometric mean over the parameters, against the first row. Bias: the largest of all parameters and tests"
          " that nothing was learned from.\n")
    points = front(recipes, held_out)
    print(table("", ["precision lost", "largest bias"], [(name, [f"{100 * (cost - 1):+.1f} %", f"{worst:.2f}"]) for name, cost, worst in points]))
    (out / "front.svg").write_text(front_svg(points), encoding="utf-8")


if __name__ == "__main__":
    main()
