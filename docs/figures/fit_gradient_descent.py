#!/usr/bin/python3
"""Fits --gradient-descent of cosmo-sim to runs on a mesh of 6N with 40 steps from z = 19: the table of docs/cola.md and of sim/gravity/gradient_descent.cpp.

For each (mesh, steps) and pair of wavenumbers, alpha is what makes the largest deviation of P(k) at k < 1 smallest at the centre of the ranges of
Omega_m and sigma_8, for twice --seeds universes; half of them are then made at the corners, too. All with a third-order start at z = 9, 2 Mpc/h between
particles, fixed amplitudes. What is measured of each universe is kept in the cache directory.
"""

import h5py
import numpy as np

from make_convergence_figures import Setting, Simulator, mesh_name, parser_of, percent, print_table

REFERENCE = Setting(40, 6, 19)
THIRD = ("--lpt-order", "3")
COSMOLOGIES = {"centre": (0.3, 0.85), "0.25, 0.78": (0.25, 0.78), "0.25, 0.95": (0.25, 0.95), "0.35, 0.78": (0.35, 0.78), "0.35, 0.95": (0.35, 0.95)}
# (setting, k_l, k_s) [h/Mpc] and the largest alpha.
FITS = [(Setting(10, 1), 2, 3, 0.4), (Setting(10, 1, kernel="interlaced"), 2, 3, 0.15), (Setting(10, 2), 3, 6, 0.2), (Setting(12, 2), 3, 6, 0.2)]
EDGES = np.linspace(0.1, 1, 10)  # h/Mpc, of the bins in which spectra are compared
SHOWN = (0.3, 0.5, 0.7, 1)


class Universes(Simulator):
    """Spectra and cross-spectra, measured once."""

    def modes(self, setting, seed, cosmology, descent):
        omega_m, sigma_8 = COSMOLOGIES[cosmology]
        universe, _ = self.generate(self.particles, setting, seed, *THIRD, "--grid", str(2 * self.particles), "--omega-m", str(omega_m),
                                    "--sigma8", str(sigma_8), *(("--gradient-descent", descent) if descent else ()))
        with h5py.File(universe / "counts_z0.h5") as file:
            counts = file["counts"][...].astype("f4")
            box = float(file.attrs["box"])
        return np.fft.rfftn(counts / counts.mean() - 1).astype("c8"), box

    def reference(self, seed, cosmology):
        path = self.cache / f"descent-{self.particles}-{seed}-{cosmology}.npy"
        if not path.exists():
            np.save(path, self.modes(REFERENCE, seed, cosmology, "")[0])
        return np.load(path)

    def powers(self, setting, seed, cosmology, descent=""):
        """(bins, 3): P, that of the reference, and the cross-spectrum, each times the number of modes."""
        def make():
            modes, box = self.modes(setting, seed, cosmology, descent)
            other, n = self.reference(seed, cosmology), len(modes)
            index = np.fft.fftfreq(n, 1 / n)
            k = 2 * np.pi / box * np.sqrt(index[:, None, None]**2 + index[None, :, None]**2 + np.arange(n // 2 + 1)**2)
            weight = np.where(np.arange(n // 2 + 1) % (n // 2) == 0, 1, 2) * np.ones(k.shape)
            sums = [np.histogram(k, EDGES, weights=weight * product)[0]
                    for product in (abs(modes)**2, abs(other)**2, (modes * other.conj()).real)]
            return np.transpose(sums).tolist()
        return np.array(self.cached(f"descent-{self.particles}-steps{setting.steps}-mesh{setting.mesh}-seed{seed}-{cosmology}-{descent}{setting.kernel or str()}", make))

    def deviation(self, setting, seeds, cosmology, descent=""):
        p, reference, _ = np.sum([self.powers(setting, seed, cosmology, descent) for seed in seeds], axis=0).T
        return p / reference - 1

    def correlation(self, setting, seeds, cosmology, descent=""):
        return np.mean([cross / np.sqrt(p * other) for p, other, cross in
                        (self.powers(setting, seed, cosmology, descent).T for seed in seeds)], axis=0)


def fit(universes, setting, long_wave, short_wave, most, seeds):
    """alpha to two digits, from parabolas in alpha for the deviation of each bin."""
    at = (0, most / 2, most)
    found = [universes.deviation(setting, seeds, "centre", f"{alpha:.3g},{long_wave},{short_wave}" if alpha else "") for alpha in at]
    curves = np.polyfit(at, found, 2)
    alphas = np.linspace(0, most, 401)[1:]
    largest = abs(curves[0] * alphas[:, None]**2 + curves[1] * alphas[:, None] + curves[2]).max(axis=1)
    return float(f"{alphas[largest.argmin()]:.2g}")


def main():
    parser = parser_of(__doc__)
    parser.set_defaults(seeds=3)
    options = parser.parse_args()
    universes = Universes(options)
    fitted, tested = range(1, 2 * options.seeds + 1), range(options.seeds + 1, 2 * options.seeds + 1)
    middle = (EDGES[1:] + EDGES[:-1]) / 2
    shown = [int(np.argmin(abs(middle - min(k, middle[-1])))) for k in SHOWN]
    for setting, long_wave, short_wave, most in FITS:
        alpha = fit(universes, setting, long_wave, short_wave, most, fitted)
        rows = []
        for cosmology in COSMOLOGIES:
            for descent in ("", f"{alpha:.3g},{long_wave},{short_wave}"):
                deviation = universes.deviation(setting, tested, cosmology, descent)
                lacking = 1 - universes.correlation(setting, tested, cosmology, descent)
                rows.append([cosmology, descent or "none", *(percent(deviation[i], "+") for i in shown), percent(abs(deviation).max()), percent(lacking[-1])])
        print_table(f"Mesh {mesh_name(setting.mesh)}, {setting.steps} steps{', ' * bool(setting.kernel)}{setting.kernel or str()}: deviation of P [%]",
                    ["Omega_m, sigma_8", "alpha, k_l, k_s", *(f"k = {middle[i]:.2f}" for i in shown), "largest, k < 1", "1 - r, last bin"], rows)


if __name__ == "__main__":
    main()
