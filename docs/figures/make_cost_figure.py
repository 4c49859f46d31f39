#!/usr/bin/python3
"""Measures what accuracy of P(k) costs with cosmo-sim's settings: the front of error against time of docs/measured/accuracy.md.

The error is the largest deviation of a bin of P(k), of the mean of --seeds universes, from 40 steps on a mesh of 6N from z = 19 with a start of third
order (the reference of fit_gradient_descent.py, which shares the cache). What is measured is kept there. Debian: python3-matplotlib, python3-h5py
"""

import collections
import resource

import matplotlib.pyplot as plt
import numpy as np

from fit_gradient_descent import EDGES, Universes
from make_convergence_figures import DEFAULT, Setting, key, mesh_name, parser_of, percent, print_table

FAMILIES = {
    **{f"mesh {mesh_name(mesh)}": [Setting(steps, mesh) for steps in (5, 7, 10, 15, 20)] for mesh in (1, 1.5, 2, 3)},
    "third order, 3N": [Setting(steps, 3, lpt=3) for steps in (15, 20)],
    "BullFrog, N": [Setting(steps, 1, integrator="bullfrog") for steps in (7, 10)],
    "alternating, N": [Setting(steps, 1, kernel="alternating") for steps in (7, 10, 15)],
    "alternating, fitted": [Setting(10, 1, kernel="alternating", descent="fitted")],
    "2N, fitted": [Setting(12, 2, descent="fitted")],
    "third order, 2N, fitted": [Setting(steps, 2, lpt=3, descent="fitted") for steps in (10, 12)],
}
LIMITS = (0.5, 1)  # h/Mpc


class Costs(Universes):
    def seconds(self, particles, setting, repeat):
        """Processor time and wall clock of a universe with the default output."""
        def make():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            _, summary = self.generate(particles, setting, 1)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, summary["seconds"]
        return self.cached(f"seconds-{particles}-{key(setting)}-threads{self.threads}-{repeat}", make)

    def largest(self, setting, seeds, below):
        return abs(self.deviation(setting, seeds, "centre"))[EDGES[1:] <= below].max()


def front(points):
    """The (seconds, error, …) for which no other is both cheaper and better."""
    best = []
    for point in sorted(points):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return best


def draw(panel, seconds, error, below):
    for family, settings in FAMILIES.items():
        panel.plot([seconds[s] for s in settings], [100 * error[s] for s in settings], "o-", ms=4, lw=0.8, label=family)
        for s in settings:
            panel.annotate(s.steps, (seconds[s], 100 * error[s]), xytext=(3, 3), textcoords="offset points", fontsize=7)
    best = front([(seconds[s], error[s], s) for s in error])
    panel.plot([p[0] for p in best], [100 * p[1] for p in best], color="k", lw=5, alpha=0.15, label="the best there is")
    panel.plot(seconds[DEFAULT], 100 * error[DEFAULT], "s", ms=11, mfc="none", mec="k", label="defaults")
    panel.set(xscale="log", yscale="log", ylabel="largest error of P [%]", title=f"k < {below} h/Mpc")
    return [setting for _, _, setting in best]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--timed-particles", type=int, default=128, help="a side, of the universes that are timed")
    parser.add_argument("--repeats", type=int, default=3, help="timings a setting, of which the median counts")
    options = parser.parse_args()
    costs, seeds = Costs(options), range(1, options.seeds + 1)
    families = {setting: family for family, settings in FAMILIES.items() for setting in settings}
    errors = {below: {setting: costs.largest(setting, seeds, below) for setting in families} for below in LIMITS}
    # One after another, so that other load on the machine affects all settings equally.
    times = np.median([[costs.seconds(options.timed_particles, setting, repeat) for setting in families]
                       for repeat in range(options.repeats)], axis=0)
    seconds, wall = (dict(zip(families, column)) for column in times.T)
    on_front = collections.defaultdict(list)
    for panel, below in zip(plt.subplots(1, 2, figsize=(13, 5), constrained_layout=True)[1], LIMITS):
        panel.set(xlabel=f"processor seconds per universe of {options.timed_particles}³, {options.threads} threads")
        for setting in draw(panel, seconds, errors[below], below):
            on_front[setting].append(f"k < {below}")
    print_table("Cost and largest error of P(k) [%]",
                ["", "steps", "processor seconds", "wall clock", *(f"k < {below}" for below in LIMITS), "on the front"],
                [[families[s], str(s.steps), f"{seconds[s]:.2f}", f"{wall[s]:.2f}", *(percent(errors[below][s]) for below in LIMITS),
                  ", ".join(on_front[s])] for s in sorted(seconds, key=seconds.get)])
    plt.gcf().axes[-1].legend(fontsize=7, frameon=False, loc="lower right")
    plt.savefig(options.figures / "cost.png", dpi=90)


if __name__ == "__main__":
    main()
