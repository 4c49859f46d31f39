"""Samples of initial conditions: the posterior of modes that a training fits, the white noise that cosmo-infer writes, and the universes that
cosmo-sim makes of it."""

import json
import unittest

import h5py
import numpy as np

import cosmo_data
import eisenstein_hu
from toolkit import DirectoryTest, error_line, printed, run, sha256, succeed

USAGE, CONFIG, FORMAT = 2, 3, 5
BOX, VOXELS, PARTICLES, WIDTH = 128, 16, 32, 0.02
SIM = ["--box", BOX, "--particles", PARTICLES, "--steps", 5, "--grid", VOXELS, "--save", "counts,initial"]


def modes(field):
    """Coefficients of a field's waves in a cube below Nyquist, as a list; k and -k are both in it."""
    n, half = len(field), (VOXELS - 1) // 2
    all_of = np.fft.fftn(field.astype("f8")) / n**3
    inside = [np.arange(-half, half + 1)] * 3
    return all_of[np.ix_(*inside)].ravel()


def wavenumbers():
    half = (VOXELS - 1) // 2
    axes = np.meshgrid(*[np.arange(-half, half + 1)] * 3, indexing="ij")
    return 2 * np.pi / BOX * np.sqrt(sum(axis**2 for axis in axes)).ravel()


K = wavenumbers()
BINS = (K / WIDTH).astype(int)


def in_bins(values):
    """Sums of the modes of each bin that has some."""
    return np.array([values[(BINS == b) & (K > 0)].sum() for b in range(BINS.max() + 1) if ((BINS == b) & (K > 0)).any()])


class InitialSamples(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.suite, cls.data, cls.model, cls.out = (cls.root / name for name in ("suite", "data", "model", "out"))
        succeed("cosmo-sim", "generate", "--sigma8", "0.7:0.95", "--simulations", 12, *SIM, "--output", cls.suite)
        succeed("cosmo-prep", "shard", "--input", cls.suite, "--target", "initial", "--subvolumes", 1, "--validation", 4, "--test", 4, "--output", cls.data)
        cls.words = ["--data", cls.data, "--target", "initial", "--reconstruct", 16, "--global-batch", 2]
        succeed("cosmo-train", *cls.words, "--epochs", 20, "--output", cls.model)
        cls.posterior = json.loads((cls.model / "manifest.json").read_text())["field_posterior"]
        cls.simulations = json.loads((cls.suite / "manifest.json").read_text())["simulations"]
        cls.test = [cosmo_data.Split(cls.data, "test").identity(i).simulation for i in range(4)]
        cls.one = cls.suite / f"sim-{cls.test[0]:05}/counts_z0.h5"
        cls.noise = cls.root / "noise.npy"
        cls.made = cls.sample(cls.noise, "--seed", 5)

    @classmethod
    def sample(cls, path, *words, universe=None, ranks=1):
        return succeed("cosmo-infer", "--model", cls.model, "--input", universe or cls.one, "--white-noise", path, *words, ranks=ranks)

    def initial(self, folder):
        with h5py.File(folder / "initial_z0.h5") as file:
            return file["initial"][:]

    def test_the_posterior_is_numpys(self):
        split = cosmo_data.Split(self.data, "validation")
        succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--split", "validation", "--output", self.root / "validation")
        sums, variances = [], []
        for i in range(len(split)):
            with h5py.File(self.root / f"validation/fields/simulation-{split.identity(i).simulation:05}.h5") as file:
                p, t = modes(file["initial"][:]), modes(split.target(i))
            sums.append([in_bins(v) for v in (abs(p)**2, abs(t)**2, (p * t.conj()).real)])
            variances.append((abs(t)**2)[K > 0].sum())
        found = self.posterior
        np.testing.assert_allclose(found["k"], in_bins(K) / in_bins(np.ones(len(K))), rtol=1e-6)
        changes = [np.array(found["gain"]) * (variance / found["variance"])**np.array(found["gain_slope"]) for variance in variances]
        p, cross = (sum(change**power * one[row] for change, one in zip(changes, sums)) for row, power in ((0, 2), (2, 1)))
        np.testing.assert_allclose(cross / p, 1, atol=1e-4)
        self.assertAlmostEqual(found["variance"] / np.exp(np.mean(np.log(variances))), 1, places=4)
        self.assertEqual(found["universes"], 4)
        share = np.array(found["power_left"])
        factors = [(variance / found["variance"])**found["slope"] for variance in variances]
        expected = sum(share * factor / (1 - share + share * factor) * one[1] for factor, one in zip(factors, sums))
        left = sum(one[1] - 2 * gain * one[2] + gain**2 * one[0] for gain, one in zip(changes, sums))
        np.testing.assert_allclose(left, expected, rtol=1e-3)

    def test_cosmo_sim_takes_samples_and_they_are_as_close_as_the_model_states(self):
        power, cross, truth = 0, 0, 0
        for i in self.test:
            record, path = self.simulations[i], self.root / f"noise-{i}"
            self.sample(path, "--seed", 100 + i, universe=self.suite / f"sim-{i:05}")
            out = self.root / f"again-{i}"
            parameters = [word for name, value in record["parameters"].items() for word in (f"--{name.replace('_', '-')}", value)]
            succeed("cosmo-sim", "generate", *parameters, *SIM, "--white-noise", path, "--output", out)
            s, t = modes(self.initial(out / "sim-00000")), modes(self.initial(self.suite / f"sim-{i:05}"))
            power, truth, cross = power + in_bins(abs(s)**2), truth + in_bins(abs(t)**2), cross + in_bins((s * t.conj()).real)
        self.assertAlmostEqual(power.sum() / truth.sum(), 1, delta=0.05)
        left = np.array(self.posterior["power_left"])
        r = cross / np.sqrt(power * truth)  # fields of the same power that share 1 - left
        np.testing.assert_allclose(r[:8], 1 - left[:8], atol=0.08)
        self.assertGreater(r[1], 0.9)

    def test_waves_beyond_the_voxels_and_no_others_are_the_seeds(self):
        noise = np.load(self.noise)
        self.assertEqual((noise.shape, noise.dtype), ((PARTICLES,) * 3, np.dtype("<f4")))
        self.assertAlmostEqual(noise.std(), 1, places=4)
        self.assertAlmostEqual(self.made["rms"], 1, delta=0.03)
        self.assertEqual((self.made["particles"], self.made["seed"]), (PARTICLES, 5))
        succeed("cosmo-sim", "noise", "--seed", 5, "--particles", PARTICLES, "--output", self.root / "seed.npy")
        ours, seeds = (np.fft.fftn(values.astype("f8")) for values in (noise * self.made["rms"], np.load(self.root / "seed.npy")))
        inside = np.max(np.abs(np.meshgrid(*[np.fft.fftfreq(PARTICLES) * PARTICLES] * 3, indexing="ij")), axis=0) <= (VOXELS - 1) // 2
        np.testing.assert_allclose(ours[~inside], seeds[~inside], atol=1e-4 * np.std(seeds))
        self.assertGreater(np.std((ours - seeds)[inside]), 0.5 * np.std(seeds))
        self.sample(self.root / "other.npy", "--seed", 6)
        others = np.fft.fftn(np.load(self.root / "other.npy").astype("f8"))
        low = abs(ours[1, 1, 1] - others[1, 1, 1]) / np.std(seeds)  # a wave that the model predicts well
        self.assertLess(low, 1)
        self.assertGreater(np.std((ours - others)[~inside]), np.std(seeds))

    def test_ranks_formats_and_sizes(self):
        for name in ("noise.npy", "noise"):
            self.sample(self.root / "two" / name, "--seed", 5, ranks=2)
        self.assertEqual(sha256(self.noise), sha256(self.root / "two/noise.npy"))
        grafic = np.fromfile(self.root / "two/noise", dtype="<f4", offset=24).reshape(PARTICLES, PARTICLES**2 + 2)[:, 1:-1]
        np.testing.assert_array_equal(grafic.reshape((PARTICLES,) * 3).T, np.load(self.noise))
        again = self.root / "few.npy"
        self.assertEqual(self.sample(again, "--particles", VOXELS // 2)["particles"], VOXELS // 2)
        self.assertEqual(np.load(again).shape, (VOXELS // 2,) * 3)
        planned = self.sample(self.root / "planned.npy", "--dry-run")
        self.assertTrue(planned["dry_run"])
        self.assertGreater(planned["memory_bytes_per_rank"], 4 * (PARTICLES**3 + VOXELS**3))
        self.assertFalse((self.root / "planned.npy").exists())

    def test_other_parameters_win(self):
        found = self.sample(self.root / "given.npy", "--seed", 5, "--sigma8", 0.3)
        self.assertEqual(found["parameters"]["sigma8"], 0.3)
        self.assertGreater(found["rms"], self.made["rms"])
        self.assertTrue(any("rms" in warning for warning in found["warnings"]), found["warnings"])
        moved, voxels = self.root / "moved.h5", self.root / "counts.npy"
        moved.write_bytes(self.one.read_bytes())
        self.sample(self.root / "moved.npy", "--seed", 5, "--transfer", "eisenstein-hu", universe=moved)
        self.assertEqual(sha256(self.root / "moved.npy"), sha256(self.noise))
        np.save(voxels, cosmo_data.Split(self.data, "test").voxels(0))
        record = self.simulations[self.test[0]]["parameters"]
        words = [word for name in ("omega_m", "sigma8", "n_s", "h", "omega_b") for word in (f"--{name.replace('_', '-')}", record[name])]
        self.sample(self.root / "array.npy", "--seed", 5, "--box", BOX, "--particles", PARTICLES, *words, "--transfer", "eisenstein-hu", universe=voxels)
        np.testing.assert_allclose(np.load(self.root / "array.npy"), np.load(self.noise), atol=1e-4)

    def test_spectra_of_tables_and_fields_that_are_not_gaussian(self):
        table, universe, skewed = self.root / "spectrum", self.root / "of-table", self.root / "skewed"
        eisenstein_hu.write_power(table)
        own = [word for name, value in self.simulations[self.test[0]]["parameters"].items() for word in (f"--{name.replace('_', '-')}", value)]
        succeed("cosmo-sim", "generate", "--transfer", table, *own, *SIM, "--output", universe)
        counts, noise = universe / "sim-00000/counts_z0.h5", self.root / "of-table.npy"
        self.refused(CONFIG, "give its file as --transfer", "--model", self.model, "--input", counts, "--white-noise", noise)
        found = self.sample(noise, "--transfer", table, universe=counts)
        self.assertIn("table sha256:", found["transfer"])
        formula = self.root / "of-formula.npy"
        self.sample(formula, "--transfer", "eisenstein-hu", universe=counts)
        np.testing.assert_allclose(np.load(noise), np.load(formula), atol=0.02)  # the table is the formula's, of default parameters
        succeed("cosmo-sim", "generate", "--f-nl", 50, *SIM, "--output", skewed)
        self.refused(CONFIG, "began with f_nl = 50", "--model", self.model, "--input", skewed / "sim-00000/counts_z0.h5", "--white-noise", self.root / "no")

    def test_the_share_of_modes_inside(self):
        found = succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--output", self.out)
        metrics = found["metrics"]["fields"]["initial"]
        coverage = metrics["coverage"]
        self.assertEqual([len(coverage[name]) for name in ("share", "share_se")], [len(metrics["k"])] * 2)
        self.assertEqual(coverage["level"], 0.6827)
        self.assertAlmostEqual(coverage["all"], coverage["level"], delta=0.05)
        self.assertIn("% of the true modes are inside", (self.out / "report.html").read_text())

    def test_the_same_posterior_on_ranks_and_models_without_one(self):
        old = self.root / "old"
        succeed("cosmo-train", *self.words, "--epochs", 2, "--output", old)
        manifest = (old / "manifest.json").read_text()
        details = json.loads(manifest)
        own = details.pop("field_posterior")
        (old / "manifest.json").write_text(json.dumps(details))
        self.refused(CONFIG, "cosmo-train --posterior-only", "--model", old, "--input", self.one, "--white-noise", self.root / "no")
        predict = ["--model", old, "--data", self.data, "--output", self.root / "of-old"]
        self.assertNotIn("coverage", succeed("cosmo-infer", *predict)["metrics"]["fields"]["initial"])
        fit = ["cosmo-train", "--posterior-only", "--data", self.data, "--output", old]
        self.assertEqual(succeed(*fit, ranks=2)["posterior"], own)
        self.assertEqual(json.loads((old / "manifest.json").read_text()), json.loads(manifest))
        self.assertTrue(succeed(*fit)["up_to_date"])
        self.refused(CONFIG, "field_posterior_sha256", *predict)
        self.assertIn("coverage", succeed("cosmo-infer", *predict, "--force")["metrics"]["fields"]["initial"])
        for damage in ({"power_left": [2] * len(own["k"])}, {"gain": [1e200] * len(own["k"])}, {"slope": 500}, {"slope": None}, {"k": "x"}):
            details["field_posterior"] = dict(own, **damage)
            (old / "manifest.json").write_text(json.dumps(details))
            self.refused(FORMAT, "fit it again with cosmo-train --posterior-only", "--model", old, "--input", self.one, "--white-noise", self.root / "no")
        self.assertIn("4 validation universes", printed(*fit, "--dry-run"))
        succeed(*fit)
        self.assertEqual(json.loads((old / "manifest.json").read_text()), json.loads(manifest))

    def refused(self, code, part, *words):
        done = run("cosmo-infer", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(part, error_line(done, "cosmo-infer"))

    def test_what_does_not_fit_is_refused(self):
        infer, noise = ["--model", self.model], ["--white-noise", self.root / "no"]
        np.save(self.root / "alone.npy", cosmo_data.Split(self.data, "test").voxels(0))
        succeed("cosmo-prep", "shard", "--input", self.suite, "--subvolumes", 1, "--validation", 1, "--test", 1, "--output", self.root / "labels")
        succeed("cosmo-train", *self.words, "--epochs", 1, "--seed", 2, "--output", self.root / "second")
        network = self.root / "small.json"
        network.write_text(json.dumps({"name": "small", "input": "grid", "layers": [
            {"name": "mean", "inputs": ["grid"], "kind": "global_mean", "squares": True},
            {"name": "parameters", "inputs": ["mean"], "kind": "dense", "outputs": 0, "slope": 1}]}))
        succeed("cosmo-train", "--data", self.root / "labels", "--network", network, "--epochs", 1, "--output", self.root / "parameters")
        for code, part, words in (
                (USAGE, "--white-noise and --data exclude", [*infer, "--data", self.data, *noise]),
                (USAGE, "--white-noise and --output exclude", [*infer, "--input", self.one, "--output", self.root / "out", *noise]),
                (USAGE, "--seed applies only with --white-noise", [*infer, "--data", self.data, "--seed", 3]),
                (USAGE, "--omega-m applies only with --white-noise", [*infer, "--input", self.one, "--omega-m", 0.3]),
                (USAGE, "predicts parameters", ["--model", self.root / "parameters", "--input", self.one, *noise]),
                (USAGE, "--split has no use with --white-noise", [*infer, "--input", self.one, "--split", "test", *noise]),
                (CONFIG, "would be their truth: give another", [*infer, "--input", self.one, "--seed", self.simulations[self.test[0]]["seed"], *noise]),
                (CONFIG, "names 12 universes", [*infer, "--input", self.suite, *noise]),
                (CONFIG, "samples the posterior of one model", ["--model", f"{self.model},{self.root}/second", "--input", self.one, *noise]),
                (CONFIG, "does not state omega_m, sigma8", [*infer, "--input", self.root / "alone.npy", "--box", BOX, *noise]),
                (CONFIG, "is there already: give --force", [*infer, "--input", self.one, "--white-noise", self.noise]),
                (CONFIG, "is not a file of white noise", [*infer, "--input", self.one, "--white-noise", self.model / "history.csv", "--force"]),
                (CONFIG, "--particles", [*infer, "--input", self.one, "--particles", 2, *noise])):
            self.refused(code, part, *words)
        self.assertFalse((self.root / "no").exists())


if __name__ == "__main__":
    unittest.main()
