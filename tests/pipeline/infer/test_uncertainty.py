"""Predicted deviations: likelihood training to the bit, columns and figures, ensembles."""

import csv
import json
import math
import unittest

import h5py
import numpy as np
import onnx

from onnx_torch import evaluate
from toolkit import DirectoryTest, PipelineTest, contents, error_line, has_bf16, make_suite, run, succeed

NAMES = ("omega_m", "sigma8", "n_s")
RANGES = {"omega_m": (0.25, 0.35), "sigma8": (0.78, 0.95), "n_s": (0.9, 1.0)}


def rows_of(path):
    with open(path) as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def below(value, low, high, centre, deviation):
    """The probability below a value of a normal variable between low and high."""
    at = lambda x: math.erf((x - centre) / deviation / math.sqrt(2))
    return (at(value) - at(low)) / (at(high) - at(low))


class Uncertainty(PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, loss, seed in (("gaussian", "gaussian", 1), ("other", "gaussian", 2), ("labels", "mae", 1)):
            cls.train(cls.root / name, "--loss", loss, "--seed", seed)

    @classmethod
    def train(cls, output, *words, ranks=1, epochs=3):
        return succeed("cosmo-train", *cls.train_words(), "--epochs", epochs, "--decay-epochs", 3, "--threads", 1,
                       "--output", output, *words, ranks=ranks)

    def infer(self, model, name, ranks=1):
        output = self.root / name
        metrics = succeed("cosmo-infer", "--model", model, "--data", self.data, "--split", "test", "--output", output,
                          ranks=ranks)["metrics"]
        return output, metrics

    def test_losses_that_predict_densities_are_replaced(self):
        done = run("cosmo-train", *self.train_words(), "--epochs", 1, "--loss", "gaussian", "--output", self.root / "replaced")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--loss gaussian is accepted until 0.5: a training with --loss mse ends with a posterior", done.stderr)

    def test_the_same_bits_twice_after_a_stop_and_on_any_ranks_their_own(self):
        for ranks in (1, 2):
            whole, parts = self.root / f"whole{ranks}", self.root / f"parts{ranks}"
            self.train(whole, "--loss", "gaussian", ranks=ranks)
            for epochs in (1, 2):
                self.train(parts, "--loss", "gaussian", "--resume" if epochs > 1 else "--quiet", epochs=epochs, ranks=ranks)
            self.train(parts, "--loss", "gaussian", "--resume", ranks=ranks)
            self.assertEqual(contents(parts), contents(whole), f"{ranks} ranks")
        self.assertEqual(contents(self.root / "whole1"), contents(self.root / "gaussian"))
        manifests = [json.loads((self.root / name / "manifest.json").read_text()) for name in ("whole1", "whole2")]
        self.assertEqual(manifests[0]["id"], manifests[1]["id"])

    def test_the_model_records_its_calibration(self):
        model = self.root / "gaussian"
        manifest = json.loads((model / "manifest.json").read_text())
        best = next(state for state in manifest["checkpoints"] if state["best"])
        row = rows_of(model / "history.csv")[best["epoch"] - 1]
        for kind in ("subvolume", "universe"):
            rows = [[f"{name}_{earlier}" for earlier in NAMES[:i]] + [name] for i, name in enumerate(NAMES)]
            columns = [f"calibration_per_{kind}_{entry}" for entries in rows for entry in entries]
            triangle = manifest["validation"][f"calibration_per_{kind}"]
            self.assertEqual(triangle, [row[column] for column in columns])
            self.assertTrue(all(0 < triangle[i] < 100 for i in (0, 2, 5)))
            self.assertTrue(all(0 < abs(triangle[i]) < 100 for i in (1, 3, 4)))
        self.assertEqual(manifest["network"]["layers"][-1]["outputs"], 9)
        self.assertNotIn("calibration_per_universe", json.loads((self.root / "labels" / "manifest.json").read_text())["validation"])

    def test_a_split_is_the_same_on_any_ranks_with_deviations_and_coverage(self):
        first, metrics = self.infer(self.root / "gaussian", "one-rank")
        second, _ = self.infer(self.root / "gaussian", "two-ranks", ranks=2)
        self.assertEqual(contents(first), contents(second))
        for kind, figures in (("universes", metrics), ("predictions", metrics["per_subvolume"])):
            rows, uncertainty = rows_of(first / f"{kind}.csv"), figures["uncertainty"]
            self.assertEqual(len(rows), 2 if kind == "universes" else 16)
            self.assertEqual(uncertainty["kind"], "gaussian")
            self.assertEqual(uncertainty["calibration"]["universes"], 2)
            self.assertLess(uncertainty["negative_log_likelihood"], 3 * math.log(2) + 10)
            for name in NAMES:
                low, high = RANGES[name]
                coverage = uncertainty["coverage"][name]
                self.assertLessEqual(0, coverage["within_1_sigma"])
                self.assertLessEqual(coverage["within_1_sigma"], coverage["within_2_sigma"])
                for row in rows:
                    self.assertTrue(low < row[f"predicted_{name}"] < high)  # the mean of the part inside
                    self.assertTrue(0 < row[f"deviation_{name}"] < (high - low) / 2)
                absolute = sum(abs(row[f"predicted_{name}"] - row[f"true_{name}"]) for row in rows) / len(rows)
                self.assertAlmostEqual(figures["network"][name]["mae"], 2 * absolute / (high - low), places=9)

    def test_a_universe_alone_is_predicted_as_in_its_split(self):
        models = (self.root / "gaussian", f"{self.root / 'gaussian'},{self.root / 'labels'}")
        for model, predictions in zip(models, ("for-one", "for-several")):
            output, _ = self.infer(model, predictions)
            row = rows_of(output / "universes.csv")[0]
            counts = self.sim / f"sim-{int(row['simulation']):05d}" / "counts_z0.h5"
            found = succeed("cosmo-infer", "--model", model, "--input", counts)["parameters"]
            for name in NAMES:
                self.assertEqual(found[name]["value"], row[f"predicted_{name}"])
                self.assertEqual(found[name]["error"], row[f"deviation_{name}"])

    def test_without_the_likelihood_the_deviation_is_the_validation_error(self):
        output, metrics = self.infer(self.root / "labels", "labels-predicted")
        validation = json.loads((self.root / "labels" / "manifest.json").read_text())["validation"]
        for kind, errors, figures in (("universes", validation["rmse_per_universe"], metrics),
                                      ("predictions", validation["rmse_per_subvolume"], metrics["per_subvolume"])):
            rows, loss = rows_of(output / f"{kind}.csv"), 0
            self.assertEqual(figures["uncertainty"]["kind"], "validation_rms")
            for name, error in zip(NAMES, errors):
                within = {1: 0, 2: 0}
                low, high = RANGES[name]
                for row in rows:
                    self.assertEqual(row[f"deviation_{name}"], error)
                    truth, centre = row[f"true_{name}"], row[f"predicted_{name}"]
                    share = below(truth, low, high, centre, error)
                    for sigma in within:
                        within[sigma] += abs(2 * share - 1) < math.erf(sigma / math.sqrt(2))
                    inside = (math.erf((high - centre) / error / math.sqrt(2)) -
                              math.erf((low - centre) / error / math.sqrt(2))) / 2
                    loss += ((truth - centre) / error) ** 2 / 2 + math.log(
                        error * 2 / (high - low) * math.sqrt(2 * math.pi) * inside)
                for sigma, count in within.items():
                    self.assertAlmostEqual(figures["uncertainty"]["coverage"][name][f"within_{sigma}_sigma"],
                                           count / len(rows), places=9)
            self.assertAlmostEqual(figures["uncertainty"]["negative_log_likelihood"], loss / len(rows), places=4)

    def test_an_ensemble_averages_and_adds_what_its_models_differ_by(self):
        outputs = [self.infer(self.root / name, f"alone-{name}")[0] for name in ("gaussian", "other")]
        together, metrics = self.infer(f"{self.root / 'gaussian'},{self.root / 'other'}", "together")
        self.assertEqual(metrics["uncertainty"]["kind"], "ensemble")
        self.assertEqual(metrics["uncertainty"]["models"], 2)
        ids = {json.loads((path / "manifest.json").read_text())["id"] for path in (*outputs, together)}
        self.assertEqual(len(ids), 3)
        for file in ("predictions.csv", "universes.csv"):
            for first, second, both in zip(*(rows_of(path / file) for path in (*outputs, together))):
                for name in NAMES:
                    values = [row[f"predicted_{name}"] for row in (first, second)]
                    variance = sum(row[f"deviation_{name}"] ** 2 for row in (first, second)) / 2
                    self.assertAlmostEqual(both[f"predicted_{name}"], sum(values) / 2, places=12)
                    self.assertAlmostEqual(both[f"deviation_{name}"],
                                           math.sqrt(variance + (values[0] - values[1]) ** 2 / 4), places=12)
        mixed, _ = self.infer(f"{self.root / 'gaussian'},{self.root / 'labels'}", "mixed")
        self.assertEqual(len(rows_of(mixed / "universes.csv")), 2)

    def test_what_cannot_work_is_refused(self):
        first = self.root / "gaussian"
        other = self.root / "other-voxels"
        self.train(other, "--voxels", "mean", epochs=1)
        split = ["--data", self.data, "--output", self.root / "refused"]
        link = self.root / "link"
        link.symlink_to(first)
        for code, words, part in ((3, ["--model", f"{first},{other}", *split], "normalisation"),
                                  (2, ["--model", f"{first},{first}", *split], "twice"),
                                  (3, ["--model", f"{first},{link}", *split], "the same weights"),
                                  (2, ["--model", f"{first},", *split], "empty"),
                                  (3, ["--model", f"{first},{other}", "--input", self.sim], "normalisation")):
            done = run("cosmo-infer", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-infer"))
        done = run("cosmo-train", "--data", self.data, "--network", "mlperf", "--loss", "gaussian", "--output",
                   self.root / "refused")
        self.assertEqual(done.returncode, 3)
        self.assertIn("tanh", error_line(done, "cosmo-train"))
        self.assertFalse((self.root / "refused").exists())


GRID = np.stack(np.meshgrid(*[(2 * np.arange(48) + 1) / 48 - 1] * 3, indexing="ij"), -1).reshape(-1, 3)


def limited(values, limit):
    return values / np.sqrt(1 + (values / limit)**2)


class Component:
    """The meaning of 9 outputs for three labels: the log of a Gaussian's density, uncut and but for a constant."""

    def __init__(self, outputs):
        self.centre, slopes = limited(outputs[:3], 10), limited(outputs[6:], 30)
        self.factor = np.diag(np.exp(limited(outputs[3:6], 7)))
        for value, (i, j) in zip(slopes, ((1, 0), (2, 0), (2, 1))):
            self.factor[i, j] = self.factor[i, i] * value

    def __call__(self, x):
        return -np.sum(((x - self.centre) @ self.factor.T)**2, axis=1) / 2


def mixture(outputs):
    """Weights and components of 30 outputs."""
    weights = np.exp(limited(outputs[27:], 7))
    return weights / weights.sum(), [Component(outputs[9 * k:9 * k + 9]) for k in range(3)]


def moments(weights, logs, about=0.0, matrix=np.eye(3)):
    """Mean and deviations on the grid of a mixture of cut densities, each mapped about a point."""
    density = 0
    for weight, log in zip(weights, logs):
        own = np.exp(log(about + (GRID - about) @ np.linalg.inv(matrix).T))
        density = density + weight * own / own.sum()
    mean = density @ GRID
    return mean, np.sqrt(density @ (GRID - mean)**2)


class Mixtures(PipelineTest):
    """--loss mixture from training to predictions, these against brute force over the outputs of its ONNX file."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        cls.train(cls.model)

    @classmethod
    def train(cls, output, *words, epochs=3):
        return succeed("cosmo-train", *cls.train_words(), "--loss", "mixture", "--epochs", epochs, "--decay-epochs", 3,
                       "--threads", 1, "--output", output, *words)

    def manifest(self):
        return json.loads((self.model / "manifest.json").read_text())

    def infer(self, name, *words, ranks=1):
        output = self.root / name
        return output, succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--baselines", "centre",
                               "--output", output, *words, ranks=ranks)["metrics"]

    def test_the_same_bits_after_a_stop(self):
        parts = self.root / "parts"
        for epochs in (1, 2, 3):
            self.train(parts, "--resume" if epochs > 1 else "--quiet", epochs=epochs)
        self.assertEqual(contents(parts), contents(self.model))
        manifest = self.manifest()
        self.assertEqual((manifest["config"]["loss"], manifest["config"]["components"]), ("mixture", 3))
        self.assertEqual(manifest["network"]["layers"][-1]["outputs"], 30)

    def said(self):
        """(simulation, subvolume) -> the network's outputs, of the test split, by PyTorch."""
        path = self.root / "model.onnx"
        if not path.exists():
            succeed("cosmo-infer", "export", "--model", self.model, "--output", path)
        model, outputs = onnx.load(path), {}
        self.assertEqual([value.name for value in model.graph.output], ["labels"])
        for shard in sorted((self.data / "test").glob("*.h5")):
            with h5py.File(shard) as file:
                labels = evaluate(model, counts=file["x"][...].astype(np.float32)[:, None])["labels"]
                keys = zip(file["simulation"][...].tolist(), file["subvolume"][...].tolist())
                outputs.update(zip(keys, labels.astype(float)))
        return outputs

    def assert_predicted(self, row, weights, logs, calibration):
        about, _ = moments(weights, logs)
        matrix = np.zeros((3, 3))
        matrix[np.tril_indices(3)] = calibration
        mean, deviation = moments(weights, logs, about, matrix)
        for p, name in enumerate(NAMES):
            low, high = RANGES[name]
            self.assertAlmostEqual(row[f"predicted_{name}"], (low + high) / 2 + mean[p] * (high - low) / 2,
                                   delta=2e-3 * (high - low))
            self.assertAlmostEqual(row[f"deviation_{name}"], deviation[p] * (high - low) / 2, delta=2e-3 * (high - low))

    def test_predictions_are_the_moments_of_the_mixture(self):
        output, metrics = self.infer("predictions")
        self.assertEqual(metrics["uncertainty"]["kind"], "mixture")
        validation, said = self.manifest()["validation"], self.said()
        rows = rows_of(output / "predictions.csv")
        self.assertEqual(len(rows), 16)
        weights = []
        for row in rows:
            own, logs = mixture(said[int(row["simulation"]), int(row["subvolume"])])
            weights.append(own)
            self.assert_predicted(row, own, logs, validation["calibration_per_subvolume"])
        self.assertGreater(np.ptp(weights), 0.01)  # the components are not all alike
        for row in rows_of(output / "universes.csv"):
            parts = [mixture(outputs) for key, outputs in said.items() if key[0] == int(row["simulation"])]
            self.assertEqual(len(parts), 8)
            integrals, logs = [], []
            for k in range(3):  # the geometric mean of the components k, each normalised
                masses = [np.log(np.exp(part[k](GRID)).sum()) for _, part in parts]
                together = lambda x, k=k: np.mean([part[k](x) for _, part in parts], axis=0)
                height = np.mean([np.log(own[k]) - mass for (own, _), mass in zip(parts, masses)])
                integrals.append(np.exp(together(GRID) + height).sum())
                logs.append(together)
            self.assert_predicted(row, np.array(integrals) / sum(integrals), logs, validation["calibration_per_universe"])

    def test_ranks_say_the_same_and_a_universe_alone_and_an_ensemble_work(self):
        first, metrics = self.infer("one")
        second, _ = self.infer("two", ranks=2)
        self.assertEqual(contents(first), contents(second))
        self.assertEqual(set(metrics["uncertainty"]["sbc"]["inside"]), set(NAMES))
        self.assertIn("mixture of Gaussians", (first / "report.html").read_text())
        row = rows_of(first / "universes.csv")[0]
        counts = self.sim / f"sim-{int(row['simulation']):05d}" / "counts_z0.h5"
        found = succeed("cosmo-infer", "--model", self.model, "--input", counts)["parameters"]
        for name in NAMES:
            self.assertEqual((found[name]["value"], found[name]["error"]), (row[f"predicted_{name}"], row[f"deviation_{name}"]))
        other = self.root / "gaussian"
        succeed("cosmo-train", *self.train_words(), "--loss", "gaussian", "--epochs", 1, "--output", other)
        both = succeed("cosmo-infer", "--model", f"{self.model},{other}", "--input", counts)["parameters"]
        alone = succeed("cosmo-infer", "--model", other, "--input", counts)["parameters"]
        for name in NAMES:
            self.assertAlmostEqual(both[name]["value"], (found[name]["value"] + alone[name]["value"]) / 2, places=12)

    def test_what_it_costs_is_reported_and_bf16_trains_it(self):
        plan = self.train(self.root / "planned", "--components", 5, "--dry-run")
        self.assertGreater(plan["memory_bytes_per_rank"], 0)
        self.assertFalse((self.root / "planned").exists())
        if has_bf16():
            output = self.root / "bf16"
            self.train(output, "--precision", "bf16", epochs=1)
            self.assertTrue(math.isfinite(rows_of(output / "history.csv")[0]["validation_loss"]))

    def test_what_cannot_work_is_refused(self):
        refused = self.root / "refused"
        for code, words, part in ((2, ["--loss", "gaussian", "--components", 2], "--components applies only with --loss mixture"),
                                  (2, ["--loss", "gaussian:2"], "only mixture takes a number"),
                                  (3, ["--loss", "mixture:9"], "between 1 and 8"),
                                  (3, ["--loss", "mixture:0"], "between 1 and 8"),
                                  (3, ["--loss", "mixture", "--baseline", "summary-statistics"],
                                   "--loss mixture predicts distributions"),
                                  (3, ["--loss", "mixture:2", "--init-from", self.model], "--loss mixture:3: give the same")):
            for ranks in (1, 2):
                done = run("cosmo-train", *self.train_words(), "--output", refused, *words, ranks=ranks)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(part, error_line(done, "cosmo-train"))
        self.assertFalse(refused.exists())


def philox(counter):
    """The four words of Philox4x32-10 (Salmon et al. 2011) with the key 0."""
    keys, words = [0, 0], list(counter)
    for _ in range(10):
        products = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [(products[1] >> 32) ^ words[1] ^ keys[0], products[1] & 0xFFFFFFFF,
                 (products[0] >> 32) ^ words[3] ^ keys[1], products[0] & 0xFFFFFFFF]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words


def reference_point(universe, parameters):
    """Uniform in [-1, 1], as core/random has it for Purpose::reference_point."""
    words = [philox((universe, p, 0, 15)) for p in range(parameters)]
    return np.array([2 * (((high << 32 | low) >> 11) * 2.0**-53) - 1 for high, low, *_ in words])


def simulated_band(numbers, probabilities, counts_of, parameters, sets=20000):
    """Lowest and highest counts of the band that contains all counts of uniform numbers together: this check and two for each
    parameter shall hold in 95 % of all cases."""
    chances = [[math.comb(numbers, x) * p**x * (1 - p)**(numbers - x) for x in range(numbers + 1)] for p in probabilities]
    tails = [np.minimum(np.cumsum(chance), np.cumsum(chance[::-1])[::-1]) for chance in chances]
    drawn = np.random.default_rng(1).random((sets, numbers))
    level = np.sort([min(tail[x] for tail, x in zip(tails, counts_of(row))) for row in drawn])[int(sets * (1 - 0.95 ** (1 / (2 * parameters + 1))))]
    held = [np.flatnonzero(tail >= level) for tail in tails]
    return np.array([[inside[0], inside[-1]] for inside in held])


class Calibration(DirectoryTest):
    """Ranks, coverage and their bands against numpy, of 60 universes of random particles and Gaussians in closed form: the model has
    too few universes for a posterior."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_suite(cls.root / "sim", 83, 8)
        cls.data, cls.model = cls.root / "data", cls.root / "model"
        succeed("cosmo-prep", "shard", "--input", cls.root / "sim", "--subvolumes", 1, "--validation", 10, "--test", 60,
                "--output", cls.data)
        (cls.root / "tiny.json").write_text(json.dumps({"name": "tiny", "input": "grid", "layers": [
            {"name": "labels", "inputs": ["grid"], "kind": "dense", "outputs": 0, "slope": 1}]}))
        succeed("cosmo-train", "--data", cls.data, "--network", cls.root / "tiny.json", "--epochs", 2, "--global-batch", 8,
                "--output", cls.model)
        cls.predictions = cls.root / "predictions"
        cls.metrics = cls.infer(cls.predictions)

    @classmethod
    def infer(cls, output, *words, ranks=1):
        return succeed("cosmo-infer", "--model", cls.model, "--data", cls.data, "--baselines", "centre", "--output", output,
                       *words, ranks=ranks)["metrics"]

    def labels(self):
        """Numbers of the universes, and truths, centres and deviations (universes, P) in label units."""
        rows = rows_of(self.predictions / "universes.csv")
        space = json.loads((self.model / "manifest.json").read_text())["parameters"]
        names = space["names"]
        low, high = np.array(space["low"]), np.array(space["high"])
        values = [np.array([[row[f"{kind}_{name}"] for name in names] for row in rows])
                  for kind in ("true", "predicted", "deviation")]
        return (names, [int(row["simulation"]) for row in rows], (2 * values[0] - low - high) / (high - low),
                (2 * values[1] - low - high) / (high - low), 2 * values[2] / (high - low))

    def test_ranks_are_cumulative_probabilities(self):
        names, _, truths, centres, deviations = self.labels()
        sbc = self.metrics["uncertainty"]["sbc"]
        band = simulated_band(60, [1 / 20] * 20, lambda row: np.histogram(row, 20, (0, 1))[0], len(names))[0]
        self.assertLessEqual(abs(np.array(sbc["band"]) - band).max(), 1)
        for p, name in enumerate(names):
            ranks = [below(*values) for values in zip(truths[:, p], [-1] * 60, [1] * 60, centres[:, p], deviations[:, p])]
            counts = np.histogram(ranks, 20, (0, 1))[0]
            self.assertEqual(sbc["counts"][name], counts.tolist())
            self.assertEqual(sbc["inside"][name], bool(max(counts) <= sbc["band"][1] and min(counts) >= sbc["band"][0]))

    def test_central_intervals_hold_their_share_of_truths(self):
        names, _, truths, centres, deviations = self.labels()
        uncertainty = self.metrics["uncertainty"]
        intervals = uncertainty["intervals"]
        lengths = [math.erf(n / math.sqrt(2)) for n in (1, 2)]
        np.testing.assert_allclose(intervals["probability"], lengths, rtol=1e-14)
        band = simulated_band(60, lengths, lambda row: [np.sum(abs(2 * row - 1) < length) for length in lengths], len(names))
        self.assertLessEqual(abs(np.array(intervals["band"]) - band).max(), 1)
        for p, name in enumerate(names):
            ranks = np.array([below(*values) for values in zip(truths[:, p], [-1] * 60, [1] * 60, centres[:, p], deviations[:, p])])
            counts = [int(np.sum(abs(2 * ranks - 1) < length)) for length in lengths]
            self.assertEqual(intervals["counts"][name], counts)
            self.assertEqual(counts, [round(60 * uncertainty["coverage"][name][f"within_{n}_sigma"]) for n in (1, 2)])
            self.assertEqual(intervals["inside"][name], all(low <= count <= high for count, (low, high) in zip(counts, intervals["band"])))
        self.assertEqual(uncertainty["calibrated"], uncertainty["tarp"]["inside"] and all(
            verdict for check in ("sbc", "intervals") for verdict in uncertainty[check]["inside"].values()))

    def test_coverage_is_the_share_of_truths_nearer_than_draws(self):
        _, universes, truths, centres, deviations = self.labels()
        rng, credibilities = np.random.default_rng(2), []
        for universe, truth, centre, deviation in zip(universes, truths, centres, deviations):
            draws = np.empty((4000, len(truth)))
            for p in range(len(truth)):
                tried = rng.normal(centre[p], deviation[p], 400_000)
                draws[:, p] = tried[abs(tried) < 1][:4000]
            point = reference_point(universe, len(truth))
            credibilities.append(np.mean(np.linalg.norm(draws - point, axis=1) < np.linalg.norm(truth - point)))
        tarp, found = self.metrics["uncertainty"]["tarp"], np.array(credibilities)
        band = simulated_band(60, [edge / 20 for edge in range(1, 20)],
                              lambda row: np.cumsum(np.histogram(row, 20, (0, 1))[0])[:-1], truths.shape[1]) / 60
        self.assertEqual(tarp["credibility"], [edge / 20 for edge in range(1, 20)])
        inside = True
        for i, edge in enumerate(tarp["credibility"]):
            self.assertLessEqual(np.mean(found < edge - 0.08), tarp["coverage"][i] + 1e-9)
            self.assertGreaterEqual(np.mean(found < edge + 0.08), tarp["coverage"][i] - 1e-9)
            self.assertLessEqual(abs(tarp["band_low"][i] - band[i][0]), 1.01 / 60)
            self.assertLessEqual(abs(tarp["band_high"][i] - band[i][1]), 1.01 / 60)
            inside &= tarp["band_low"][i] <= tarp["coverage"][i] <= tarp["band_high"][i]
        self.assertEqual(tarp["inside"], inside)

    def test_any_ranks_and_threads_give_the_same_and_the_text_and_the_page_show_it(self):
        for name, words, ranks in (("one", ["--threads", 1], 1), ("two", ["--threads", 2], 1), ("ranks", [], 2)):
            self.infer(self.root / name, *words, ranks=ranks)
            self.assertEqual(contents(self.root / name), contents(self.predictions))
        done = run("cosmo-infer", "--model", self.model, "--data", self.data, "--baselines", "centre", "--output",
                   self.root / "text")
        verdict = {True: "inside", False: "OUTSIDE"}
        uncertainty = self.metrics["uncertainty"]
        ranks, within = (", ".join(f"{name} {verdict[uncertainty[check]['inside'][name]]}" for name in self.labels()[0])
                         for check in ("sbc", "intervals"))
        self.assertIn(f"ranks of {ranks}; intervals of {within}; joint coverage (TARP) {verdict[uncertainty['tarp']['inside']]}",
                      done.stdout)
        self.assertNotIn("sbc", self.metrics["per_subvolume"]["uncertainty"])
        page = (self.root / "text" / "report.html").read_text()
        self.assertIn("stay within their bands", page)
        self.assertTrue((self.root / "text" / "figures" / "coverage.svg").exists())


if __name__ == "__main__":
    unittest.main()
