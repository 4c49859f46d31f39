#!/usr/bin/python3
"""Compares cosmo-sim's settings with a much finer run: the tables of docs/measured/accuracy.md.

All universes of a seed have the same initial phases and fixed amplitudes, with 2 Mpc/h between particles. They are compared at z = 0 by counts in
voxels of 1 Mpc/h: P(k), the cross-correlation r(k), bispectra, and the counts in voxels of 4 Mpc/h, such as networks are given.
What is measured of each universe is kept in the cache directory. Debian: python3-matplotlib, python3-h5py
"""

import argparse
import csv
import pathlib

import h5py
import numpy as np

from make_convergence_figures import DEFAULT, EDGES, ROOT, SPACING, Setting, Simulator, at, key, mesh_name, print_table

REFERENCE = Setting(80, 6, 49)
# Pre-training, training (the defaults) and the universes simulated again of pipelines/study, and what is better.
STUDY = [Setting(5, 1), DEFAULT, Setting(20, 2)]
TESTED = [*STUDY, *(setting._replace(integrator="bullfrog") for setting in STUDY),
          Setting(10, 1, kernel="alternating", descent="fitted"), Setting(20, 3), Setting(40, 3, 19)]
# How P depends on one setting at a time: (setting, what it is compared with).
LIMITS = [*((Setting(80, mesh, 49), REFERENCE) for mesh in (3, 4)),
          *((Setting(steps, 4, 49), Setting(160, 4, 49)) for steps in (40, 80)),
          *((Setting(80, 4, z), Setting(80, 4, 99)) for z in (9, 19, 49))]
# A denser lattice, of 8 particles for each, on the same mesh.
FINER = REFERENCE._replace(mesh=REFERENCE.mesh // 2, spacing=SPACING / 2)
SHELLS = (0.3, 0.5, 0.8)  # h/Mpc, of bispectra
CROWD = 50  # particles in a voxel of 4 Mpc/h


class Universes(Simulator):
    """What is compared of universes, measured once for each setting and seed."""

    def path(self, setting, seed):
        return f"reference-{self.particles}-{key(setting)}-seed{seed}"

    def measures(self, setting, seed):
        name = self.path(setting, seed)
        def make():
            universe, _ = self.generate(round(self.particles * SPACING / setting.spacing), setting, seed, "--grid", str(2 * self.particles))
            counts, table = universe / "counts_z0.h5", universe / "b.csv"
            found = self.command("inspect", str(counts), "--bispectrum", str(table))["power_spectrum"]
            with h5py.File(counts) as file:
                np.save(self.cache / f"{name}.npy", file["counts"][:])
            rows = np.genfromtxt(table, delimiter=",", names=True)
            return {"k": found["k_h_mpc"], "p": found["p"], **{column: rows[column].tolist() for column in rows.dtype.names}}
        return {key: np.array(value) for key, value in self.cached(name, make).items()}

    def counts(self, setting, seed):
        """Those in voxels of 1 Mpc/h."""
        self.measures(setting, seed)
        return np.load(self.cache / f"{self.path(setting, seed)}.npy")

    def box_power(self, particles, seed):
        """k and P of a universe of the default settings in a box of this number of particles per side, on its force mesh."""
        def make():
            universe, _ = self.generate(particles, DEFAULT, seed, "--grid", str(particles // 2))
            table = np.genfromtxt(universe / "power_spectrum.csv", delimiter=",", names=True)
            return {"k": table["k_h_mpc"].tolist(), "p": table["p_z0"].tolist()}
        return self.cached(f"box-{particles}-seed{seed}", make)


def ratio(universes, setting, reference, seeds, column):
    """Deviation of the mean over seeds."""
    means = [np.mean([universes.measures(each, seed)[column] for seed in seeds], axis=0) for each in (setting, reference)]
    return means[0] / means[1] - 1


def cross_correlation(one, other):
    """r(k) of two fields of counts, in bins of one fundamental wavenumber."""
    n = len(one)
    a, b = (np.fft.rfftn(counts / counts.mean() - 1) for counts in (one, other))
    k = np.fft.fftfreq(n, 1 / n)
    index = np.rint(np.sqrt(k[:, None, None] ** 2 + k[:, None] ** 2 + np.arange(n // 2 + 1) ** 2)).astype(int).ravel()
    cross, own, others = (np.bincount(index, (x * y.conj()).real.ravel())[1:n // 4 + 1] for x, y in ((a, b), (a, a), (b, b)))
    return cross / np.sqrt(own * others)


def coarse(counts, factor=4):
    n = len(counts) // factor
    return counts.reshape(n, factor, n, factor, n, factor).sum(axis=(1, 3, 5))


def distribution(counts):
    """Share of voxels by their number of particles."""
    shares = np.bincount(coarse(counts.astype(int)).ravel(), minlength=65536)
    return shares / shares.sum()


def facts(universes, setting, seeds):
    """{quantity: value} of a setting against the reference; deviations as fractions."""
    result = {}
    k, shells = (universes.measures(REFERENCE, seeds[0])[name] for name in ("k", "k_h_mpc"))
    power = ratio(universes, setting, REFERENCE, seeds, "p")
    pairs = [(universes.counts(setting, seed), universes.counts(REFERENCE, seed)) for seed in seeds]
    lost = 1 - np.mean([cross_correlation(*pair) for pair in pairs], axis=0)
    for edge in EDGES:
        result[f"P, k = {edge}"] = at(k, power, edge)
        result[f"1 - r, k = {edge}"] = at(k, lost, edge)
    for kind in "equilateral", "squeezed":
        deviation = ratio(universes, setting, REFERENCE, seeds, f"b_{kind}_z0")
        for edge in SHELLS:
            result[f"B {kind}, k = {edge}"] = deviation[np.argmin(np.abs(shells - edge))]
    own, reference = (np.mean([distribution(pair[i]) for pair in pairs], axis=0) for i in range(2))
    number = np.arange(own.size)
    for name, value in (("empty voxels", lambda shares: shares[0]), (f"voxels of {CROWD} and more", lambda shares: shares[CROWD:].sum()),
                        ("variance of counts", lambda shares: (shares * number**2).sum() - (shares * number).sum() ** 2)):
        result[name] = value(own) / value(reference) - 1
    result["voxels in another class of counts"] = np.abs(own - reference).sum() / 2
    return result


def setting_name(setting):
    options = "".join(f", {word}" for word in (setting.integrator.replace("cola", ""), setting.kernel, setting.descent) if word)
    return f"{setting.steps} steps, mesh {mesh_name(setting.mesh)}, z = {setting.z}{options}"


def percent(x):
    return "–" if np.isnan(x) else f"{100 * x:+.2f}" if abs(x) < 0.001 else f"{100 * x:+.1f}"


def print_limits(universes, seeds):
    rows = []
    for setting, reference in LIMITS:
        deviation = ratio(universes, setting, reference, seeds, "p")
        k = universes.measures(setting, seeds[0])["k"]
        rows.append([setting_name(setting), setting_name(reference), *(percent(at(k, deviation, edge)) for edge in EDGES)])
    print_table("One setting at a time: P/P_other - 1 [%]", ["", "against", *(f"k = {edge}" for edge in EDGES)], rows)


def print_finer(universes, seeds):
    """The reference against universes of more particles, with and without the noise of particles, volume / number, in each P."""
    def power(setting, noise):
        found = np.mean([universes.measures(setting, seed)["p"] for seed in seeds], axis=0)
        return found - setting.spacing**3 if noise else found
    def row(setting, reference, noise):
        deviation = power(setting, noise) / power(reference, noise) - 1
        return [percent(at(k, deviation, edge)) for edge in EDGES]
    k = universes.measures(REFERENCE, seeds[0])["k"]
    lost = 1 - np.mean([cross_correlation(universes.counts(REFERENCE, seed), universes.counts(FINER, seed)) for seed in seeds], axis=0)
    later = FINER._replace(z=9)
    print_table("The reference over 8 particles for each on the same mesh, -1 [%]", ["", *(f"k = {edge}" for edge in EDGES)],
                [["P", *row(REFERENCE, FINER, False)], ["P without noise", *row(REFERENCE, FINER, True)],
                 ["1 - r", *(percent(at(k, lost, edge)) for edge in EDGES)],
                 [f"more particles: P, z = {later.z} over {FINER.z}", *row(later, FINER, False)],
                 [f"without noise, z = {later.z} over {FINER.z}", *row(later, FINER, True)]])


def print_halofit(universes, boxes, seeds):
    lines = (ROOT / "tests/data/golden_pk.csv").read_text().splitlines()[2:]
    k, halofit = np.array([line.split(",")[4::3] for line in lines if line.startswith("fid,")], float).T
    rows, edges = [], (0.2, 0.3, 0.5)
    for particles in boxes:
        spectra = [universes.box_power(particles, seed) for seed in seeds]
        own = np.array(spectra[0]["k"])
        deviation = np.array([spectrum["p"] for spectrum in spectra]) / np.exp(np.interp(np.log(own), np.log(k), np.log(halofit))) - 1
        each = [[at(own, row, edge) for row in deviation] for edge in edges]
        rows.append([f"{SPACING * particles} Mpc/h", *(f"{percent(np.mean(values))} ± {100 * np.std(values, ddof=1) / len(values)**.5:.1f}"
                                                       for values in each)])
    print_table("P of the defaults over halofit - 1 [%], by box", ["", *(f"k = {edge}" for edge in edges)], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/cosmo-sim", help="cosmo-sim")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/convergence", help="directory of what is kept")
    parser.add_argument("--table", type=pathlib.Path, default=ROOT / "tests/data/reference.csv", help="file of the table")
    parser.add_argument("--particles", type=int, default=64, help=f"per side, {SPACING} Mpc/h apart")
    parser.add_argument("--seeds", type=int, default=2, help="universes per setting")
    parser.add_argument("--boxes", default="64,128,256", help="particles per side of the boxes that are compared with halofit")
    parser.add_argument("--box-seeds", type=int, default=4, help="universes per box")
    parser.add_argument("--threads", type=int, default=2, help="of cosmo-sim")
    options = parser.parse_args()
    universes, seeds = Universes(options), list(range(1, options.seeds + 1))
    print_halofit(universes, [int(box) for box in options.boxes.split(",")], range(1, options.box_seeds + 1))
    columns = [facts(universes, setting, seeds) for setting in TESTED]
    print_table(f"Against {setting_name(REFERENCE)} [%]", ["", *map(setting_name, TESTED)],
                [[name, *(percent(column[name]) for column in columns)] for name in columns[0]])
    print_limits(universes, seeds)
    print_finer(universes, seeds)
    with open(options.table, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["quantity", *map(setting_name, TESTED)])
        table.writerows([name, *(f"{column[name]:.6f}" for column in columns)] for name in columns[0])


if __name__ == "__main__":
    main()
