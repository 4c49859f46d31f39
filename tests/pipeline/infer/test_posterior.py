"""posterior.h5 of a model: fitted at the end of a training or afterwards, and what predictions make of it."""

import csv
import hashlib
import json
import pathlib
import shutil
import unittest

import h5py
import numpy as np

import cosmo_data

from toolkit import DirectoryTest, error_line, run, succeed

CONFIG, FORMAT = 3, 5


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_noise(directory, universes):
    """samples.csv and a .npy of noise for each universe, with a random deviation and mean as labels."""
    directory.mkdir(parents=True)
    generator, rows = np.random.default_rng(8), ["file,simulation,amp,shift"]
    for i in range(universes):
        amp, shift = generator.uniform(0.5, 1), generator.uniform(-0.02, 0.02)
        np.save(directory / f"cube_{i:03}.npy", (shift + amp * generator.normal(size=(32, 32, 32))).astype("f4"))
        rows.append(f"cube_{i:03}.npy,{i},{amp!r},{shift!r}")
    (directory / "samples.csv").write_text("\n".join(rows) + "\n")


class Posterior(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data, cls.model = cls.root / "data", cls.root / "model"
        cls.write(cls.data, 120, 20)
        cls.words = ["--data", cls.data, "--network", "cosmoflow32", "--global-batch", 8, "--epochs", 6, "--learning-rate", 0.001]
        succeed("cosmo-train", *cls.words, "--output", cls.model)

    @classmethod
    def write(cls, data, universes, held_out):
        cubes = data.with_name(data.name + "-cubes")
        write_noise(cubes, universes)
        succeed("cosmo-prep", "import", "--input", cubes, "--samples", cubes / "samples.csv", "--format", "npy", "--voxels", "field", "--box", 32, "--redshifts", 0, "--validation", held_out, "--test", held_out, "--output", data)

    def manifest(self, model):
        return json.loads((model / "manifest.json").read_text())

    def test_a_training_ends_with_a_posterior_that_predicts(self):
        manifest = self.manifest(self.model)
        self.assertIn("posterior.h5", [record["path"] for record in manifest["files"]])
        self.assertEqual(manifest["posterior"]["universes"], len(json.loads((self.data / "manifest.json").read_text())["splits"]["train"]["simulations"]))
        self.assertNotIn("posterior", json.dumps(manifest["config"]))
        predictions = self.root / "predictions"
        metrics = succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--output", predictions)["metrics"]
        self.assertEqual(metrics["uncertainty"]["kind"], "posterior")
        rows = rows_of(predictions / "universes.csv")
        names = manifest["parameters"]["names"]
        for p, name in enumerate(names):
            deviations = {row[f"deviation_{name}"] for row in rows}
            self.assertGreater(len(deviations), len(rows) / 2)  # each universe has its own
            low, high = manifest["parameters"]["low"][p], manifest["parameters"]["high"][p]
            for row in rows:
                self.assertTrue(low < float(row[f"predicted_{name}"]) < high)
                self.assertNotEqual(row[f"predicted_{name}"], row[f"network_{name}"])
        self.assertIn("network_alone", metrics["baselines"])
        config = json.loads((predictions / "manifest.json").read_text())["config"]
        record = next(record for record in manifest["files"] if record["path"] == "posterior.h5")
        self.assertEqual(config["posterior_sha256"], [record["sha256"]])

    def test_it_can_be_fitted_afterwards_with_the_same_bytes_on_two_ranks(self):
        before = self.manifest(self.model)
        for ranks in (1, 2):
            bare = shutil.copytree(self.model, self.root / f"bare{ranks}")
            (bare / "posterior.h5").unlink()
            manifest = self.manifest(bare)
            manifest["files"] = [record for record in manifest["files"] if record["path"] != "posterior.h5"]
            posterior = manifest.pop("posterior")
            (bare / "manifest.json").write_text(json.dumps(manifest))
            rms = self.root / f"rms{ranks}"
            self.assertEqual(succeed("cosmo-infer", "--model", bare, "--data", self.data, "--output", rms)["metrics"]["uncertainty"]["kind"],
                             "validation_rms")
            self.assertNotIn("network_", (rms / "universes.csv").read_text().splitlines()[0])
            again = succeed("cosmo-train", *self.words, "--output", bare)  # the old command on an old model
            self.assertTrue(again["up_to_date"])
            found = succeed("cosmo-train", "--posterior-only", "--data", self.data, "--output", bare, ranks=ranks)
            self.assertEqual((found["up_to_date"], found["posterior"]), (False, posterior))
            self.assertEqual((bare / "posterior.h5").read_bytes(), (self.model / "posterior.h5").read_bytes())
            after = self.manifest(bare)
            self.assertEqual((after["id"], after["posterior"]), (before["id"], posterior))
            self.assertTrue(succeed("cosmo-train", "--posterior-only", "--data", self.data, "--output", bare)["up_to_date"])
            self.assertTrue(succeed("cosmo-train", *self.words, "--output", bare)["up_to_date"])

    def test_what_cannot_have_one_is_refused_or_goes_without(self):
        few, model = self.root / "few", self.root / "of-few"
        self.write(few, 20, 2)
        done = run("cosmo-train", "--data", few, "--network", "cosmoflow32", "--global-batch", 4, "--epochs", 1, "--output", model)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "warning: No posterior was fitted, and error bars are rms errors .* at least 2[0-9]* universes")
        self.assertNotIn("posterior", self.manifest(model))
        done = run("cosmo-train", "--posterior-only", "--data", few, "--output", model)
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("No posterior can be fitted: A posterior of", error_line(done, "cosmo-train"))
        done = run("cosmo-infer", "--model", model, "--data", few, "--samples", 10, "--output", self.root / "no-draws")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("has no posterior for --samples to draw from", error_line(done, "cosmo-infer"))
        done = run("cosmo-train", "--posterior-only", "--data", few, "--output", self.model)
        self.assertEqual(done.returncode, CONFIG)
        self.assertRegex(error_line(done, "cosmo-train"), "is not the data that .* was trained on: give .*data")

    def test_draws_are_those_of_the_posteriors(self):
        out, names, draws = self.root / "draws", self.manifest(self.model)["parameters"]["names"], 4000
        succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--samples", draws, "--output", out)
        rows = rows_of(out / "universes.csv")
        with h5py.File(out / "samples.h5") as file:
            samples, universes = file["samples"][:], file["universes"][:]
            self.assertEqual(list(file.attrs["parameter_names"]), names)
        self.assertEqual(samples.shape, (len(rows), draws, len(names)))
        self.assertEqual(universes.tolist(), [int(row["simulation"]) for row in rows])
        for u, row in enumerate(rows):
            for p, name in enumerate(names):
                deviation = float(row[f"deviation_{name}"])
                self.assertLess(abs(samples[u, :, p].mean() - float(row[f"predicted_{name}"])), 4 * deviation / draws ** 0.5)
                self.assertLess(abs(samples[u, :, p].std() / deviation - 1), 0.06)
        posteriors = cosmo_data.posterior(out)
        self.assertEqual((len(posteriors), list(posteriors), posteriors.names), (len(rows), universes.tolist(), names))
        one = cosmo_data.posterior(out, universes[0])
        np.testing.assert_array_equal(one.samples, samples[0])
        self.assertAlmostEqual(one.mean(names[0]), samples[0, :, 0].mean())
        low, middle, high = one.quantile(names[0], [0.16, 0.5, 0.84])
        self.assertTrue(low < middle < high)
        np.testing.assert_allclose(np.sqrt(np.diag(one.covariance())), [one.deviation(name) for name in names], rtol=1e-3)
        # The mean of a function over the draws is its integral over the density: of 1 / density it is the volume of the region.
        ranges = self.manifest(self.model)["parameters"]
        volume = np.prod(np.array(ranges["high"]) - np.array(ranges["low"]))
        self.assertLess(np.mean(np.exp(-one.log_density)), 1.3 * volume)
        with self.assertRaisesRegex(cosmo_data.DataError, "no universe 99999"):
            posteriors[99999]
        with self.assertRaisesRegex(cosmo_data.DataError, "no parameter 'h'"):
            one.quantile("h", 0.5)
        chain = out / f"chains/universe_{universes[0]:05}"
        table = np.loadtxt(f"{chain}.txt")
        self.assertEqual(table.shape, (draws, 2 + len(names)))
        np.testing.assert_allclose(table[:, 2:], samples[0], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(table[:, 1], -one.log_density, rtol=1e-6, atol=1e-6)
        self.assertEqual(pathlib.Path(f"{chain}.paramnames").read_text().split(), names)
        self.assertEqual([line.split()[0] for line in pathlib.Path(f"{chain}.ranges").read_text().splitlines()], names)
        config = json.loads((out / "manifest.json").read_text())["config"]
        self.assertEqual(config["samples"], draws)
        self.assertIn("figures/posterior.svg", [record["path"] for record in json.loads((out / "manifest.json").read_text())["files"]])

    def test_covariances_are_those_of_the_draws(self):
        out, draws = self.root / "covariances", 4000
        succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--samples", draws, "--output", out)
        with h5py.File(out / "samples.h5") as file:
            samples = file["samples"][:]
        for u, row in enumerate(rows_of(out / "universes.csv")):
            a, b = float(row["deviation_amp"]), float(row["deviation_shift"])
            correlation = float(row["covariance_amp_shift"]) / (a * b)
            self.assertLess(abs(correlation - np.corrcoef(samples[u].T)[0, 1]), 5 * (1 - correlation**2) / draws**0.5 + 0.01)

    def test_universes_unlike_those_of_the_training_are_far(self):
        cubes = sorted((self.root / "data-cubes").glob("*.npy"))
        strange = self.root / "strange"
        strange.mkdir()
        for i in range(3):  # smooth waves instead of noise, of the same deviation
            wave = np.sin(np.arange(32) * (i + 1) * 2 * np.pi / 32)[:, None, None] * np.ones((1, 32, 32))
            np.save(strange / f"wave_{i}.npy", wave.astype("f4"))
        words = ["--model", self.model, "--box", 32]
        far = succeed("cosmo-infer", *words, "--input", strange)
        self.assertEqual([one["features"]["distance_rank"] for one in far["universes"]], [0, 0, 0])
        self.assertRegex(" ".join(far["warnings"]), "3 of 3 universes .*wave_0.* are farther from the training data, in the network's features")
        one = succeed("cosmo-infer", *words, "--input", strange / "wave_0.npy")
        self.assertEqual(one["features"]["distance_rank"], 0)
        self.assertRegex(" ".join(one["warnings"]), "It is .* times as far from the training data, in the network's features")
        near = succeed("cosmo-infer", *words, "--input", *cubes)
        ranks = np.array([one["features"]["distance_rank"] for one in near["universes"]])
        self.assertLess(np.mean(ranks <= 0.05), 0.2)
        self.assertNotIn("network's features", " ".join(near["warnings"]))
        out = self.root / "distances"
        features = succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--output", out)["metrics"]["features"]
        rows = rows_of(out / "universes.csv")
        self.assertEqual((features["universes"], features["validation_universes"]), (len(rows), 20))
        self.assertAlmostEqual(features["far"], np.mean([float(row["distance_rank"]) <= 0.05 for row in rows]))
        self.assertAlmostEqual(features["expected_far"], 2 / 21)
        self.assertIn('data-metric="features.far"', (out / "report.html").read_text())

    def test_draws_of_universes_in_files(self):
        cubes = sorted((self.root / "data-cubes").glob("*.npy"))[:3]
        words = ["cosmo-infer", "--model", self.model, "--input", *cubes, "--box", 32, "--samples", 50]
        self.assertIn("give --output", error_line(run(*words), "cosmo-infer"))
        out = self.root / "draws-of-files"
        succeed(*words, "--output", out)
        with h5py.File(out / "samples.h5") as file:
            self.assertEqual(file["samples"].shape, (3, 50, 2))
        self.assertIn("network_amp", rows_of(out / "universes.csv")[0])
        self.assertEqual(json.loads((out / "manifest.json").read_text())["csv_schema"], 2)

    def test_several_models_have_one_posterior(self):
        other, together = self.root / "other", self.root / "together"
        succeed("cosmo-train", *self.words, "--seed", 2, "--output", other)
        both = f"{self.model},{other}"
        words = ["cosmo-train", "--posterior-only", "--data", self.data, "--model", both]
        self.assertEqual(succeed(*words, "--output", together, "--dry-run")["models"], 2)
        self.assertFalse(together.exists())
        found = succeed(*words, "--output", together)
        self.assertFalse(found["up_to_date"])
        self.assertTrue(succeed(*words, "--output", together)["up_to_date"])
        succeed(*words, "--output", self.root / "together2", ranks=2)
        self.assertEqual((together / "posterior.h5").read_bytes(), (self.root / "together2/posterior.h5").read_bytes())
        out, means = self.root / "of-together", {}
        metrics = succeed("cosmo-infer", "--model", together, "--data", self.data, "--samples", 10, "--output", out)["metrics"]
        self.assertEqual((metrics["uncertainty"]["kind"], metrics["uncertainty"]["models"]), ("posterior", 2))
        self.assertEqual(metrics["features"]["universes"], 20)
        for name, model in (("one", self.model), ("two", other), ("average", both)):
            succeed("cosmo-infer", "--model", model, "--data", self.data, "--output", self.root / f"of-{name}")
            means[name] = rows_of(self.root / f"of-{name}/universes.csv")
        for row, one, two, average in zip(rows_of(out / "universes.csv"), means["one"], means["two"], means["average"], strict=True):
            self.assertAlmostEqual(float(row["network_amp"]), (float(one["network_amp"]) + float(two["network_amp"])) / 2)
            self.assertNotEqual(row["predicted_amp"], average["predicted_amp"])
        config = json.loads((out / "manifest.json").read_text())["config"]
        self.assertEqual(config["posterior_sha256"], [hashlib.sha256((together / "posterior.h5").read_bytes()).hexdigest()])
        cube = sorted((self.root / "data-cubes").glob("*.npy"))[0]
        one = succeed("cosmo-infer", "--model", together, "--input", cube, "--box", 32)
        self.assertIn("distance_rank", one["features"])
        twin = shutil.copytree(self.model, self.root / "twin")
        for code, refused, sentence in (
                (2, ["cosmo-train", "--posterior-only", "--data", self.data, "--model", self.model, "--output", self.root / "none"], "names one directory"),
                (2, ["cosmo-train", *self.words, "--model", both, "--output", self.root / "none"], "--model applies only with --posterior-only"),
                (CONFIG, [*words[:-1], f"{self.model},{twin}", "--output", self.root / "none"], "have the same weights"),
                (CONFIG, ["cosmo-infer", "export", "--model", together, "--output", self.root / "none.onnx"], "is an ensemble"),
                (CONFIG, ["cosmo-infer", "export", "--model", both, "--output", self.root / "none.onnx"], "is an ensemble")):
            done = run(*refused)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(sentence, error_line(done, refused[0]))
        shutil.copytree(other, self.root / "moved")
        shutil.rmtree(other)
        done = run("cosmo-infer", "--model", together, "--data", self.data, "--output", self.root / "none")
        self.assertIn("other", error_line(done, "cosmo-infer"))
        shutil.move(self.root / "moved", other)

    def test_a_damaged_file_is_refused_and_can_be_fitted_again(self):
        damaged = shutil.copytree(self.model, self.root / "damaged")
        content = bytearray((damaged / "posterior.h5").read_bytes())
        content[len(content) // 2] ^= 1
        (damaged / "posterior.h5").write_bytes(content)
        done = run("cosmo-infer", "--model", damaged, "--data", self.data, "--output", self.root / "none")
        self.assertEqual(done.returncode, FORMAT)
        self.assertIn("posterior.h5", error_line(done, "cosmo-infer"))
        succeed("cosmo-train", "--posterior-only", "--data", self.data, "--output", damaged)
        self.assertEqual((damaged / "posterior.h5").read_bytes(), (self.model / "posterior.h5").read_bytes())
        for harm in ("gone", "cut off"):
            (damaged / "posterior.h5").unlink() if harm == "gone" else (damaged / "posterior.h5").write_bytes(bytes(content[:1000]))
            done = run("cosmo-infer", "--model", damaged, "--data", self.data, "--output", self.root / "none")
            self.assertIn("posterior.h5", error_line(done, "cosmo-infer"))
            words = ["cosmo-train", "--posterior-only", "--data", self.data, "--output", damaged]
            plan = succeed(*words, "--dry-run")
            self.assertEqual((plan["dry_run"], plan["up_to_date"]), (True, False))
            self.assertFalse(succeed(*words)["up_to_date"], harm)
            self.assertEqual((damaged / "posterior.h5").read_bytes(), (self.model / "posterior.h5").read_bytes(), harm)
            self.assertTrue(succeed(*words)["up_to_date"], harm)

    def test_universes_that_it_was_fitted_to_are_marked(self):
        for split in ("train", "validation"):
            done = run("cosmo-infer", "--model", self.model, "--data", self.data, "--split", split, "--output", self.root / f"of-{split}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("and its posterior was fitted to them", done.stderr)

    def test_a_widening_that_cannot_be_is_refused(self):
        forged = shutil.copytree(self.model, self.root / "forged")
        with h5py.File(forged / "posterior.h5", "r+") as file:
            attributes = file["of_universes"].attrs
            attributes["widening"] = [1e-9, *attributes["widening"][1:]]
        manifest = self.manifest(forged)
        record = next(record for record in manifest["files"] if record["path"] == "posterior.h5")
        record.update(sha256=hashlib.sha256((forged / "posterior.h5").read_bytes()).hexdigest(), bytes=(forged / "posterior.h5").stat().st_size)
        (forged / "manifest.json").write_text(json.dumps(manifest))
        done = run("cosmo-infer", "--model", forged, "--data", self.data, "--output", self.root / "none")
        self.assertEqual(done.returncode, FORMAT, done.stderr)
        self.assertIn("widening that cannot be", error_line(done, "cosmo-infer"))


if __name__ == "__main__":
    unittest.main()
