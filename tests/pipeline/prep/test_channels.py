"""Fields of several channels: each has its own scale, and logarithms are taken where the values allow it."""

import json
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

import synthetic
from toolkit import DirectoryTest, error_line, run, succeed

CONFIG = 3


class Channels(DirectoryTest):
    def imported(self, name, cubes, channels=2):
        data = self.root / name
        succeed("cosmo-prep", "import", "--input", cubes, "--samples", cubes / "samples.csv", "--format", "npy", "--voxels", "field",
                "--box", 32, "--redshifts", ",".join("0" * channels), "--output", data)
        return data

    def trained(self, data, *words):
        model = self.root / f"{data.name}-model{''.join(words)}"
        summary = succeed("cosmo-train", "--data", data, "--network", "cosmoflow32", "--epochs", 2, "--global-batch", 8, *words,
                          "--output", model)
        return model, summary

    def test_a_factor_of_one_channel_changes_nothing(self):
        found = {}
        for factor in (1, 2**20):
            cubes = self.root / f"cubes-{factor}"
            synthetic.write_cubes(cubes, 40, 32, (1, factor))
            data = self.imported(f"data-{factor}", cubes)
            report = succeed("cosmo-prep", "verify", data)
            self.assertEqual(report["samples"], 40)
            self.assertIn("channel 1", run("cosmo-prep", "describe", data).stdout)
            model, summary = self.trained(data)
            manifest = json.loads((model / "manifest.json").read_text())
            self.assertEqual(manifest["config"]["voxels_by_channel"], True)
            predictions = self.root / f"predictions-{factor}"
            succeed("cosmo-infer", "--model", model, "--data", data, "--output", predictions)
            found[factor] = summary["validation_loss"], manifest["normalisation"], json.loads(
                (predictions / "metrics.json").read_text())
        (loss, plain, metrics), (loss_2, times, metrics_2) = found.values()
        self.assertAlmostEqual(loss, loss_2, delta=1e-4 * loss)  # a power of two: only sums of statistics are rounded
        self.assertAlmostEqual(times["scale"][1] * 2**20, plain["scale"][1], delta=1e-6 * plain["scale"][1])
        for method in ("power_spectrum", "summary_statistics"):
            rms, rms_2 = (found["baselines"][method]["amp"]["rmse"] for found in (metrics, metrics_2))
            self.assertAlmostEqual(rms, rms_2, delta=1e-3 * rms)

    def test_logarithms_and_what_they_cannot_take(self):
        cubes = self.root / "cubes"
        synthetic.write_cubes(cubes, 40, 32, (1, 30), spread=2)
        data = self.imported("data", cubes)
        channels = json.loads((data / "manifest.json").read_text())["statistics"]["channels"]
        for voxels in ("log1p", "log"):
            model, _ = self.trained(data, "--voxels", voxels)
            normalisation = json.loads((model / "manifest.json").read_text())["normalisation"]
            self.assertEqual(normalisation["offset"], [channel[voxels]["mean"] for channel in channels])
            succeed("cosmo-infer", "--model", model, "--data", data, "--output", self.root / f"predictions-{voxels}")
            succeed("cosmo-infer", "export", "--model", model, "--output", self.root / f"onnx-{voxels}")
            graph = onnx.load(self.root / f"onnx-{voxels}/model.onnx").graph
            constants = {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}
            np.testing.assert_allclose(constants["voxels.scale"].ravel(), normalisation["scale"], rtol=1e-6)
            self.assertEqual(constants["voxels.scale"].shape, (2, 1, 1, 1))
        lower = self.root / "lower"
        synthetic.write_cubes(lower, 40, 32, (1, -1), spread=0.1)
        other = self.imported("other", lower)
        place = json.loads((other / "manifest.json").read_text())["statistics"]["channels"][1]["lowest_in"]
        for voxels in ("log1p", "log"):
            done = run("cosmo-train", "--data", other, "--network", "cosmoflow32", "--voxels", voxels, "--output", self.root / "never")
            self.assertEqual(done.returncode, CONFIG)
            self.assertRegex(error_line(done, "cosmo-train"),
                             rf"--voxels {voxels} takes .*, and the lowest of channel 1 \(of 0 to 1\) is -.*, in {place}: give standard")
            done = run("cosmo-infer", "--model", model, "--data", other, "--output", self.root / "never")
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn("of channel 1", error_line(done, "cosmo-infer"))

    def test_a_dataset_of_an_earlier_version_has_one_scale_and_a_warning(self):
        cubes = self.root / "earlier-cubes"
        synthetic.write_cubes(cubes, 40, 32, (1, 1000))
        data = self.imported("earlier", cubes)
        manifest = json.loads((data / "manifest.json").read_text())
        del manifest["statistics"]["channels"]
        (data / "manifest.json").write_text(json.dumps(manifest))
        model = self.root / "earlier-model"
        done = run("cosmo-train", "--data", data, "--network", "cosmoflow32", "--epochs", 1, "--global-batch", 8, "--output", model)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The 2 channels of", done.stderr)
        trained = json.loads((model / "manifest.json").read_text())
        self.assertEqual(trained["normalisation"]["offset"], manifest["statistics"]["mean"])
        self.assertNotIn("voxels_by_channel", trained["config"])


if __name__ == "__main__":
    unittest.main()
