"""Trained networks of every kind outside a split: as ONNX, and on one universe in each form that --input takes."""

import csv
import html
import json
import os
import shutil
import unittest

import h5py
import numpy as np
import onnx

from onnx_torch import evaluate
from synthetic import write_fields
from toolkit import PipelineTest, contents, cosmo_train, error_line, run, succeed, times

# Paddings and strides that divide nothing, both pools, every slope, a tanh between layers.
ODD_NETWORK = {"name": "odd", "input": "grid", "layers": [
    {"name": "counts", "inputs": ["grid"], "kind": "convolution", "outputs": 6, "kernel": 4, "stride": 2, "padding": 1,
     "slope": 0.2},
    {"name": "a", "inputs": ["counts"], "kind": "average_pool", "size": 3, "stride": 2},
    {"name": "b", "inputs": ["a"], "kind": "convolution", "outputs": 9, "kernel": 2, "stride": 1, "padding": 0, "slope": 1},
    {"name": "c", "inputs": ["b"], "kind": "tanh", "scale": 3.0},
    {"name": "d", "inputs": ["c"], "kind": "max_pool", "size": 2, "stride": 1},
    {"name": "labels", "inputs": ["d"], "kind": "dense", "outputs": 12, "slope": 0},
    {"name": "e", "inputs": ["labels"], "kind": "dropout", "probability": 0.25},
    {"name": "parameters", "inputs": ["e"], "kind": "dense", "outputs": 0, "slope": 1}]}

# Every kind of join, tensors with several readers, vectors of several kinds, a normalisation.
GRAPH = {"name": "graph", "input": "grid", "layers": [
    {"name": "a", "inputs": ["grid"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": "periodic",
     "slope": 0.1},
    {"name": "pool", "inputs": ["a"], "kind": "average_pool", "size": 4, "stride": 4},
    {"name": "b", "inputs": ["pool"], "kind": "convolution", "outputs": 16, "kernel": 5, "stride": 1, "padding": "periodic",
     "slope": 0.1},
    {"name": "sum", "inputs": ["pool", "b", "pool"], "kind": "add", "slope": 0.2},
    {"name": "join", "inputs": ["sum", "b"], "kind": "concat"},
    {"name": "c", "inputs": ["join"], "kind": "convolution", "outputs": 5, "kernel": 8, "stride": 1, "padding": 0, "slope": 1},
    {"name": "mean", "inputs": ["join"], "kind": "global_mean", "squares": True},
    {"name": "mean_c", "inputs": ["c"], "kind": "global_mean", "squares": False},
    {"name": "vector", "inputs": ["c", "mean", "mean_c"], "kind": "concat"},
    {"name": "normal", "inputs": ["vector"], "kind": "normalise"},
    {"name": "d", "inputs": ["normal"], "kind": "dense", "outputs": 12, "slope": 0.1},
    {"name": "e", "inputs": ["d", "d"], "kind": "add", "slope": 1},
    {"name": "parameters", "inputs": ["e"], "kind": "dense", "outputs": 0, "slope": 1}]}

# Down and up again, with a skip: every layer that makes more cells, in whole blocks of channels and in others.
UNET = {"name": "unet", "input": "grid", "layers": [
    {"name": "a", "inputs": ["grid"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 2, "padding": 1, "slope": 0.1},
    {"name": "pool", "inputs": ["a"], "kind": "average_pool", "size": 4, "stride": 4},
    {"name": "b", "inputs": ["pool"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": "periodic",
     "slope": 0.1},
    {"name": "up", "inputs": ["b"], "kind": "transposed_convolution", "outputs": 5, "kernel": 6, "stride": 4, "padding": 1,
     "slope": 0.1},
    {"name": "more", "inputs": ["b"], "kind": "transposed_convolution", "outputs": 16, "kernel": 4, "stride": 4, "padding": 0,
     "slope": 1},
    {"name": "near", "inputs": ["b"], "kind": "resample", "factor": 4, "interpolation": "nearest"},
    {"name": "linear", "inputs": ["b"], "kind": "resample", "factor": 4, "interpolation": "linear"},
    {"name": "box", "inputs": ["b"], "kind": "resample", "factor": 4, "interpolation": "periodic"},
    {"name": "join", "inputs": ["a", "up", "more", "near", "linear", "box"], "kind": "concat"},
    {"name": "c", "inputs": ["join"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": 1, "slope": 0.1},
    {"name": "mean", "inputs": ["c"], "kind": "global_mean", "squares": False},
    {"name": "normal", "inputs": ["mean"], "kind": "normalise"},
    {"name": "parameters", "inputs": ["normal"], "kind": "dense", "outputs": 0, "slope": 1}]}

LOW, HIGH = np.array([0.25, 0.78, 0.9]), np.array([0.35, 0.95, 1.0])
NAMES = ["omega_m", "sigma8", "n_s"]


class Networks(PipelineTest):
    """models: name -> directory of the model, its data."""
    LABELS = ("slow",)

    @classmethod
    def sim_words(cls):
        return [*super().sim_words(), "--redshifts", "0,0.5", "--save", "counts,particles"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.two = cls.root / "two-redshifts"
        succeed("cosmo-prep", *cls.prep_words(), "--redshifts", "0,0.5", "--output", cls.two)
        (cls.root / "odd.json").write_text(json.dumps(ODD_NETWORK))
        (cls.root / "graph.json").write_text(json.dumps(GRAPH))
        (cls.root / "unet.json").write_text(json.dumps(UNET))
        cls.models = {}
        for name, data, network, voxels, words in (
                ("cosmoflow32", cls.data, "cosmoflow32", "log1p", ["--learning-rate", 3e-3]),
                ("mlperf", cls.two, "mlperf", "log1p", ["--optimizer", "sgd"]),
                ("odd", cls.data, cls.root / "odd.json", "mean", ["--learning-rate", 3e-3]),
                ("graph", cls.data, cls.root / "graph.json", "log1p", ["--recipe", "standard"]),
                ("unet", cls.data, cls.root / "unet.json", "log1p", ["--recipe", "standard"]),
                ("cosmonet32", cls.data, "cosmonet32", "log1p", ["--recipe", "standard"])):
            cls.models[name] = cls.root / f"model-{name}", data
            succeed("cosmo-train", "--data", data, "--network", network, "--voxels", voxels, "--global-batch", 8,
                    "--epochs", 2, *(words if "--recipe" in words else [*words, "--recipe", "paper"]), "--output", cls.models[name][0])
            succeed("cosmo-infer", "--model", cls.models[name][0], "--data", data, "--output", cls.predictions(name))

    @classmethod
    def predictions(cls, name, split="test"):
        return cls.root / f"{split}-predictions-{name}"

    def rows(self, name, split="test"):
        """{(simulation, subvolume): predicted parameters} of a split."""
        with open(self.predictions(name, split) / "predictions.csv") as file:
            return {(int(row["simulation"]), int(row["subvolume"])): [float(row[f"predicted_{p}"]) for p in NAMES]
                    for row in csv.DictReader(file)}

    def universe(self, name, split="test"):
        return min(self.rows(name, split))[0]

    def predict(self, name, path, *words, ranks=1):
        """Without what two epochs of training deserve to be warned of."""
        found = succeed("cosmo-infer", "--model", self.models[name][0], "--input", path, *words, ranks=ranks)
        found["warnings"] = [warning for warning in found["warnings"] if "no better than the mean of the labels" not in warning]
        return found

    def assert_same(self, name, found, split="test"):
        """The same bits as in the split, sub-volumes and universe."""
        universe, rows = self.universe(name, split), self.rows(name, split)
        self.assertEqual(found["subvolumes"], 8)
        for p, parameter in enumerate(NAMES):
            expected = [rows[universe, n][p] for n in range(8)]
            self.assertEqual(found["parameters"][parameter]["subvolumes"], expected)
            total = 0.0
            for value in expected:
                total += value
            self.assertEqual(found["parameters"][parameter]["value"], total / 8)
        self.assertEqual(len({tuple(values) for values in rows.values()}), len(rows))  # the network looks at its input

    def export(self, name):
        path = self.root / f"{name}.onnx"
        succeed("cosmo-infer", "export", "--format", "onnx", "--model", self.models[name][0], "--output", path)
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        return path, model

    def test_onnx_gives_the_predictions_of_cosmo_infer(self):
        for name, (_, data) in self.models.items():
            _, model = self.export(name)
            worst, compared, rows = 0, 0, self.rows(name)
            for shard in sorted((data / "test").glob("*.h5")):
                with h5py.File(shard) as file:
                    x = file["x"][...].astype(np.float32)
                    keys = list(zip(file["simulation"][...].tolist(), file["subvolume"][...].tolist()))
                out = evaluate(model, counts=x if x.ndim == 5 else x[:, None])
                expected = np.array([rows[key] for key in keys])
                worst = max(worst, np.max(np.abs(out["parameters"] - expected) * 2 / (HIGH - LOW)))
                self.assertEqual(out["labels"].shape, (len(keys), 3))
                np.testing.assert_allclose(LOW + (out["labels"].astype(float) + 1) / 2 * (HIGH - LOW), expected, atol=1e-5)
                compared += len(keys)
            spread = np.std(np.array(list(rows.values())) * 2 / (HIGH - LOW), axis=0)
            self.assertEqual(compared, 16)
            self.assertLess(worst, 1e-4, name)
            self.assertGreater(spread.min(), 1e-3, name)  # it depends on the input by more than that

    def test_onnx_has_the_layers_that_make_more_cells(self):
        _, model = self.export("unet")
        self.assertEqual([node.op_type for node in model.graph.node].count("ConvTranspose"), 2)
        self.assertEqual([node.op_type for node in model.graph.node].count("Resize"), 3)

    def test_layers_that_cannot_make_more_cells_are_refused(self):
        """In one sentence, on any number of ranks."""
        path = self.root / "refused.json"
        for layer, changes, code, sentence in (
                ("near", {"factor": 1}, 3, "Layer near has factor 1: it must be at least 2."),
                ("near", {"factor": 1000}, 3, "Layer near would make 4000 cells per side"),
                ("near", {"factor": 3}, 3, "Layer join joins the channels of tensors with 16³ and 12³ cells"),
                ("near", {"interpolation": "cubic"}, 5, "use nearest, linear or periodic"),
                ("up", {"stride": 0}, 3, "stride 0"),
                ("up", {"kernel": 9, "padding": 7, "stride": 1}, 3, "Layer up has a kernel of 9³ cells, larger than its output"),
                ("up", {"padding": "periodic"}, 5, ": give a whole number."),
                ("up", {"stride": 1000}, 3, "Layer up would make 3004 cells per side")):
            layers = [entry | changes if entry["name"] == layer else entry for entry in UNET["layers"]]
            path.write_text(json.dumps(UNET | {"layers": layers}))
            for ranks in (1, 2):
                refused = run("cosmo-train", "--data", self.data, "--network", path, "--output", self.root / "no", ranks=ranks)
                self.assertEqual(refused.returncode, code, refused.stderr)
                self.assertIn(sentence, error_line(refused, "cosmo-train"))

    def test_the_benchmark_lists_their_layers(self):
        found = succeed("cosmo-train", "--benchmark", 0, "--network", self.root / "unet.json", "--size", 32)
        self.assertEqual([layer["layer"] for layer in found["layers"]], ["a", "b", "up", "more", "c", "parameters"])
        up = next(layer for layer in found["layers"] if layer["layer"] == "up")
        self.assertAlmostEqual(up["gflops"]["forward"] * up["ms"]["forward"], 2 * 16 * 5 * 6**3 * 4**3 / 1e6, places=6)
        self.assertEqual(up["ms"].keys(), {"forward", "weight gradient", "input gradient"})
        resampled = [(entry["layer"], entry["phase"]) for entry in found["operations"] if entry["implementation"] == "resample"]
        self.assertEqual(resampled, [(name, phase) for name in ("near", "linear", "box") for phase in ("forward", "input gradient")])

    def test_onnx_of_an_empty_sample_does_not_divide_by_zero(self):
        _, model = self.export("odd")
        out = evaluate(model, counts=np.zeros((1, 1, 32, 32, 32), np.float32))
        self.assertTrue(np.isfinite(out["parameters"]).all())

    def test_onnx_of_a_field_standardises(self):
        data, model = self.root / "fields", self.root / "model-fields"
        write_fields(data, 12, 32)
        succeed("cosmo-train", "--data", data, "--network", "cosmoflow32", "--global-batch", 4, "--epochs", 1, "--output",
                model)
        succeed("cosmo-infer", "--model", model, "--data", data, "--output", self.root / "of-fields")
        path = self.root / "fields.onnx"
        succeed("cosmo-infer", "export", "--model", model, "--output", path)
        with h5py.File(data / "test/shard-00000.h5") as file:
            out = evaluate(onnx.load(path), counts=file["x"][...][:, None])["parameters"]
        with open(self.root / "of-fields/predictions.csv") as file:
            expected = [[float(row["predicted_omega_m"]), float(row["predicted_sigma8"])] for row in csv.DictReader(file)]
        np.testing.assert_allclose(out, expected, atol=5e-6)

    def test_what_onnx_records_of_itself(self):
        _, model = self.export("mlperf")
        facts = {entry.key: entry.value for entry in model.metadata_props}
        manifest = json.loads((self.models["mlperf"][0] / "manifest.json").read_text())
        self.assertEqual(json.loads(facts["parameters"]), NAMES)
        self.assertEqual(json.loads(facts["redshifts"]), [0, 0.5])
        self.assertEqual(float(facts["voxel_mpc_h"]), 2)
        self.assertEqual(facts["model_id"], manifest["id"])
        shape = model.graph.input[0].type.tensor_type.shape.dim
        self.assertEqual([dim.dim_param or dim.dim_value for dim in shape], ["N", 2, 32, 32, 32])

    def test_onnx_file_or_directory_is_written_once(self):
        model = self.models["odd"][0]
        path, _ = self.export("odd")
        directory = self.root / "odd-onnx"
        words = ("cosmo-infer", "export", "--format", "onnx", "--model", model, "--output")
        self.assertFalse(succeed(*words, directory, ranks=2)["up_to_date"])
        self.assertEqual((directory / "model.onnx").read_bytes(), path.read_bytes())
        before = times(directory) | {"file": path.stat().st_mtime_ns}
        for output in (directory, path):
            self.assertTrue(succeed(*words, output)["up_to_date"])
        self.assertEqual(times(directory) | {"file": path.stat().st_mtime_ns}, before)
        whole = path.read_bytes()
        path.write_bytes(b"something else")
        for force in ([], ["--force"]):
            refused = run(*words, path, *force)
            self.assertEqual(refused.returncode, 3)
            self.assertIn("is not an ONNX file", error_line(refused, "cosmo-infer"))
        path.write_bytes(whole[:-1])
        refused = run(*words, path)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("--force", error_line(refused, "cosmo-infer"))
        succeed(*words, path, "--force")
        self.assertEqual(contents(directory)["model.onnx"], contents(self.root)["odd.onnx"])

    def test_onnx_beside_the_caller_and_in_new_directories(self):
        model = self.models["odd"][0].resolve()
        place = self.root / "elsewhere"
        place.mkdir()
        before = os.getcwd()
        os.chdir(place)
        try:
            for output in ("model.onnx", "new/model.onnx"):
                succeed("cosmo-infer", "export", "--model", model, "--output", output)
        finally:
            os.chdir(before)
        self.assertEqual((place / "model.onnx").read_bytes(), (place / "new/model.onnx").read_bytes())

    def counts(self, name, split="test"):
        return self.sim / f"sim-{self.universe(name, split):05}" / "counts_z0.h5"

    def test_counts_give_the_bits_of_the_split(self):
        for name in ("cosmoflow32", "odd"):
            for ranks in (1, 2):
                self.assert_same(name, self.predict(name, self.counts(name), ranks=ranks))
        self.assert_same("mlperf", self.predict("mlperf", self.counts("mlperf").parent))  # channels

    def test_they_do_not_depend_on_the_place_in_a_batch(self):
        """The sub-volumes of a universe are scattered over the batches of the training split."""
        for name, (model, data) in self.models.items():
            succeed("cosmo-infer", "--model", model, "--data", data, "--split", "train", "--output",
                    self.predictions(name, "train"))
            self.assert_same(name, self.predict(name, self.counts(name, "train").parent), "train")

    def test_a_snapshot_and_its_histogram_give_them_too(self):
        snapshot = self.counts("cosmoflow32").parent / "snapshot_z0.hdf5"
        histogram = self.root / "histogram"
        succeed("cosmo-prep", "histogram", "--input", snapshot, "--grid", 64, "--output", histogram)
        for path in (snapshot, histogram, histogram / "counts_z0.h5"):
            self.assert_same("cosmoflow32", self.predict("cosmoflow32", path))

    def test_a_snapshot_in_several_files(self):
        """In kpc/h and float64, as other codes write it, without a unit in its header."""
        source = self.counts("cosmoflow32").parent / "snapshot_z0.hdf5"
        folder = self.root / "snapdir"
        folder.mkdir()
        with h5py.File(source) as whole:
            positions = whole["PartType1/Coordinates"][...].astype("f8") * 1000
            header = dict(whole["Header"].attrs)
        parts = np.array_split(positions, 3)
        for i, part in enumerate(parts):
            with h5py.File(folder / f"snap_004.{i}.hdf5", "w") as file:
                attributes = file.create_group("Header").attrs
                attributes["BoxSize"] = float(header["BoxSize"]) * 1000
                attributes["Redshift"] = 2e-16
                attributes["NumFilesPerSnapshot"] = np.int32(3)
                for name, number in (("NumPart_ThisFile", len(part)), ("NumPart_Total", len(positions))):
                    attributes[name] = np.array([0, number, 0, 0, 0, 0], "u4")
                file["PartType1/Coordinates"] = part
        refused = run("cosmo-infer", "--model", self.models["cosmoflow32"][0], "--input", folder)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("--length-unit", error_line(refused, "cosmo-infer"))
        for path in (folder, folder / "snap_004.1.hdf5"):
            self.assert_same("cosmoflow32", self.predict("cosmoflow32", path, "--length-unit", "kpc/h"))
        # A wrong unit is named with the right one, and lengths without h need h.
        for words, parts in ((["Mpc/h"], ["a multiple of", "or --length-unit kpc/h, in which"]), (["kpc"], ["does not state h", "--override h=X"]),
                             (["kpc", "--override", "h=0.37"], ["or --length-unit kpc/h, in which"])):
            refused = run("cosmo-infer", "--model", self.models["cosmoflow32"][0], "--input", folder, "--length-unit", *words)
            self.assertEqual(refused.returncode, 3)
            for part in parts:
                self.assertIn(part, error_line(refused, "cosmo-infer"))

    def test_npy_arrays_of_every_type(self):
        with h5py.File(self.counts("odd")) as file:
            counts = file["counts"][...]
        path = self.root / "counts.npy"
        for type_ in ("<u2", "<i4", "<i8", "<f4", "<f8"):
            np.save(path, counts.astype(type_))
            self.assert_same("odd", self.predict("odd", path, "--box", 128))
        folder = self.counts("mlperf").parent
        channels = []
        for name in ("counts_z0.h5", "counts_z0.5.h5"):
            with h5py.File(folder / name) as file:
                channels.append(file["counts"][...])
        np.save(path, np.stack(channels))
        self.assert_same("mlperf", self.predict("mlperf", path, "--box", 128))

    def warnings_of(self, counts, name="odd"):
        path = self.root / "strange.npy"
        np.save(path, counts)
        return self.others(self.predict(name, path, "--box", 128)["warnings"])

    def others(self, warnings):
        """All but that on errors that rest on two validation universes."""
        few = [warning for warning in warnings if warning.endswith("rest on 2 validation universes of its training, and may be far off.")]
        self.assertEqual(len(few), 1)
        return [warning for warning in warnings if warning not in few]

    def test_inputs_unlike_the_training_data_are_warned_of(self):
        with h5py.File(self.counts("odd")) as file:
            counts = file["counts"][...]
        for name in ("cosmoflow32", "odd"):
            self.assertEqual(self.warnings_of(counts, name), [])
        noise = np.random.default_rng(1).poisson(counts.mean(), counts.shape).astype("<u2")
        hole = counts.copy()
        hole[:32, 32:, :32] = 0
        for strange, figures in ((noise, ["P(k"]), (2 * counts, ["mean count"]), (hole, ["mean count", "P(k"])):
            warnings = [warning for warning in self.warnings_of(strange) if "is predicted outside of" not in warning]
            self.assertEqual(len(warnings), len(figures), f"{figures}: {warnings}")
            for warning, figure in zip(warnings, figures):
                self.assertIn(f"The {figure}", warning)
        self.assertIn("in 1 of 8 samples: as far off as 0, ", self.warnings_of(hole)[0])
        np.save(self.root / "empty.npy", 0 * counts)
        refused = run("cosmo-infer", "--model", self.models["odd"][0], "--input", self.root / "empty.npy", "--box", 128)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("has no particle", error_line(refused, "cosmo-infer"))

    def test_universes_that_the_model_has_seen_are_warned_of(self):
        for split, words in (("train", "trained on"), ("validation", "chose the model's checkpoint"), ("test", None)):
            known = json.loads((self.data / "manifest.json").read_text())["splits"][split]
            counts, seed = self.sim / f"sim-{known['simulations'][0]:05}/counts_z0.h5", known["seeds"][0]
            for path in (counts, counts.parent / "snapshot_z0.hdf5"):
                warnings = self.others(self.predict("odd", path)["warnings"])
                self.assertEqual(len(warnings), 1 if words else 0, warnings)
                if words:
                    self.assertIn(words, warnings[0])
                    self.assertIn(f"the seed {seed} of", warnings[0])

    def test_finer_counts_are_summed_up(self):
        snapshot = self.counts("cosmoflow32").parent / "snapshot_z0.hdf5"
        fine = self.root / "fine"
        succeed("cosmo-prep", "histogram", "--input", snapshot, "--grid", 128, "--output", fine)
        self.assert_same("cosmoflow32", self.predict("cosmoflow32", fine))
        told = run("cosmo-infer", "--model", self.models["cosmoflow32"][0], "--input", fine)
        self.assertIn("2³ cells are summed up to each of the model's voxels", told.stderr)

    def test_a_model_without_ranges_warns_that_it_cannot_compare(self):
        model = self.root / "old"
        shutil.copytree(self.models["odd"][0], model)
        manifest = json.loads((model / "manifest.json").read_text())
        del manifest["input_range"]
        (model / "manifest.json").write_text(json.dumps(manifest))
        found = succeed("cosmo-infer", "--model", model, "--input", self.counts("odd"))
        self.assertEqual(len([warning for warning in found["warnings"] if "was not checked" in warning]), 1)

    def test_a_dry_run_reports_what_a_run_needs_and_refuses_what_it_would(self):
        snapshot = self.counts("odd").parent / "snapshot_z0.hdf5"
        for path in (self.counts("odd"), snapshot):
            plan = succeed("cosmo-infer", "--model", self.models["odd"][0], "--input", path, "--dry-run")
            self.assertEqual((plan["voxels_per_side"], plan["subvolumes"]), (64, 8))
            self.assertTrue(1e6 < plan["memory_bytes_per_rank"] < 1e9, plan)
        for words, code in (([self.root / "absent"], 4), ([self.data], 3)):
            refused = run("cosmo-infer", "--model", self.models["odd"][0], "--input", *words, "--dry-run")
            self.assertEqual(refused.returncode, code, refused.stderr)

    def test_a_split_unlike_the_training_data_is_warned_of(self):
        """The split is from a suite with an eighth of the particles and beyond the range of Omega_m."""
        sim, data = self.root / "sparse", self.root / "sparse-data"
        words = [word if word != 64 or before != "--particles" else 32
                 for before, word in zip(["", *super().sim_words()], super().sim_words())]
        words[words.index("--simulations") + 1] = 3
        words[words.index("--omega-m") + 1] = "0.4:0.5"
        words += ["--seed", 99]
        succeed("cosmo-sim", *words, "--output", sim)
        succeed("cosmo-prep", "shard", "--input", sim, "--validation", 1, "--test", 1, "--output", data)
        model = self.models["cosmoflow32"][0]
        for source, warned in ((data, True), (self.data, False)):
            done = run("cosmo-infer", "--model", model, "--data", source, "--output", self.root / f"of-{source.name}", ranks=2)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("warning: The mean count of a voxel is unlike" in done.stderr, warned, done.stderr)
            written = self.root / f"of-{source.name}"
            told = json.loads((written / "metrics.json").read_text())["warnings"]
            self.assertEqual(any("The mean count of a voxel is unlike" in warning for warning in told), warned, told)
            outside = "1 of 1 universes have omega_m outside 0.25 to 0.35, beyond which the model predicts nothing."
            self.assertEqual(outside in told, warned, told)
            page = html.unescape((written / "report.html").read_text())
            for warning in told:
                self.assertIn(f'<div class="doubt">{warning}</div>', page)

    def range_of(self, model):
        return json.loads((model / "manifest.json").read_text())["input_range"]

    def test_the_training_range_is_that_of_the_samples_and_measured_once(self):
        with h5py.File(next((self.data / "train").glob("*.h5"))) as file:
            count = file["x"].shape[0]
        means = []
        for shard in (self.data / "train").glob("*.h5"):
            with h5py.File(shard) as file:
                means += list(file["x"][...].mean(axis=(1, 2, 3), dtype=float))
        self.assertGreater(len(means), count)  # several shards
        found = self.range_of(self.models["odd"][0])
        self.assertEqual(found["samples"], len(means))
        self.assertEqual((found["channels"][0]["mean_low"], found["channels"][0]["mean_high"]), (min(means), max(means)))
        self.assertEqual(found, self.range_of(self.models["cosmoflow32"][0]))  # same data
        self.assertEqual(len(self.range_of(self.models["mlperf"][0])["channels"]), 2)
        model, words = self.root / "ranged", (*self.train_words(), "--epochs", 2, "--output", self.root / "ranged")
        cosmo_train(*words, "--time-limit", 0, ranks=2)
        self.assertEqual(self.range_of(model), found)  # any number of ranks
        manifest = json.loads((model / "manifest.json").read_text())
        manifest["input_range"]["samples"] = 7
        (model / "manifest.json").write_text(json.dumps(manifest))
        self.assertGreater(cosmo_train(*words)["epochs_done"], 1)
        self.assertEqual(self.range_of(model), found | {"samples": 7})

    def test_what_does_not_fit_is_refused(self):
        path = self.root / "refused.npy"
        counts = np.full((64, 64, 64), 1, "<u2")
        suite = self.sim
        cases = [
            (counts, ["--box", 256], 3, "voxels of 4 Mpc/h and the model was trained on 2 Mpc/h"),
            (counts, [], 2, "--box"),
            (counts, ["--box", "128Mpc"], 3, "give it in Mpc/h"),
            (counts[:48, :48, :48], ["--box", 96], 3, "multiple of 32"),
            (counts[:32], ["--box", 128], 5, "not a cube"),
            (counts + 0.5, ["--box", 128], 5, "not a count"),
            (-counts.astype("<i4"), ["--box", 128], 5, "not a count"),
            (self.data, [], 3, "is a dataset"),
            (suite / "sim-00000/counts_z0.5.h5", [], 3, "z = 0.5 and the model reads z = 0"),
            (suite / "sim-00000/snapshot_z0.5.hdf5", [], 3, "z = 0.5 and the model reads z = 0"),
            (suite / "sim-00000/counts_z0.h5", ["--box", 128], 2, "--box applies to an .npy file"),
            (suite / "manifest.json", [], 5, "manifest.json"),
            (suite / "absent.h5", [], 4, "does not exist"),
            (next((self.data / "test").glob("*.h5")), [], 3, "is a shard of a dataset"),
        ]
        for source, words, code, sentence in cases:
            if isinstance(source, np.ndarray):
                np.save(path, source)
                source = path
            refused = run("cosmo-infer", "--model", self.models["odd"][0], "--input", source, *words)
            self.assertEqual(refused.returncode, code, f"{sentence}: {refused.stderr}")
            self.assertIn(sentence, error_line(refused, "cosmo-infer"))
        refused = run("cosmo-infer", "--model", self.models["odd"][0], "--data", self.data, "--output", self.root / "no",
                      "--box", 128)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--box applies only with --input", error_line(refused, "cosmo-infer"))
        refused = run("cosmo-infer", "--model", self.models["mlperf"][0], "--input", self.counts("mlperf"))
        self.assertEqual(refused.returncode, 3)
        self.assertIn("give the directory", error_line(refused, "cosmo-infer"))


if __name__ == "__main__":
    unittest.main()
