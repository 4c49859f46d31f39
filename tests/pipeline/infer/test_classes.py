"""Networks that predict the classes of the cosmic web, from cosmo-sim to cosmo-infer: what is measured of them against numpy."""

import json
import unittest

import h5py
import numpy as np
import onnx

import cosmo_data
from field_model import FieldModelTest
from onnx_torch import evaluate
from toolkit import error_line, run, succeed

USAGE, CONFIG, FORMAT = 2, 3, 5
BOX, VOXELS, WEB = 128, 16, "8:0.1"
CLASSES = ["void", "wall", "filament", "node"]
SUITE = ["generate", "--sigma8", "0.78:0.95", "--simulations", 8, "--box", BOX, "--particles", 32, "--steps", 5, "--grid", VOXELS, "--save", "counts,web"]


def confusion(truth, predicted):
    return np.array([[((truth == t) & (predicted == p)).sum() for p in range(4)] for t in range(4)])


def figures(table):
    """IoU and F1 of each class, and the two coefficients of Matthews, from the sums that define them."""
    hits, truths, predictions = np.diag(table), table.sum(1), table.sum(0)
    weights = table.ravel() / table.sum()
    truth, predicted = np.eye(4)[np.repeat(np.arange(4), 4)], np.eye(4)[np.tile(np.arange(4), 4)]

    def correlation(a, b):
        a, b = a - weights @ a, b - weights @ b
        return (weights @ (a * b)).sum() / np.sqrt((weights @ a**2).sum() * (weights @ b**2).sum())
    with np.errstate(invalid="ignore"):
        return {"iou": hits / (truths + predictions - hits), "f1": 2 * hits / (truths + predictions),
                "mcc": correlation(truth, predicted), "mcc_void": correlation(truth[:, :1], predicted[:, :1])}


def finder(counts, radius, threshold):
    """The classes that the counts have as a density."""
    n = len(counts)
    k = np.array(np.meshgrid(*[np.fft.fftfreq(n, BOX / n) * 2 * np.pi] * 3, indexing="ij"))
    square = (k**2).sum(0)
    potential = np.fft.fftn(counts / counts.mean() - 1) * np.exp(-square * radius**2 / 2) / np.where(square > 0, square, 1)
    slope = np.where(abs(k) > 0.999 * np.pi * n / BOX, 0, k)
    tensor = np.array([[np.fft.ifftn(potential * (k[i]**2 if i == j else slope[i] * slope[j])).real for j in range(3)] for i in range(3)])
    return (np.linalg.eigvalsh(np.moveaxis(tensor, (0, 1), (3, 4))) > threshold).sum(-1)


class ClassNetworks(FieldModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.suite, cls.data, cls.model, cls.out = (cls.root / name for name in ("suite", "data", "model", "out"))
        succeed("cosmo-sim", *SUITE, "--web", WEB, "--output", cls.suite)
        succeed("cosmo-prep", "shard", "--input", cls.suite, "--target", "web", "--subvolumes", 1, "--validation", 1, "--test", 2, "--output", cls.data)
        cls.words = ["--data", cls.data, "--target", "web", "--global-batch", 2]
        succeed("cosmo-train", *cls.words, "--epochs", 25, "--output", cls.model)
        cls.found = succeed("cosmo-infer", "--model", cls.model, "--data", cls.data, "--output", cls.out)
        cls.test = cosmo_data.Split(cls.data, "test")

    def classes(self, out):
        found = []
        for i in range(len(self.test)):
            with h5py.File(out / f"fields/simulation-{self.test.identity(i).simulation:05}.h5") as file:
                self.assertEqual((file.attrs["quantity"], file["web"].dtype, file["web"].shape), ("web", "u1", (VOXELS,) * 3))
                found.append(file["web"][:])
        return found

    def test_the_network_learns_and_its_manifest_states_the_classes(self):
        history = np.genfromtxt(self.model / "history.csv", delimiter=",", names=True)
        manifest, data = (json.loads((directory / "manifest.json").read_text()) for directory in (self.model, self.data))
        shares = np.array(data["target"]["statistics"]["voxels"]) / sum(data["target"]["statistics"]["voxels"])
        parts = shares * manifest["training"]["class_weights"]
        self.assertLess(history["validation_loss"][-1], 0.85 * -(parts * np.log(parts)).sum())  # that of predicting these shares everywhere
        self.assertGreater(history["macro_f1"][-1], history["macro_f1"][0] + 0.1)
        target = manifest["target"]
        self.assertEqual((target["classes"], target["web_radius_mpc_h"], target["web_threshold"], target["voxels"]),
                         (CLASSES, 8, 0.1, data["target"]["statistics"]["voxels"]))
        best = next(state for state in manifest["checkpoints"] if state["best"])
        self.assertEqual(manifest["validation"]["macro_f1"], history["macro_f1"][best["epoch"] - 1])
        self.assertEqual((manifest["network"]["name"], manifest["training"]["loss"]), ("webnet", "cross-entropy"))

    def test_the_training_measures_what_inference_does(self):
        found = succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--split", "validation", "--output", self.root / "validation")
        stated = json.loads((self.model / "manifest.json").read_text())["validation"]["macro_f1"]
        self.assertAlmostEqual(found["metrics"]["fields"]["web"]["macro_f1"], stated, delta=0.002)  # networks of other batches round otherwise

    def test_classes_are_weighted_by_their_shares(self):
        manifest = json.loads((self.model / "manifest.json").read_text())
        shares = np.array(manifest["target"]["voxels"]) / sum(manifest["target"]["voxels"])
        for exponent, words in ((0, ["--loss", "cross-entropy:0"]), (0.5, []), (1, ["--loss", "cross-entropy:1"])):
            output = self.root / f"weighted-{exponent}"
            succeed("cosmo-train", *self.words, "--epochs", 1, *words, "--output", output)
            weights = np.array(json.loads((output / "manifest.json").read_text())["training"]["class_weights"])
            np.testing.assert_allclose(weights, shares**-exponent / (shares * shares**-exponent).sum(), rtol=1e-12)

    def test_figures_are_numpys(self):
        metrics = self.found["metrics"]["fields"]["web"]
        predicted = self.classes(self.out)
        truths = [self.test.target(i) for i in range(len(self.test))]
        self.assertEqual(metrics["classes"], CLASSES)
        self.check(metrics, sum(confusion(t, p) for t, p in zip(truths, predicted)))
        truth = np.bincount(np.concatenate([t.ravel() for t in truths]), minlength=4)
        np.testing.assert_allclose([metrics["true_volume_shares"][name] for name in CLASSES], truth / truth.sum(), rtol=1e-12)
        base = metrics["baselines"]["finder"]
        scores = []
        for radius in base["smoothings"]:
            table = sum(confusion(t, finder(self.test.voxels(i).astype("f8"), radius, 0.1)) for i, t in enumerate(truths))
            scores.append(figures(table)["f1"])
            if radius == base["smoothing"]:
                self.assertLessEqual(abs(np.array(base["confusion"]) - table).max(), 4)  # voxels on the threshold
        np.testing.assert_allclose(base["macro_f1_of_smoothings"], np.nan_to_num(scores).mean(1), atol=0.01)
        self.assertEqual(base["smoothing"], base["smoothings"][np.argmax(base["macro_f1_of_smoothings"])])
        self.assertAlmostEqual(metrics["gain_over_finder"]["macro_f1"], metrics["macro_f1"] - base["macro_f1"], places=12)
        self.check(base, np.array(base["confusion"]))

    def check(self, metrics, table):
        np.testing.assert_array_equal(metrics["confusion"], table)
        expected = figures(table)
        for name in ("iou", "f1"):
            np.testing.assert_allclose([metrics[name][c] for c in CLASSES], expected[name], rtol=1e-9)
        for name in ("mcc", "mcc_void"):
            self.assertAlmostEqual(metrics[name], expected[name], places=9)
        self.assertAlmostEqual(metrics["macro_f1"], expected["f1"].mean(), places=12)
        np.testing.assert_allclose([metrics["volume_shares"][c] for c in CLASSES], table.sum(0) / table.sum(), rtol=1e-12)

    def test_universes_in_files(self):
        np.save(self.root / "own.npy", self.test.voxels(0))
        expected = self.classes(self.out)[0]
        succeed("cosmo-infer", "--model", self.model, "--input", self.root / "own.npy", "--box", BOX, "--output", self.root / "of-own")
        found = np.load(self.root / "of-own/fields/universe-00000.npy")
        self.assertEqual(found.dtype, "u1")
        np.testing.assert_array_equal(found, expected)
        succeed("cosmo-infer", "--model", self.model, "--input", self.suite / f"sim-{self.test.identity(0).simulation:05}/counts_z0.h5", "--output", self.root / "of-counts")
        with h5py.File(self.root / "of-counts/fields/universe-00000.h5") as file:
            np.testing.assert_array_equal(file["web"][:], expected)
        done = run("cosmo-infer", "--model", self.model, "--input", self.suite / "sim-00000/web_z0.h5", "--output", self.root / "of-web")
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("give the counts_z0.h5 beside it", error_line(done, "cosmo-infer"))

    def test_data_of_larger_boxes(self):
        suite, data, out = (self.root / f"large{name}" for name in ("", "-data", "-out"))
        self.shards_of(2 * VOXELS, 4, suite, data)
        found = succeed("cosmo-infer", "--model", self.model, "--data", data, "--output", out)
        self.assertTrue(any(warning.startswith("steps is 4 in the dataset and 5 in") for warning in found["metrics"]["warnings"]))
        self.assertGreater(found["metrics"]["fields"]["web"]["macro_f1"], 0.4)
        number = cosmo_data.Split(data, "test").identity(0).simulation
        found = succeed("cosmo-infer", "--model", self.model, "--input", suite / f"sim-{number:05}/counts_z0.h5", "--output", self.root / "large-input")
        self.assertFalse(any("is unlike the training data" in warning for warning in found["warnings"]), found["warnings"])
        with h5py.File(out / f"fields/simulation-{number:05}.h5") as one, h5py.File(self.root / "large-input/fields/universe-00000.h5") as other:
            self.assertEqual(one["web"].shape, (2 * VOXELS,) * 3)
            np.testing.assert_array_equal(one["web"][:], other["web"][:])
        dense = np.tile(self.test.voxels(0), (2, 2, 2))
        dense[VOXELS:] *= 3
        np.save(self.root / "dense.npy", dense)
        found = succeed("cosmo-infer", "--model", self.model, "--input", self.root / "dense.npy", "--box", 2 * BOX, "--output", self.root / "of-dense")
        self.assertTrue(any(warning.startswith("The mean count of a voxel is unlike the training data") for warning in found["warnings"]), found["warnings"])

    def test_data_of_boxes_that_it_cannot_take(self):
        for side, part in ((VOXELS // 2, "smaller than those of the training"), (VOXELS + 4, "give boxes whose sides its pools divide")):
            suite, data = self.root / f"side-{side}", self.root / f"side-{side}-data"
            self.shards_of(side, 2, suite, data)
            done = run("cosmo-infer", "--model", self.model, "--data", data, "--output", self.root / "no")
            self.assertEqual(done.returncode, CONFIG, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-infer"))

    def shards_of(self, side, steps, suite, data):
        succeed("cosmo-sim", "generate", "--simulations", 3, "--seed", 50, "--box", BOX * side / VOXELS, "--particles", 2 * side, "--steps", steps,
                "--grid", side, "--save", "counts,web", "--web", "6:0.1" if side < VOXELS else WEB, "--output", suite)
        succeed("cosmo-prep", "shard", "--input", suite, "--target", "web", "--subvolumes", 1, "--validation", 1, "--test", 1, "--output", data)

    def test_onnx_gives_logits(self):
        path = self.root / "model.onnx"
        self.assertNotIn("refusals", succeed("cosmo-infer", "export", "--model", self.model, "--output", path))
        graph = onnx.load(path)
        onnx.checker.check_model(graph, full_check=True)
        self.assertEqual([tensor.name for tensor in graph.graph.output], ["logits"])
        facts = {entry.key: entry.value for entry in graph.metadata_props}
        self.assertEqual((facts["target"], json.loads(facts["classes"])), ("web", CLASSES))
        self.assertEqual((facts["web_radius_mpc_h"], facts["web_threshold"]), ("8", "0.1"))
        self.assertIn("eigenvalues above 0.1 of the tidal tensor of the density smoothed by 8 Mpc/h", (self.out / "report.html").read_text())
        for i, expected in enumerate(self.classes(self.out)):
            logits = evaluate(graph, counts=self.test.voxels(i).astype("f4")[None, None])["logits"]
            close = np.diff(np.sort(logits[0], 0)[2:], axis=0)[0] < 1e-3
            np.testing.assert_array_equal(logits[0].argmax(0)[~close], expected[~close])
            self.assertLess(close.mean(), 0.01)

    def test_the_same_bytes_on_other_ranks_and_after_a_stop(self):
        self.assert_same_elsewhere("metrics.json", "report.html", f"fields/simulation-{self.test.identity(1).simulation:05}.h5")

    def test_ranks_share_universes(self):
        self.assert_same_shared(f"fields/simulation-{self.test.identity(1).simulation:05}.h5", tolerance=1e-3)  # one voxel in a thousand

    def test_tides_are_read_too(self):
        model, out, path = (self.root / f"tidal{name}" for name in ("", "-out", ".onnx"))
        succeed("cosmo-train", *self.words, "--tides", 8, "--epochs", 25, "--output", model)
        normalisation = json.loads((model / "manifest.json").read_text())["normalisation"]
        self.assertEqual([normalisation[key] for key in ("tides_mpc_h", "tides_offset", "tides_scale")], [8, 0.1, 30])
        found = succeed("cosmo-infer", "--model", model, "--data", self.data, "--output", out)
        self.assertGreater(found["metrics"]["fields"]["web"]["macro_f1"], self.found["metrics"]["fields"]["web"]["macro_f1"])
        succeed("cosmo-infer", "export", "--model", model, "--output", path)
        graph = onnx.load(path)
        self.assertEqual([tensor.name for tensor in graph.graph.input], ["counts", "tides"])
        counts = self.test.voxels(0).astype("f4")
        logits = evaluate(graph, counts=counts[None, None], tides=cosmo_data.tides(counts, 8 / (BOX / VOXELS)).astype("f4")[None])["logits"]
        with h5py.File(out / f"fields/simulation-{self.test.identity(0).simulation:05}.h5") as file:
            expected = file["web"][:]
        close = np.diff(np.sort(logits[0], 0)[2:], axis=0)[0] < 1e-3
        np.testing.assert_array_equal(logits[0].argmax(0)[~close], expected[~close])
        self.assertLess(close.mean(), 0.01)

    def test_the_page(self):
        page = (self.out / "report.html").read_text()
        for part in ("macro F1 of the predicted classes", "true class", "predicted filament", "prediction less truth", "finder, R = "):
            self.assertIn(part, page)
        self.assertNotIn("nan", page.lower().replace("nano", ""))

    def test_what_does_not_fit_is_refused(self):
        other = self.root / "other"
        succeed("cosmo-sim", *SUITE, "--seed", 30, "--web", "9:0.1", "--output", other)
        succeed("cosmo-prep", "shard", "--input", other, "--target", "web", "--subvolumes", 1, "--output", self.root / "other-data")
        empty = self.root / "empty"
        succeed("cosmo-sim", *SUITE, "--web", "8:2", "--output", empty)
        succeed("cosmo-prep", "shard", "--input", empty, "--target", "web", "--subvolumes", 1, "--output", self.root / "empty-data")
        linear, initial = self.root / "linear", self.root / "initial"
        succeed("cosmo-sim", *SUITE[:-1], "counts,initial", "--output", linear)
        succeed("cosmo-prep", "shard", "--input", linear, "--target", "initial", "--subvolumes", 1, "--output", initial)
        train, no = ["cosmo-train", "--data", self.data], ["--output", self.root / "no"]
        for code, parts, words in (
                (CONFIG, ["radius 9 Mpc/h", "radius 8 Mpc/h", "the same --web"], ["cosmo-infer", "--model", self.model, "--data", self.root / "other-data"]),
                (CONFIG, ["--test-for has classes of --web 8:0.1"], ["cosmo-prep", "shard", "--input", other, "--target", "web", "--test-for", self.model]),
                (CONFIG, ["--loss cross-entropy is of classes, not of a field"], ["cosmo-train", "--data", initial, "--target", "initial", "--loss", "cross-entropy"]),
                (CONFIG, ["No voxel of the training universes", "another --web"], ["cosmo-train", "--data", self.root / "empty-data", "--target", "web"]),
                (CONFIG, ["--loss mse is of numbers", "cross-entropy"], [*train, "--target", "web", "--loss", "mse"]),
                (CONFIG, ["--loss cross-entropy is of classes"], [*train, "--network", "cosmoflow32", "--loss", "cross-entropy"]),
                (CONFIG, ["cross-entropy:2 is outside of 0 to 1"], [*train, "--target", "web", "--loss", "cross-entropy:2"]),
                (CONFIG, ["no --target initial"], [*train, "--target", "initial"]),
                (CONFIG, ["--tides 64", "quarter of the box"], [*train, "--target", "web", "--tides", 64]),
                (CONFIG, ["--tides -1 is not positive"], [*train, "--target", "web", "--tides", -1]),
                (USAGE, ["--tides applies only with --target"], [*train, "--tides", 8, "--network", "cosmoflow32"]),
                (USAGE, ["--samples"], ["cosmo-infer", "--model", self.model, "--data", self.data, "--samples", 5])):
            done = run(*words, *no)
            self.assertEqual(done.returncode, code, done.stderr)
            for part in parts:
                self.assertIn(part, error_line(done, words[0]))
        done = run("cosmo-infer", "--model", self.model, "--input", self.suite, "--white-noise", self.root / "no-noise")
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("models of initial densities", error_line(done, "cosmo-infer"))


if __name__ == "__main__":
    unittest.main()
