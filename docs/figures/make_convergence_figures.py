#!/usr/bin/python3
"""Measures how cosmo-sim's P(k) depends on its settings: tables and a figure of docs/measured/accuracy.md.

Every universe is kept as its spectrum in the cache directory, so that another run only draws. Debian: python3-matplotlib
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPACING = 2  # distance between particles, Mpc/h
MESHES = (1, 1.5, 2, 3)  # cells per side / particles per side
STEPS = (3, 5, 7, 10, 15, 20, 40)
REDSHIFTS = (4, 9, 19, 49)
LONGEST = 80  # steps, of the reference of the starting redshifts
EDGES = (0.3, 0.5, 0.7, 1)  # h/Mpc

KERNELS = ("deconvolved", "alternating", "four-point", "two-point")

# No kernel: the default of that mesh; spacing in Mpc/h.
Setting = collections.namedtuple("Setting", "steps mesh z kernel integrator lpt descent spacing", defaults=(9, "", "cola", 2, "", SPACING))
DEFAULT = Setting(10, 1)
REFERENCE = Setting(40, 3)


class Simulator:
    """Runs cosmo-sim at most once per setting and seed."""

    def __init__(self, options):
        self.program, self.threads = options.program, options.threads
        self.particles = options.particles
        version = hashlib.sha256(self.program.read_bytes()).hexdigest()[:12]
        self.cache = options.cache / version
        self.cache.mkdir(parents=True, exist_ok=True)

    def command(self, *words):
        # Threads that wait would count as work.
        done = subprocess.run([self.program, *words, "--threads", str(self.threads), "--quiet", "--json"],
                              stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
        if done.returncode:
            sys.exit(f"cosmo-sim {' '.join(words)}\nended with exit code {done.returncode}.")
        return json.loads(done.stdout)

    def generate(self, particles, setting, seed, *words):
        """A universe in a directory that exists until the next call, and the summary of the run."""
        output = self.cache / "universe"
        shutil.rmtree(output, ignore_errors=True)
        return output / "sim-00000", self.command(
            "generate", "--particles", str(particles), "--box", str(setting.spacing * particles),
            "--mesh", f"{setting.mesh * particles:.0f}", "--steps", str(setting.steps), "--z-initial", str(setting.z),
            "--integrator", setting.integrator, "--lpt-order", str(setting.lpt),
            *(("--force-kernel", setting.kernel) if setting.kernel else ()),
            *(("--gradient-descent", setting.descent) if setting.descent else ()),
            "--seed", str(seed), "--fixed-amplitude", "--output", str(output), *words)

    def cached(self, name, make):
        path = self.cache / f"{name}.json"
        if not path.exists():
            print(f"  {name}", file=sys.stderr)
            text = json.dumps(make())
            shutil.rmtree(self.cache / "universe")
            path.write_text(text)
        return json.loads(path.read_text())

    def spectrum(self, setting, seed, particles=None):
        """k and P at z = 0, of counts on a grid of two voxels per particle along each side, whatever the force mesh."""
        particles = particles or self.particles
        def make():
            universe, _ = self.generate(particles, setting, seed, "--grid", str(2 * particles))
            found = self.command("inspect", str(universe / "counts_z0.h5"))["power_spectrum"]
            table = np.genfromtxt(universe / "power_spectrum.csv", delimiter=",", names=True)
            return {"k": found["k_h_mpc"], "p": found["p"], "p_on_force_mesh": table["p_z0"].tolist()}
        return self.cached(f"{particles}-{key(setting)}-seed{seed}", make)

    def mean_power(self, setting, seeds, column="p"):
        return np.mean([self.spectrum(setting, seed)[column] for seed in seeds], axis=0)

class Errors:
    """Deviations from a reference, of the mean spectrum of some seeds."""

    def __init__(self, simulator, seeds):
        self.simulator, self.seeds = simulator, seeds
        self.k = np.array(simulator.spectrum(DEFAULT, seeds[0])["k"])

    def deviation(self, setting, reference, seeds=None):
        seeds = seeds or self.seeds
        return self.simulator.mean_power(setting, seeds) / self.simulator.mean_power(reference, seeds) - 1

    def largest(self, setting, reference, below, seeds=None):
        return np.abs(self.deviation(setting, reference, seeds)[self.k < below]).max()

    def at(self, deviation, edge):
        return at(self.k, deviation, edge)


def at(k, deviation, edge):
    """The mean of the bins within 8 % of a wavenumber."""
    return deviation[np.abs(k / edge - 1) < 0.08].mean()


def key(setting):
    """The part of a file's name that is a setting's own."""
    return "-".join(f"{name}{value}" for name, value in setting._asdict().items() if value)


def mesh_name(mesh):
    return "N" if mesh == 1 else f"{mesh}N"


def print_table(title, header, rows):
    print(f"\n{title}\n\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def percent(x, sign=""):
    return f"{100 * x:{sign}.{1 if abs(x) > 0.001 else 2}f}"


def compare(errors, panel, title, settings, label):
    """A curve and a row for each (setting, reference); dashed where something else differs with 10 steps."""
    rows, colours = [], {}
    by_steps = len({setting.steps for setting, _ in settings}) == len(settings)
    for setting, reference in settings:
        deviation = errors.deviation(setting, reference)
        rows.append([label(setting), *(percent(errors.at(deviation, edge), "+") for edge in EDGES),
                     *(percent(errors.largest(setting, reference, edge)) for edge in (0.5, 1))])
        kind = setting.steps if by_steps else (setting.mesh, setting.z, setting.kernel)
        colour = colours.setdefault(kind, f"C{len(colours)}")
        panel.plot(errors.k, 1 + deviation, label=label(setting), lw=1.2, color=colour,
                   ls="-" if by_steps or setting.steps != 10 or setting.kernel else "--")
    print_table(f"{title}: P/P_ref - 1 [%]",
                ["", *(f"k = {edge}" for edge in EDGES), "largest, k < 0.5", "k < 1"], rows)
    panel.axhline(1, color="0.7", lw=0.8, zorder=0)
    panel.set(xlim=(0.05, 1.2), xscale="log", xlabel="k [h/Mpc]", title=title)
    panel.legend(fontsize=7, frameon=False, loc="lower left")


def compare_halofit(errors, panel, seeds, particles):
    simulator = errors.simulator
    lines = (ROOT / "tests/data/golden_pk.csv").read_text().splitlines()[2:]
    k, halofit = np.array([line.split(",")[4::3] for line in lines if line.startswith("fid,")], float).T
    rows = []
    for setting in (DEFAULT, Setting(10, 2), Setting(20, 2)):
        spectra = [simulator.spectrum(setting, seed, particles) for seed in seeds]
        own_k = np.array(spectra[0]["k"])
        fit = np.exp(np.interp(np.log(own_k), np.log(k), np.log(halofit)))
        deviation = np.mean([spectrum["p"] for spectrum in spectra], axis=0) / fit - 1
        label = f"{setting.steps} steps, mesh {mesh_name(setting.mesh)}"
        rows.append([label, *(percent(at(own_k, deviation, edge), "+") for edge in (0.1, *EDGES)),
                     *(percent(np.abs(deviation[(own_k < edge) & (own_k > 0.05)]).max()) for edge in (0.3, 0.5))])
        panel.plot(own_k, 1 + deviation, label=label, lw=1.2)
    print_table(f"Against halofit, mean of {len(seeds)} boxes of {SPACING * particles} Mpc/h [%]",
                ["", *(f"k = {edge}" for edge in (0.1, *EDGES)), "largest, 0.05 < k < 0.3", "k < 0.5"], rows)
    panel.axhline(1, color="0.7", lw=0.8, zorder=0)
    panel.set(xlim=(0.05, 1.2), xscale="log", xlabel="k [h/Mpc]", title="Against halofit (Takahashi 2012)")
    panel.legend(fontsize=7, frameon=False, loc="lower left")


def draw_convergence(errors, seeds_of_halofit, particles_of_halofit, figure):
    panels = plt.subplots(2, 3, figsize=(15, 7), constrained_layout=True)[1].ravel()
    compare(errors, panels[0], "Steps, against 40 (mesh 2N)",
            [(Setting(steps, 2), Setting(40, 2)) for steps in STEPS[:-1]], lambda s: f"{s.steps} steps")
    compare(errors, panels[1], "Force mesh, against 3N (same steps)",
            [(Setting(steps, mesh), Setting(steps, 3)) for steps in (10, 40) for mesh in MESHES[:-1]],
            lambda s: f"mesh {mesh_name(s.mesh)}, {s.steps} steps")
    compare(errors, panels[2], f"Starting redshift, against 49, {LONGEST} steps (2N)",
            [(Setting(steps, 2, z), Setting(LONGEST, 2, 49)) for steps in (10, LONGEST) for z in REDSHIFTS
             if (steps, z) != (LONGEST, 49)], lambda s: f"z = {s.z}, {s.steps} steps")
    compare_halofit(errors, panels[3], seeds_of_halofit, particles_of_halofit)
    compare(errors, panels[4], "Force kernel, 10 steps, against 40 on mesh 3N",
            [(Setting(10, mesh, kernel=kernel), REFERENCE) for mesh in (1, 2) for kernel in KERNELS],
            lambda s: f"mesh {mesh_name(s.mesh)}, {s.kernel}")
    panels[5].axis("off")
    for panel, lowest in zip(panels[:5], (0.8, 0.7, 0.8, 0.7, 0.7)):
        panel.set(ylim=(lowest, 1.12), ylabel="P / P of the reference")
    plt.savefig(figure, dpi=90)


def print_checks(errors):
    """How far the seeds differ, and what the mesh of power_spectrum.csv does to it."""
    print_table("Largest error of the defaults, seed by seed [%]", ["seed", "k < 0.5", "k < 1"],
                [[str(seed), *(percent(errors.largest(DEFAULT, REFERENCE, below, [seed])) for below in (0.5, 1))]
                 for seed in errors.seeds])
    rows = []
    for mesh in MESHES:
        setting = Setting(10, mesh)
        own = errors.simulator.mean_power(setting, errors.seeds, "p_on_force_mesh")
        deviation = own / errors.simulator.mean_power(setting, errors.seeds)[:own.size] - 1
        deviation = np.pad(deviation, (0, errors.k.size - own.size))
        rows.append([mesh_name(mesh), *(percent(errors.at(deviation, edge), "+") for edge in EDGES)])
    print_table("P of power_spectrum.csv (on the force mesh) over P of the fine counts [%]",
                ["mesh", *(f"k = {edge}" for edge in EDGES)], rows)


def parser_of(description):
    """What every script that measures P(k) asks for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/cosmo-sim", help="cosmo-sim")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/convergence",
                        help="directory of what is kept")
    parser.add_argument("--figures", type=pathlib.Path, default=ROOT / "docs/figures", help="directory of the figures")
    parser.add_argument("--particles", type=int, default=64, help=f"a side, {SPACING} Mpc/h apart, of measured spectra")
    parser.add_argument("--seeds", type=int, default=8, help="universes a setting")
    parser.add_argument("--threads", type=int, default=2, help="of cosmo-sim")
    return parser


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--halofit-particles", type=int, default=128,
                        help="a side, of the universes that are compared with halofit")
    parser.add_argument("--halofit-seeds", type=int, default=8, help="universes that are compared with halofit")
    options = parser.parse_args()
    errors = Errors(Simulator(options), list(range(1, options.seeds + 1)))
    draw_convergence(errors, list(range(1, options.halofit_seeds + 1)), options.halofit_particles,
                     options.figures / "convergence.png")
    print_checks(errors)


if __name__ == "__main__":
    main()
