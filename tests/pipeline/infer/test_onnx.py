"""ONNX files of whole models: the regression and the posterior are nodes of the graph, and agree with cosmo-infer."""

import csv
import hashlib
import json
import shutil
import unittest

import h5py
import numpy as np
import onnx

import synthetic
from onnx_torch import evaluate
from toolkit import DirectoryTest, make_once, run, succeed

# For octants of 16³ voxels.
SMALL = {"name": "small", "input": "grid", "layers": [
    {"name": "a", "inputs": ["grid"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": 1, "slope": 0.1},
    {"name": "b", "inputs": ["a"], "kind": "average_pool", "size": 4, "stride": 4},
    {"name": "c", "inputs": ["b"], "kind": "dense", "outputs": 16, "slope": 0.1},
    {"name": "parameters", "inputs": ["c"], "kind": "dense", "outputs": 0, "slope": 1}]}


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def record_again(model, name):
    """Records a changed file in the model's manifest."""
    manifest = json.loads((model / "manifest.json").read_text())
    content = (model / name).read_bytes()
    for record in manifest["files"]:
        if record["path"] == name:
            record.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    (model / "manifest.json").write_text(json.dumps(manifest))


class OnnxTest(DirectoryTest):
    def export(self, model):
        path = self.root / f"{model.name}.onnx"
        succeed("cosmo-infer", "export", "--model", model, "--output", path, "--force")
        graph = onnx.load(path)
        onnx.checker.check_model(graph, full_check=True)
        self.assertEqual([tensor.name for tensor in graph.graph.input], ["counts"])
        return graph

    def samples(self, data):
        """Voxels of the test split (samples, C, n, n, n), and their (simulation, subvolume)."""
        voxels, keys = [], []
        for shard in sorted((data / "test").glob("*.h5")):
            with h5py.File(shard) as file:
                x = file["x"][...].astype(np.float32)
                voxels.append(x if x.ndim == 5 else x[:, None])
                keys += zip(file["simulation"][...].tolist(), file["subvolume"][...].tolist())
        return np.concatenate(voxels), keys

    def assert_agrees(self, model, data, tolerance=1e-4):
        """Compares the graph with cosmo-infer in shares of each parameter's range."""
        graph, output = self.export(model), self.root / f"of-{model.name}"
        succeed("cosmo-infer", "--model", model, "--data", data, "--output", output, "--baselines", "centre")
        parameters = json.loads((model / "manifest.json").read_text())["parameters"]
        width = np.array(parameters["high"]) - np.array(parameters["low"])
        voxels, keys = self.samples(data)
        found = evaluate(graph, counts=voxels)
        rows = {(int(row["simulation"]), int(row["subvolume"])): row for row in rows_of(output / "predictions.csv")}
        posterior = "posterior_mean" in found
        pairs = [("network" if posterior else "predicted", found["parameters"])]
        if posterior:
            pairs += [("predicted", found["posterior_mean"]), ("deviation", found["posterior_deviation"])]
        for prefix, values in pairs:
            expected = np.array([[float(rows[key][f"{prefix}_{name}"]) for name in parameters["names"]] for key in keys])
            # cosmo-infer integrates a posterior of several parameters by quasi-random points, the graph to 1e-6.
            allowed = tolerance if prefix == "network" or not posterior or len(width) == 1 else 1e-3
            self.assertLess(np.max(np.abs(values - expected) / width), allowed, prefix)
            self.assertGreater(np.ptp(expected / width, axis=0).min() if prefix != "deviation" else 1, 10 * tolerance)
        if posterior:
            np.testing.assert_allclose(np.sqrt(np.diagonal(found["posterior_covariance"], axis1=1, axis2=2)),
                                       found["posterior_deviation"], rtol=1e-5)
        return graph, found, output


class Universes(OnnxTest):
    """Counts: whole boxes with a baseline, and octants without."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sim = cls.root / "sim"
        make_once(cls.root, ["cosmo-sim", "generate", "--simulations", 100, "--omega-m", "0.25:0.35", "--sigma8", "0.78:0.95", "--n-s", "0.9:1.0",
                        "--box", 64, "--particles", 32, "--steps", 3, "--grid", 32, "--output", sim])
        (cls.root / "small.json").write_text(json.dumps(SMALL))
        cls.models = {}
        for name, subvolumes, words in (("boxes", 1, ["--network", "cosmonet32", "--baseline", "summary-statistics"]),
                                        ("smoothed", 1, ["--network", "cosmonet32", "--baseline", "summary-statistics", "--smooth", 3]),
                                        ("octants", 2, ["--network", cls.root / "small.json"])):
            data, model = cls.root / f"data{subvolumes}", cls.root / name
            succeed("cosmo-prep", "shard", "--input", sim, "--subvolumes", subvolumes, "--validation", 12, "--test", 8, "--output", data)
            succeed("cosmo-train", "--data", data, *words, "--epochs", 3, "--global-batch", 8, "--output", model)
            cls.models[name] = model, data

    def test_a_box_with_a_baseline_and_a_posterior(self):
        model, data = self.models["boxes"]
        graph, found, output = self.assert_agrees(model, data)
        facts = {entry.key: entry.value for entry in graph.metadata_props}
        self.assertEqual(facts["posterior_sha256"], hashlib.sha256((model / "posterior.h5").read_bytes()).hexdigest())
        covariances = rows_of(output / "universes.csv")
        _, keys = self.samples(data)
        expected = {int(row["simulation"]): float(row["covariance_omega_m_sigma8"]) for row in covariances}
        width = 0.1 * 0.17
        for (simulation, _), matrix in zip(keys, found["posterior_covariance"]):
            self.assertLess(abs(matrix[0, 1] - expected[simulation]) / width, 1e-3)

    def test_a_low_pass_is_part_of_the_graph(self):
        model, data = self.models["smoothed"]
        graph, _, _ = self.assert_agrees(model, data)
        self.assertEqual({entry.key: entry.value for entry in graph.metadata_props}["smooth_mpc_h"], "3")

    def test_octants_have_the_posterior_of_octants(self):
        model, data = self.models["octants"]
        self.assertGreater(json.loads((model / "manifest.json").read_text())["validation"]["subvolumes"], 1)
        self.assert_agrees(model, data)

    def test_an_empty_sample_has_finite_outputs(self):
        for model, _ in self.models.values():
            graph = self.export(model)
            shape = [size.dim_value for size in graph.graph.input[0].type.tensor_type.shape.dim[1:]]
            for values in evaluate(graph, counts=np.zeros((2, *shape), np.float32)).values():
                self.assertTrue(np.isfinite(values).all())

    def test_directories_name_the_posterior(self):
        model, _ = self.models["boxes"]
        directory = self.root / "as-directory"
        words = "cosmo-infer", "export", "--model", model, "--output", directory
        planned = succeed(*words, "--dry-run")
        succeed(*words)
        manifest = json.loads((directory / "manifest.json").read_text())
        self.assertEqual(manifest["config"]["posterior"], hashlib.sha256((model / "posterior.h5").read_bytes()).hexdigest())
        self.assertEqual(manifest["config"]["baseline"], hashlib.sha256((model / "baseline.h5").read_bytes()).hexdigest())
        size = (directory / "model.onnx").stat().st_size
        self.assertTrue(size <= planned["disk_bytes"] <= 2 * size, (size, planned["disk_bytes"]))
        self.assertTrue(succeed(*words)["up_to_date"])
        octants = self.root / "octants-directory"
        words = "cosmo-infer", "export", "--model", self.models["octants"][0], "--output", octants
        planned = succeed(*words, "--dry-run")
        succeed(*words)
        self.assertNotIn("baseline", json.loads((octants / "manifest.json").read_text())["config"])
        self.assertLessEqual((octants / "model.onnx").stat().st_size, planned["disk_bytes"])

    def test_components_anywhere(self):
        """Narrow and broad components, at the range's ends and far outside; one and several in a factor."""
        source, data = self.models["boxes"]
        for name, centre, log_deviation in (("narrow", 0.2, -4), ("broad", 0, 20), ("edge", 3, 0), ("outside", 30, -1), ("far", -300, -20),
                                            ("far-broad", 200, 3)):
            with self.subTest(name):
                model = shutil.copytree(source, self.root / f"odd-{name}")
                with h5py.File(model / "posterior.h5", "r+") as file:
                    group = file["of_universes"]
                    hidden = int(group.attrs["hidden"])
                    for i, components in enumerate(group.attrs["components"].tolist()):
                        weights = group[f"weights_{i + 1}"][...]
                        outputs, inputs = 3 * components, 6 + i
                        first = weights.shape[1] - outputs * (inputs + hidden + 1)
                        weights[:, first:] *= 0.1  # so that the numbers still depend on the sample, but not by much
                        for m in range(len(weights)):
                            for k in range(components):
                                place = weights.shape[1] - outputs + 3 * k
                                weights[m, place:place + 3] = 0.3 * k, centre + 0.7 * m - 2 * k, log_deviation + 0.2 * k
                        group[f"weights_{i + 1}"][...] = weights
                record_again(model, "posterior.h5")
                graph, output = self.export(model), self.root / f"of-odd-{name}"
                succeed("cosmo-infer", "--model", model, "--data", data, "--output", output, "--baselines", "centre")
                rows = {int(row["simulation"]): row for row in rows_of(output / "universes.csv")}
                voxels, keys = self.samples(data)
                found = evaluate(graph, counts=voxels)
                low, high = np.array([0.25, 0.78, 0.9]), np.array([0.35, 0.95, 1.0])
                for prefix, values in (("predicted", found["posterior_mean"]), ("deviation", found["posterior_deviation"])):
                    expected = np.array([[float(rows[key][f"{prefix}_{parameter}"]) for parameter in ("omega_m", "sigma8", "n_s")]
                                         for key, _ in keys])
                    np.testing.assert_allclose(values / (high - low), expected / (high - low), rtol=0, atol=2e-3, err_msg=prefix)


class Fields(OnnxTest):
    def test_two_channels_under_a_logarithm(self):
        cubes, data = self.root / "cubes", self.root / "data"
        synthetic.write_cubes(cubes, 60, 32, (1, 30), spread=2)
        succeed("cosmo-prep", "import", "--input", cubes, "--samples", cubes / "samples.csv", "--format", "npy", "--voxels", "field",
                "--box", 32, "--redshifts", "0,0", "--output", data)
        for voxels in ("standard", "log1p", "log"):
            with self.subTest(voxels):
                model = self.root / voxels
                succeed("cosmo-train", "--data", data, "--network", "cosmonet32", "--baseline", "summary-statistics", "--epochs", 1,
                        "--global-batch", 8, "--voxels", voxels, "--output", model)
                self.assert_agrees(model, data)

    def test_four_parameters_are_left_out(self):
        cubes, data, model = self.root / "many", self.root / "many-data", self.root / "many-model"
        cubes.mkdir()
        generator, lines = np.random.default_rng(5), ["file,simulation,a,b,c,d"]
        for i in range(90):
            values = generator.uniform(0.5, 1, 4)
            cube = values[0] * generator.normal(size=(32, 32, 32)) + values[1:].sum() - 2.25
            np.save(cubes / f"{i}.npy", cube.astype("f4"))
            lines.append(f"{i}.npy,{i}," + ",".join(map(repr, values.tolist())))
        (cubes / "samples.csv").write_text("\n".join(lines) + "\n")
        succeed("cosmo-prep", "import", "--input", cubes, "--samples", cubes / "samples.csv", "--format", "npy", "--voxels", "field",
                "--box", 32, "--redshifts", 0, "--output", data)
        succeed("cosmo-train", "--data", data, "--network", "cosmoflow32", "--epochs", 1, "--global-batch", 8, "--output", model)
        self.assertTrue((model / "posterior.h5").exists())
        done = run("cosmo-infer", "export", "--model", model, "--output", self.root / "many.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The file has no posterior: ", done.stderr)
        graph = onnx.load(self.root / "many.onnx")
        self.assertEqual([value.name for value in graph.graph.output], ["parameters", "labels"])
        self.assertNotIn("posterior_sha256", {entry.key for entry in graph.metadata_props})


if __name__ == "__main__":
    unittest.main()
