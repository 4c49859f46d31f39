"""Networks that predict fields, from cosmo-sim to cosmo-infer: what they read and what is measured of them against numpy."""

import json
import unittest

import h5py
import numpy as np
import onnx

import cosmo_data
from field_model import FieldModelTest
from onnx_torch import evaluate
from toolkit import STOPPED, DirectoryTest, error_line, printed, run, succeed

USAGE, CONFIG = 2, 3
BOX, VOXELS, RADIUS = 128, 16, 16
SUITE = ["generate", "--sigma8", "0.78:0.95", "--simulations", 8, "--box", BOX, "--particles", 32, "--steps", 5, "--grid", VOXELS, "--save", "counts,initial"]


def waves(n):
    k = 2 * np.pi * np.fft.fftfreq(n)
    return np.meshgrid(k, k, k[:n // 2 + 1] * np.where(np.arange(n // 2 + 1) == n // 2, -1, 1), indexing="ij")


def reconstruction(counts, smoothing):
    """The standard reconstruction, by which a field is judged; `smoothing` in voxels."""
    n = len(counts)
    excess = counts / counts.mean() - 1
    k = waves(n)
    square = sum(axis**2 for axis in k)
    square[0, 0, 0] = 1
    modes = np.fft.rfftn(excess) * np.exp(-square * smoothing**2 / 2) / square
    modes[0, 0, 0] = 0
    nyquist = np.isclose(np.abs(np.array(k)), np.pi)
    places = [axis - np.fft.irfftn(np.where(edge, 0, 1j * wave * modes), counts.shape, axes=(0, 1, 2))
              for axis, wave, edge in zip(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), k, nyquist)]
    moved = np.zeros(counts.shape)
    first = [np.floor(place).astype(int) for place in places]
    for corner in np.ndindex(2, 2, 2):
        share = np.prod([np.where(c, place - low, 1 - (place - low)) for c, place, low in zip(corner, places, first)], axis=0)
        np.add.at(moved, tuple((low + c) % n for c, low in zip(corner, first)), excess * share)
    return moved


def spectra(fields, truths, box, width=0.02):
    """k, r and T of all modes of all universes."""
    n = len(truths[0])
    k = np.sqrt(sum(axis**2 for axis in waves(n))) * n / box
    inside = np.max(np.abs(np.array(waves(n))), axis=0) < np.pi - 1e-9
    weight = np.where(np.arange(n // 2 + 1) == 0, 1, 2) * inside * (k > 0)
    bins = (k / width + 1e-12).astype(int)
    found = np.zeros((3, int(np.ceil(np.pi * n / box / width))))
    for field, truth in zip(fields, truths):
        p, t = np.fft.rfftn(field), np.fft.rfftn(truth)
        for row, value in enumerate((abs(p)**2, abs(t)**2, (p * t.conj()).real)):
            for bin in range(found.shape[1]):
                found[row, bin] += (value * weight)[bins == bin].sum()
    there = found[1] > 0
    pp, tt, pt = found[:, there]
    return (np.arange(len(there))[there] + 0.5) * width, pt / np.sqrt(pp * tt), np.sqrt(pp / tt)


class FieldNetworks(FieldModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.suite, cls.data, cls.model, cls.out = (cls.root / name for name in ("suite", "data", "model", "out"))
        succeed("cosmo-sim", *SUITE, "--output", cls.suite)
        succeed("cosmo-prep", "shard", "--input", cls.suite, "--target", "initial", "--subvolumes", 1, "--validation", 1, "--test", 2, "--output", cls.data)
        cls.words = ["--data", cls.data, "--target", "initial", "--reconstruct", RADIUS, "--global-batch", 2]
        succeed("cosmo-train", *cls.words, "--epochs", 20, "--output", cls.model)
        cls.found = succeed("cosmo-infer", "--model", cls.model, "--data", cls.data, "--output", cls.out)
        cls.test = cosmo_data.Split(cls.data, "test")

    def fields(self, out):
        found = []
        for i in range(len(self.test)):
            with h5py.File(out / f"fields/simulation-{self.test.identity(i).simulation:05}.h5") as file:
                self.assertEqual((file.attrs["quantity"], file.attrs["box"], file.attrs["voxel"]), ("initial", BOX, BOX / VOXELS))
                self.assertEqual(file.attrs["seed"], self.test.identity(i).seed)
                found.append(file["initial"][:].astype("f8"))
        return found

    def test_the_network_learns(self):
        history = np.genfromtxt(self.model / "history.csv", delimiter=",", names=True)
        self.assertLess(history["validation_loss"][-1], 0.8 * history["validation_loss"][0])
        self.assertLess(history["train_loss"][-1], 0.8)  # that of predicting the mean is 1

    def test_correlation_and_transfer_are_numpys(self):
        metrics = self.found["metrics"]["fields"]["initial"]
        truths = [self.test.target(i).astype("f8") for i in range(len(self.test))]
        counts = [self.test.voxels(i).astype("f8") for i in range(len(self.test))]
        k, r, t = spectra(self.fields(self.out), truths, BOX)
        np.testing.assert_allclose(metrics["k"], k, rtol=1e-12)
        np.testing.assert_allclose(metrics["r"], r, atol=1e-5)
        np.testing.assert_allclose(metrics["t"], t, rtol=1e-5)
        _, r, _ = spectra(counts, truths, BOX)
        np.testing.assert_allclose(metrics["baselines"]["counts"]["r"], r, atol=1e-5)
        standard = metrics["baselines"]["standard"]
        _, r, t = spectra([reconstruction(c, standard["smoothing"] / (BOX / VOXELS)) for c in counts], truths, BOX)
        np.testing.assert_allclose(standard["r"], r, atol=1e-4)
        np.testing.assert_allclose(standard["t"], t, rtol=1e-4)
        np.testing.assert_allclose(metrics["gain_over_standard"], np.subtract(metrics["r"], standard["r"]), atol=1e-12)
        iterative = metrics["baselines"]["iterative"]
        _, r, t = spectra([cosmo_data.reconstruct(c, iterative["smoothing"] / (BOX / VOXELS)) for c in counts], truths, BOX)
        np.testing.assert_allclose(iterative["r"], r, atol=1e-4)
        np.testing.assert_allclose(iterative["t"], t, rtol=1e-4)
        self.assertGreater(np.mean(iterative["r"]), np.mean(standard["r"]) + 0.05)

    def test_universes_in_files(self):
        i, split = 0, self.test
        np.save(self.root / "own.npy", split.voxels(i))
        np.save(self.root / "large.npy", np.tile(split.voxels(i), (2, 2, 2)))
        expected = self.fields(self.out)[i]
        for name, box in (("own", BOX), ("large", 2 * BOX)):
            out = self.root / f"of-{name}"
            succeed("cosmo-infer", "--model", self.model, "--input", self.root / f"{name}.npy", "--box", box, "--output", out)
            field = np.load(out / "fields/universe-00000.npy")
            np.testing.assert_allclose(field, np.tile(expected, (len(field) // VOXELS,) * 3), atol=2e-4 * np.std(expected))
        out = self.root / "of-counts"
        succeed("cosmo-infer", "--model", self.model, "--input", self.suite / f"sim-{split.identity(i).simulation:05}/counts_z0.h5", "--output", out)
        with h5py.File(out / "fields/universe-00000.h5") as file:
            np.testing.assert_array_equal(file["initial"][:], expected.astype("f4"))

    def test_universes_that_are_not_new_or_unlike_the_training_are_named(self):
        out = self.root / "seen"
        done = run("cosmo-infer", "--model", self.model, "--data", self.data, "--split", "train", "--output", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('class="alarm" role="alert">The network was trained on these very universes', (out / "report.html").read_text())
        self.assertNotIn('class="alarm"', (self.out / "report.html").read_text())
        messages = []
        for ranks in (1, 2):
            out = self.root / f"suite-{ranks}"
            done = run("cosmo-infer", "--model", self.model, "--input", self.suite, "--output", out, ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            messages.append(json.loads((out / "manifest.json").read_text())["warnings"])
        self.assertEqual(*messages)
        self.assertTrue(any("the model was trained on" in message for message in messages[0]), messages[0])
        strange = self.test.voxels(0).copy()
        strange[:VOXELS // 2] = strange[VOXELS // 2:] * 3
        np.save(self.root / "strange.npy", strange)
        done = run("cosmo-infer", "--model", self.model, "--input", self.root / "strange.npy", "--box", BOX, "--output", self.root / "of-strange")
        self.assertIn("unlike the training data", done.stderr)

    def test_data_of_other_kinds_are_refused(self):
        pairs, cut, rolled = self.root / "pairs", self.root / "cut", self.root / "rolled"
        succeed("cosmo-prep", "export", "--input", self.data, "--format", "npy", "--output", pairs)
        for path in pairs.glob("*/*.npy"):
            np.save(path, np.load(path).astype("f4"))
        succeed("cosmo-prep", "import", "--format", "npy", "--voxels", "field", "--input", pairs, "--samples", pairs / "samples.csv", "--box", BOX,
                "--parameters", "sigma8=0.7:1", "--output", self.root / "floats")
        shard = ["cosmo-prep", "shard", "--input", self.suite, "--target", "initial", "--validation", 1, "--test", 2]
        succeed(*shard, "--subvolumes", 2, "--output", cut)
        succeed(*shard, "--subvolumes", 1, "--rolls", 2, "--grid", VOXELS, "--output", rolled)
        no = ["--output", self.root / "no"]
        self.refused(CONFIG, ["holds fields", "--voxels counts"], "cosmo-train", "--data", self.root / "floats", "--target", "initial", *no)
        self.refused(CONFIG, ["holds sub-volumes", "--subvolumes 1"], "cosmo-train", "--data", cut, "--target", "initial", *no)
        self.refused(CONFIG, ["rolled universes"], "cosmo-infer", "--model", self.model, "--data", rolled, "--split", "train", *no)

    def test_networks_of_several_trainings_are_averaged_in_physical_units(self):
        data, model = self.root / "other-data", self.root / "other-model"
        succeed("cosmo-prep", "shard", "--input", self.suite, "--target", "initial", "--subvolumes", 1, "--validation", 1, "--test", 4, "--seed", 5,
                "--output", data)
        succeed("cosmo-train", "--data", data, *self.words[2:], "--epochs", 2, "--seed", 3, "--output", model)
        scales = [json.loads((directory / "manifest.json").read_text())["target"]["scale"] for directory in (self.model, model)]
        self.assertNotEqual(*scales)
        np.save(self.root / "one.npy", self.test.voxels(0))
        fields = []
        for i, models in enumerate((self.model, model, f"{self.model},{model}")):
            out = self.root / f"average-{i}"
            succeed("cosmo-infer", "--model", models, "--input", self.root / "one.npy", "--box", BOX, "--output", out)
            fields.append(np.load(out / "fields/universe-00000.npy"))
        np.testing.assert_allclose(fields[2], (fields[0] + fields[1]) / 2, atol=1e-6 * np.ptp(fields[0]))

    def test_a_field_in_place_of_counts_is_refused(self):
        done = run("cosmo-infer", "--model", self.model, "--input", next(self.root.glob("*/sim-00000/initial_z0.h5")), "--output", self.root / "of-field")
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("give the counts_z0.h5 beside it", error_line(done, "cosmo-infer"))

    def test_onnx(self):
        path = self.root / "model.onnx"
        succeed("cosmo-infer", "export", "--model", self.model, "--output", path)
        graph = onnx.load(path)
        onnx.checker.check_model(graph, full_check=True)
        self.assertEqual([tensor.name for tensor in graph.graph.input], ["counts", "reconstruction"])
        for i, expected in enumerate(self.fields(self.out)):
            counts = self.test.voxels(i).astype("f4")
            inputs = {"counts": counts, "reconstruction": cosmo_data.reconstruct(counts, RADIUS / (BOX / VOXELS)).astype("f4")}
            found = evaluate(graph, **{name: values[None, None] for name, values in inputs.items()})["field"]
            np.testing.assert_allclose(found[0, 0], expected, atol=1e-4 * np.ptp(expected))

    def test_the_same_bytes_on_other_ranks_and_after_a_stop(self):
        self.assert_same_elsewhere("metrics.json", "report.html")

    def test_ranks_share_universes(self):
        name = f"fields/simulation-{self.test.identity(1).simulation:05}.h5"
        with h5py.File(self.out / name) as file:
            deviation = file["initial"][()].std()
        self.assert_same_shared(name, tolerance=1e-5 * deviation)
        counts = self.suite / f"sim-{self.test.identity(1).simulation:05}/counts_z0.h5"
        out = self.root / "shared-input"
        succeed("cosmo-infer", "--model", self.model, "--input", counts, "--ranks-per-sample", 2, "--output", out, ranks=2)
        with h5py.File(out / "fields/universe-00000.h5") as file, h5py.File(self.out / name) as of_split:
            np.testing.assert_allclose(file["initial"], of_split["initial"], atol=1e-4 * deviation)
        done = run("cosmo-infer", "--model", self.model, "--input", counts, "--ranks-per-sample", 3, "--output", self.root / "no", ranks=2)
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("--ranks-per-sample 3 does not divide the number of ranks, 2", error_line(done, "cosmo-infer"))

    def test_the_page_and_the_summary(self):
        page = (self.out / "report.html").read_text()
        for part in ("predicted field correlates with the true one", "figures/correlation.svg", "prediction less truth"):
            self.assertTrue(part in page or part == "figures/correlation.svg" and (self.out / part).exists(), part)
        text = printed("cosmo-infer", "--model", self.model, "--data", self.data, "--output", self.root / "text")
        self.assertIn("iterative, R = ", text)

    def refused(self, code, parts, *words):
        done = run(*words)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, error_line(done, words[0]))

    def test_what_does_not_fit_is_refused(self):
        no = ["--output", self.root / "no"]
        plain = self.root / "plain"
        succeed("cosmo-prep", "shard", "--input", self.suite, "--subvolumes", 1, "--validation", 1, "--test", 2, "--output", plain)
        infer, train = ["cosmo-infer", "--model", self.model], ["cosmo-train", "--data", self.data]
        for code, parts, words in (
                (CONFIG, ["predicts a field and no parameters", "--target"], [*train, "--network", "reconet"]),
                (CONFIG, ["--reconstruct 64", "quarter of the box"], [*train, "--target", "initial", "--reconstruct", 64]),
                (USAGE, ["--reconstruct applies only with --target"], [*train, "--reconstruct", 8, "--network", "cosmoflow32"]),
                (CONFIG, ["--loss gaussian"], [*train, "--target", "initial", "--loss", "gaussian"]),
                (CONFIG, ["no --target initial", "cosmo-prep shard --target initial"], ["cosmo-train", "--data", plain, "--target", "initial"]),
                (CONFIG, ["no target initial"], [*infer, "--data", plain]),
                (USAGE, ["--samples"], [*infer, "--data", self.data, "--samples", 5]),
                (USAGE, ["--baselines"], [*infer, "--data", self.data, "--baselines", "centre"])):
            self.refused(code, parts, *words, *no)
        self.refused(CONFIG, ["predicts the field initial"], "cosmo-infer", "compare", self.model, self.model)
        self.refused(USAGE, ["give --output"], *infer, "--input", self.suite)


class VelocityTest(DirectoryTest):
    """Networks that read velocities beside the counts."""

    UNIVERSES, EPOCHS = 8, 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.suite, cls.data, cls.model, cls.out = (cls.root / name for name in ("suite", "data", "model", "out"))
        suite = [cls.UNIVERSES if word == 8 else word for word in SUITE[:-1]]
        succeed("cosmo-sim", *suite, "counts,initial,velocity", "--output", cls.suite)
        cls.shard = ["shard", "--input", cls.suite, "--target", "initial", "--subvolumes", 1, "--validation", 1, "--test", 2]
        succeed("cosmo-prep", *cls.shard, "--velocity", "--output", cls.data)
        cls.words = ["--target", "initial", "--reconstruct", RADIUS, "--global-batch", 2, "--epochs", cls.EPOCHS]
        succeed("cosmo-train", "--data", cls.data, *cls.words, "--output", cls.model)
        cls.found = succeed("cosmo-infer", "--model", cls.model, "--data", cls.data, "--output", cls.out)
        cls.test = cosmo_data.Split(cls.data, "test")


class HelpOfVelocities(VelocityTest):
    LABELS = ("slow",)
    UNIVERSES, EPOCHS = 24, 20

    def test_they_help(self):
        data, model = self.root / "still", self.root / "still-model"
        succeed("cosmo-prep", *self.shard, "--output", data)
        succeed("cosmo-train", "--data", data, *self.words, "--output", model)
        without = succeed("cosmo-infer", "--model", model, "--data", data, "--output", self.root / "still-out")
        r = [np.mean(found["metrics"]["fields"]["initial"]["r"]) for found in (self.found, without)]
        self.assertGreater(r[0], r[1] + 0.005)


class Velocities(VelocityTest):
    def field(self, out, name):
        with h5py.File(out / f"fields/{name}.h5") as file:
            return file["initial"][:]

    def folder(self, i):
        return self.suite / f"sim-{self.test.identity(i).simulation:05}"

    def test_universes_in_files(self):
        expected = self.field(self.out, f"simulation-{self.test.identity(0).simulation:05}")
        for name, given in (("file", self.folder(0) / "counts_z0.h5"), ("folder", self.folder(0))):
            succeed("cosmo-infer", "--model", self.model, "--input", given, "--output", self.root / name)
            np.testing.assert_array_equal(self.field(self.root / name, "universe-00000"), expected)
        np.save(self.root / "own.npy", self.test.voxels(0))
        done = run("cosmo-infer", "--model", self.model, "--input", self.root / "own.npy", "--box", BOX, "--output", self.root / "no")
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("--save counts,velocity", error_line(done, "cosmo-infer"))
        swapped = self.root / "swapped"
        swapped.mkdir()
        for name, folder in (("counts_z0.h5", self.folder(0)), ("velocity_z0.h5", self.folder(1))):
            (swapped / name).write_bytes((folder / name).read_bytes())
        done = run("cosmo-infer", "--model", self.model, "--input", swapped / "counts_z0.h5", "--output", self.root / "no")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("has not the velocities of", error_line(done, "cosmo-infer"))
        thinned = [2 if word == 8 else word for word in SUITE[:-1]]
        succeed("cosmo-sim", *thinned, "counts,velocity", "--tracers", "1/2", "--output", self.root / "thinned")
        done = run("cosmo-infer", "--model", self.model, "--input", self.root / "thinned/sim-00000", "--output", self.root / "no")
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("without --tracers", error_line(done, "cosmo-infer"))

    def test_one_universe_gives_no_errors(self):
        one = self.root / "one-universe"
        succeed("cosmo-prep", *self.shard[:-1], 1, "--velocity", "--output", one)
        text = printed("cosmo-infer", "--model", self.model, "--data", one, "--allow-leak", "--output", self.root / "of-one")
        self.assertIn("one universe gives no errors", text)

    def test_data_without_velocities_are_refused(self):
        succeed("cosmo-prep", *self.shard, "--output", self.root / "none")
        done = run("cosmo-infer", "--model", self.model, "--data", self.root / "none", "--output", self.root / "no")
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("cosmo-prep shard --velocity", error_line(done, "cosmo-infer"))

    def test_onnx(self):
        path = self.root / "model.onnx"
        succeed("cosmo-infer", "export", "--model", self.model, "--output", path)
        graph = onnx.load(path)
        self.assertEqual([tensor.name for tensor in graph.graph.input], ["counts", "velocity", "reconstruction"])
        counts = self.test.voxels(0).astype("f4")
        inputs = {"counts": counts[None], "velocity": self.test.velocity(0),
                  "reconstruction": cosmo_data.reconstruct(counts, RADIUS / (BOX / VOXELS)).astype("f4")[None]}
        found = evaluate(graph, **{name: values[None] for name, values in inputs.items()})["field"]
        expected = self.field(self.out, f"simulation-{self.test.identity(0).simulation:05}")
        np.testing.assert_allclose(found[0, 0], expected, atol=1e-4 * np.ptp(expected))

    def test_the_same_bytes_on_any_readers_and_after_a_stop(self):
        words = ["cosmo-train", "--data", self.data, *self.words, "--deterministic", "any"]
        succeed(*words, "--output", self.root / "one")
        succeed(*words, "--readers", 0, "--output", self.root / "none-ahead")
        stopped = run(*words, "--time-limit", "1e-5", "--output", self.root / "stopped", ranks=2)
        self.assertEqual(stopped.returncode, STOPPED, stopped.stderr)
        succeed(*words, "--output", self.root / "stopped")
        self.assertEqual(len({(self.root / name / "history.csv").read_text() for name in ("one", "none-ahead", "stopped")}), 1)


if __name__ == "__main__":
    unittest.main()
