#!/usr/bin/python3
"""Fits --gradient-descent of cosmo-sim to runs on a mesh of 6N with 40 steps from z = 19: the table of docs/method/cola.md and of sim/gravity/gradient_descent.cpp.

For each (mesh, steps) and pair of wavenumbers, alpha = a (sigma_8 / 0.85)^p with the a and p that make the largest deviation of P(k) at k < 1 smallest at
the central Omega_m, for three sigma_8. Universes with the same phases are then made at the corners of the ranges, too; errors are those of the mean over them. All with a start at z = 9, 2 Mpc/h between
particles, fixed amplitudes. What is measured of each universe is kept in the cache directory.
"""

import h5py
import numpy as np

from make_convergence_figures import Setting, Simulator, key, mesh_name, parser_of, percent, print_table

REFERENCE = Setting(40, 6, 19, lpt=3)
FITTED = {"centre": (0.3, 0.85), "0.3, 0.78": (0.3, 0.78), "0.3, 0.95": (0.3, 0.95)}
TESTED = {"centre": (0.3, 0.85), "0.25, 0.78": (0.25, 0.78), "0.25, 0.95": (0.25, 0.95), "0.35, 0.78": (0.35, 0.78), "0.35, 0.95": (0.35, 0.95)}
COSMOLOGIES = {**FITTED, **TESTED}
PIVOT = 0.85  # sigma_8
# (setting, k_l, k_s) [h/Mpc] and the largest alpha.
FITS = [(Setting(10, 1, lpt=3), 2, 3, 0.4), (Setting(10, 1, kernel="alternating"), 2, 3, 0.15),
        (Setting(10, 2, lpt=3), 3, 6, 0.2), (Setting(12, 2, lpt=3), 3, 6, 0.2), (Setting(12, 2), 3, 6, 0.2)]
EDGES = np.linspace(0.1, 1, 10)  # h/Mpc, of the bins in which spectra are compared
SHOWN = (0.3, 0.5, 0.7, 1)


class Universes(Simulator):
    """Spectra and cross-spectra, measured once."""

    def modes(self, setting, seed, cosmology):
        omega_m, sigma_8 = COSMOLOGIES[cosmology]
        universe, _ = self.generate(self.particles, setting, seed, "--grid", str(2 * self.particles), "--omega-m", str(omega_m),
                                    "--sigma8", str(sigma_8))
        with h5py.File(universe / "counts_z0.h5") as file:
            counts = file["counts"][...].astype("f4")
            box = float(file.attrs["box"])
        return np.fft.rfftn(counts / counts.mean() - 1).astype("c8"), box

    def reference(self, seed, cosmology):
        path = self.cache / f"descent-{self.particles}-{seed}-{cosmology}.npy"
        if not path.exists():
            np.save(path, self.modes(REFERENCE, seed, cosmology)[0])
        return np.load(path)

    def powers(self, setting, seed, cosmology):
        """(bins, 3): P, that of the reference, and the cross-spectrum, each times the number of modes."""
        def make():
            modes, box = self.modes(setting, seed, cosmology)
            other, n = self.reference(seed, cosmology), len(modes)
            index = np.fft.fftfreq(n, 1 / n)
            k = 2 * np.pi / box * np.sqrt(index[:, None, None]**2 + index[None, :, None]**2 + np.arange(n // 2 + 1)**2)
            weight = np.where(np.arange(n // 2 + 1) % (n // 2) == 0, 1, 2) * np.ones(k.shape)
            sums = [np.histogram(k, EDGES, weights=weight * product)[0]
                    for product in (abs(modes)**2, abs(other)**2, (modes * other.conj()).real)]
            return np.transpose(sums).tolist()
        return np.array(self.cached(f"descent-{self.particles}-{key(setting)}-seed{seed}-{cosmology}", make))

    def deviation(self, setting, seeds, cosmology):
        p, reference, _ = np.sum([self.powers(setting, seed, cosmology) for seed in seeds], axis=0).T
        return p / reference - 1

    def scatter(self, setting, seeds, cosmology):
        """The standard error of deviation(), by leaving out one universe at a time."""
        each = [self.deviation(setting, [other for other in seeds if other != seed], cosmology) for seed in seeds]
        return np.std(each, axis=0) * (len(seeds) - 1)**0.5

    def correlation(self, setting, seeds, cosmology):
        return np.mean([cross / np.sqrt(p * other) for p, other, cross in
                        (self.powers(setting, seed, cosmology).T for seed in seeds)], axis=0)


def descending(setting, alpha, long_wave, short_wave):
    return setting._replace(descent=f"{alpha:.3g},{long_wave},{short_wave}" if alpha else "")


def fit(universes, setting, long_wave, short_wave, most, seeds):
    """a to two digits and p to one, from parabolas in alpha for the deviation of each bin."""
    at = (0, most / 2, most)
    a, p = (grid.ravel() for grid in np.meshgrid(np.linspace(0, most, 201)[1:], np.linspace(0, 3, 31)))
    largest = np.zeros(a.size)
    for cosmology, (_, sigma_8) in FITTED.items():
        curves = np.polyfit(at, [universes.deviation(descending(setting, alpha, long_wave, short_wave), seeds, cosmology) for alpha in at], 2)
        alpha = a * (sigma_8 / PIVOT)**p
        deviation = abs(curves[0] * alpha[:, None]**2 + curves[1] * alpha[:, None] + curves[2]).max(axis=1)
        largest = np.maximum(largest, deviation)
    best = largest.argmin()
    return float(f"{a[best]:.2g}"), float(f"{p[best]:.1f}")


def main():
    parser = parser_of(__doc__)
    options = parser.parse_args()
    universes, seeds = Universes(options), range(1, options.seeds + 1)
    middle = (EDGES[1:] + EDGES[:-1]) / 2
    shown = [int(np.argmin(abs(middle - min(k, middle[-1])))) for k in SHOWN]
    for setting, long_wave, short_wave, most in FITS:
        a, p = fit(universes, setting, long_wave, short_wave, most, seeds)
        rows = []
        for cosmology, (_, sigma_8) in TESTED.items():
            for tested in (setting, descending(setting, a * (sigma_8 / PIVOT)**p, long_wave, short_wave)):
                deviation, scatter = (of(tested, seeds, cosmology) for of in (universes.deviation, universes.scatter))
                lacking = 1 - universes.correlation(tested, seeds, cosmology)
                worst = abs(deviation).argmax()
                rows.append([cosmology, tested.descent or "none", *(percent(deviation[i], "+") for i in shown),
                             f"{percent(abs(deviation[worst]))} ± {percent(scatter[worst])}", percent(lacking[-1])])
        print_table(f"Mesh {mesh_name(setting.mesh)}, {setting.steps} steps{', ' * bool(setting.kernel)}{setting.kernel}, --lpt-order {setting.lpt}: a, p = {a:.2g}, {p:.1f}; deviation of P [%]",
                    ["Omega_m, sigma_8", "alpha, k_l, k_s", *(f"k = {middle[i]:.2f}" for i in shown), "largest, k < 1", "1 - r, last bin"], rows)


if __name__ == "__main__":
    main()
