#!/usr/bin/python3
"""Measures how P(k) of cosmo-sim's integrators converges with the number of steps: a table and a figure of docs/measured/accuracy.md.

Every universe is kept as its spectrum in the cache directory, so that another run only draws. Debian: python3-matplotlib
"""

import matplotlib.pyplot as plt
import numpy as np

from make_convergence_figures import EDGES, LONGEST, Errors, Setting, Simulator, compare, parser_of, percent, print_table

NAMES = {"cola": "COLA", "bullfrog": "BullFrog", "fastpm": "FastPM's kicks"}
STEPS = (3, 5, 7, 10, 20, LONGEST)
REFERENCE = Setting(LONGEST, 2)


def settings(integrator):
    """Those to compare with the reference."""
    every = (Setting(steps, 2, integrator=integrator) for steps in STEPS)
    return [(setting, REFERENCE) for setting in every if setting != REFERENCE]


def print_scatter(errors):
    """How far single universes are from their mean."""
    rows = []
    for integrator, name in NAMES.items():
        for setting, reference in settings(integrator):
            found = [[errors.at(errors.deviation(setting, reference, [seed]), edge) for edge in EDGES] for seed in errors.seeds]
            rows.append([name, str(setting.steps), *(percent(x) for x in np.std(found, axis=0))])
    print_table("Standard deviation of universes [%]", ["", "steps", *(f"k = {edge}" for edge in EDGES)], rows)


def main():
    options = parser_of(__doc__).parse_args()
    errors = Errors(Simulator(options), list(range(1, options.seeds + 1)))
    panels = plt.subplots(1, 3, figsize=(15, 4.2), constrained_layout=True)[1]
    for panel, (integrator, name) in zip(panels, NAMES.items()):
        compare(errors, panel, f"{name}, against COLA with {LONGEST} steps (mesh 2N)", settings(integrator),
                lambda setting: f"{setting.steps} steps")
        panel.set(ylim=(0.8, 1.04), ylabel="P / P of the reference")
    print_scatter(errors)
    plt.savefig(options.figures / "integrators.png", dpi=90)


if __name__ == "__main__":
    main()
