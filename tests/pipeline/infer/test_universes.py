"""Many universes at once by cosmo-infer --input, without labels, and suites at one fixed cosmology."""

import csv
import json
import math
import os
import unittest

import h5py
import numpy as np

import others_snapshots
from synthetic import write_fields
from toolkit import PipelineTest, contents, error_line, run, succeed

NAMES = ["omega_m", "sigma8", "n_s"]
POINT = ["--omega-m", 0.3, "--sigma8", 0.85, "--n-s", 0.95]
USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


class Universes(PipelineTest):
    """A model of counts of 32³, whole boxes of 64 Mpc/h and boxes of 128 Mpc/h of eight sub-volumes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        succeed("cosmo-train", "--data", cls.data, "--network", "cosmonet32", "--baseline", "summary-statistics", "--epochs", 1,
                "--global-batch", 8, "--output", cls.model)
        cls.cubes = cls.root / "cubes"
        cls.cubes.mkdir()
        cls.files = []
        for universe in range(5):
            with h5py.File(cls.sim / f"sim-{universe:05}/counts_z0.h5") as file:
                np.save(cls.cubes / f"u{universe}.npy", file["counts"][:32, 32:, :32])
            cls.files.append(cls.cubes / f"u{universe}.npy")
        cls.fiducial = cls.root / "fiducial"
        words = [word for word in super().sim_words()]
        for name in ("--omega-m", "--sigma8", "--n-s", "--simulations", "--seed"):
            if name in words:
                del words[words.index(name):words.index(name) + 2]
        succeed("cosmo-sim", *words, *POINT, "--simulations", 4, "--seed", 4321, "--output", cls.fiducial)

    def predict(self, *words, ranks=1):
        return succeed("cosmo-infer", "--model", self.model, "--input", *words, ranks=ranks)

    def refused(self, code, sentence, *words):
        done = run("cosmo-infer", "--model", self.model, "--input", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(sentence, error_line(done, "cosmo-infer"))

    def saved(self, name, array):
        np.save(self.root / name, array)
        return self.root / name

    def ones(self, files):
        return [self.predict(file, "--box", 64)["parameters"] for file in files]

    def test_binary_snapshots_are_predicted_as_those_in_hdf5(self):
        """One file, one of two, and their directory; by counts of boxes of the size of a sample."""
        positions = others_snapshots.moved_lattice()
        masses = (0, others_snapshots.MASS, 0, 0, 0, 0)
        hdf5 = others_snapshots.gadget(self.root / "hdf5/snap.hdf5", {1: {"Coordinates": positions}}, {"MassTable": masses})
        half = len(positions) // 2
        for number, part in enumerate((positions[:half], positions[half:])):
            others_snapshots.binary(self.root / f"binary/snap.{number}", {1: part}, masses, files=2, totals=[0, len(positions), 0, 0, 0, 0])
        expected = self.predict(hdf5)["parameters"]
        for source in ("binary", "binary/snap.1"):
            self.assertEqual(self.predict(self.root / source, "--length-unit", "Mpc/h")["parameters"], expected)

    def test_many_are_predicted_as_one_by_one(self):
        """The same bits, in files, as words or with commas, in an array, in a directory, on any number of ranks."""
        ones = self.ones(self.files)
        joined = ",".join(str(file) for file in self.files)
        array = self.saved("array.npy", np.stack([np.load(file) for file in self.files]))
        channels = self.saved("channels.npy", np.load(array)[:, None].astype("<f4"))
        for words in (self.files, [joined], [self.cubes], [array], [channels],
                      [self.files[0], "--input", *self.files[1:]]):
            for ranks in (1, 2):
                found = self.predict(*words, "--box", 64, ranks=ranks)
                self.assertEqual([universe["parameters"] for universe in found["universes"]], ones)
        names = [universe["universe"] for universe in self.predict(array, "--box", 64)["universes"]]
        self.assertEqual(names, [f"{array} {i}" for i in range(5)])
        one = self.saved("one.npy", np.load(array)[:1])
        self.assertEqual(self.predict(one, "--box", 64)["parameters"], ones[0])

    def test_a_table_is_printed_and_written(self):
        array = self.saved("many.npy", np.tile(np.stack([np.load(file) for file in self.files]), (9, 1, 1, 1)))
        done = run("cosmo-infer", "--model", self.model, "--input", array, "--box", 64, "--output", self.root / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertTrue(lines[0].startswith("universe"))
        self.assertIn("5 more", lines[41])
        self.assertIn("45 universes, from 1 sub-volume each", lines[42])
        rows, ones = table(self.root / "out/universes.csv"), self.ones(self.files)
        self.assertEqual(list(rows[0]), ["input", "universe", "subvolumes", "seed",
                                         *(f"{kind}_{name}" for name in NAMES for kind in ("predicted", "deviation"))])
        for i, row in enumerate(rows):
            self.assertEqual((row["input"], row["universe"], row["subvolumes"]), (str(array), str(i), "1"))
            for name in NAMES:
                expected = ones[i % 5][name]
                self.assertEqual((float(row[f"predicted_{name}"]), float(row[f"deviation_{name}"])),
                                 (expected["value"], expected["error"]))
        before = contents(self.root / "out")
        again = run("cosmo-infer", "--model", self.model, "--input", array, "--box", 64, "--output", self.root / "out")
        self.assertIn("up to date", again.stdout)
        self.assertEqual(contents(self.root / "out"), before)
        succeed("cosmo-infer", "--model", self.model, "--input", array, "--box", 64, "--output", self.root / "two", ranks=2)
        self.assertEqual((self.root / "two/universes.csv").read_bytes(), (self.root / "out/universes.csv").read_bytes())

    def test_a_suite_has_truths(self):
        """Given as a directory, and by its files."""
        manifest = json.loads((self.sim / "manifest.json").read_text())
        words = [self.sim / f"sim-{i:05}/counts_z0.h5" for i in range(3)]
        whole, some = self.predict(self.sim), self.predict(*words)
        self.assertEqual(len(whole["universes"]), len(manifest["simulations"]))
        self.assertEqual([{**universe, "universe": ""} for universe in whole["universes"][:3]],
                         [{**universe, "universe": ""} for universe in some["universes"]])
        for universe, record, counts in zip(whole["universes"], manifest["simulations"], words):
            self.assertEqual(universe["seed"], record["seed"])
            self.assertEqual(universe["subvolumes"], 8)
            alone = self.predict(counts)["parameters"]
            for name in NAMES:
                self.assertEqual(universe["parameters"][name], {**alone[name], "truth": record["parameters"][name]})
        self.assertNotIn("fiducial", whole)
        told, = (warning for warning in whole["warnings"] if "trained on" in warning)
        self.assertIn(f"of {len(manifest['simulations'])} universes have seeds of universes that the model was trained on", told)

    def test_warnings_are_given_once_with_names(self):
        cubes = np.stack([np.load(file) for file in self.files])
        cubes[1::2] *= 20
        array = self.saved("strange.npy", cubes)
        told, = (warning for warning in self.predict(array, "--box", 64)["warnings"] if "The mean count" in warning)
        self.assertIn(f"in 2 of 5 samples of 2 universes ({array} 1, {array} 3): as far off as ", told)

    def test_a_point_gives_bias_and_scatter(self):
        """A suite at one cosmology, as files and as test data for the model."""
        found = self.predict(self.fiducial)
        for name, value in zip(NAMES, POINT[1::2]):
            p = np.array([universe["parameters"][name]["value"] for universe in found["universes"]])
            sigma = np.mean([universe["parameters"][name]["error"] for universe in found["universes"]])
            s, n = p.std(ddof=1), len(p)
            expected = {"truth": value, "bias": p.mean() - value, "bias_se": s / math.sqrt(n), "scatter": s,
                        "scatter_se": s / math.sqrt(2 * (n - 1)), "mean_deviation": sigma}
            self.assertEqual(set(found["fiducial"][name]), set(expected))
            for key, figure in expected.items():
                self.assertAlmostEqual(found["fiducial"][name][key], figure, places=12)
        data, out = self.root / "fid-data", self.root / "fid-out"
        succeed("cosmo-prep", "shard", "--input", self.fiducial, "--test-for", self.model, "--output", data)
        manifest = json.loads((data / "manifest.json").read_text())
        self.assertEqual(manifest["parameters"], json.loads((self.model / "manifest.json").read_text())["parameters"])
        self.assertEqual([len(manifest["splits"][name]["simulations"]) for name in ("train", "validation", "test")], [0, 0, 4])
        succeed("cosmo-prep", "verify", data)
        self.assertEqual(run("cosmo-prep", "describe", data).returncode, 0)
        done = run("cosmo-infer", "--model", self.model, "--data", data, "--output", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        metrics = json.loads((out / "metrics.json").read_text())
        for name in NAMES:
            for key, figure in found["fiducial"][name].items():
                self.assertAlmostEqual(metrics["fiducial"][name][key], figure, places=12)
            self.assertNotIn("slope", metrics["network"][name])
        self.assertIn("scatter", done.stdout)
        for text in (done.stdout, (out / "report.html").read_text(), (out / "metrics.json").read_text()):
            self.assertNotIn("nan", text.replace("nance", ""))
        page = (out / "report.html").read_text()
        for text in ('data-metric="fiducial.omega_m.bias"', "All universes are at one point, where the network’s predictions are off by their bias"):
            self.assertIn(text, page)
        for words, code, sentence in (
                (["cosmo-train", "--data", data, "--network", "cosmonet32"], CONFIG, "test data alone"),
                (["cosmo-infer", "--model", self.model, "--data", data, "--split", "train"], CONFIG, "has no train universes"),
                (["cosmo-prep", "shard", "--input", self.fiducial], CONFIG, "--test-for"),
                (["cosmo-prep", "shard", "--input", self.fiducial, "--test-for", self.model, "--test", 2], USAGE, "leave it out"),
                (["cosmo-prep", "shard", "--input", self.fiducial, "--test-for", self.root], IO, "--test-for has no manifest.json"),
                (["cosmo-prep", "shard", "--input", self.fiducial, "--test-for", self.fiducial], CONFIG, "varies no parameter"),
                (["cosmo-prep", "shard", "--input", self.sim, "--validation", 0], CONFIG, "cosmo-infer --input")):
            refused = run(*words, "--output", self.root / "never")
            self.assertEqual(refused.returncode, code, refused.stderr)
            self.assertIn(sentence, refused.stderr)

    def test_test_data_are_cut_as_what_they_are_for(self):
        whole, as_whole = self.root / "whole-boxes", self.root / "as-whole-boxes"
        succeed("cosmo-prep", "shard", "--input", self.fiducial, "--test-for", self.model, "--subvolumes", 1, "--output", whole)
        succeed("cosmo-prep", "shard", "--input", self.fiducial, "--test-for", whole, "--output", as_whole)
        self.assertEqual(json.loads((as_whole / "manifest.json").read_text())["subvolumes_per_simulation"], 1)

    def test_test_data_are_exported_and_imported(self):
        data, npy, again = (self.root / name for name in ("tested", "tested-npy", "tested-again"))
        succeed("cosmo-prep", "shard", "--input", self.fiducial, "--test-for", self.data, "--output", data)
        succeed("cosmo-prep", "export", "--input", data, "--format", "npy", "--output", npy)
        self.assertTrue(succeed("cosmo-prep", "import", "--input", npy, "--format", "npy", "--output", again)["identical"])

    def test_what_does_not_fit_is_refused(self):
        cube = np.load(self.files[0])
        for array, words, code, sentence in (
                (np.stack([cube, cube])[:, :16], [], FORMAT, "has the shape (2, 16, 32, 32), which is not a cube"),
                (np.stack([cube, cube])[None, None], [], FORMAT, "(1, 1, 2, 32, 32, 32)"),
                (np.stack([cube, cube])[None], [], FORMAT, "save (n, n, n), or (N, n, n, n) for N universes"),
                (np.stack([cube, -1 * cube.astype("<i4")]), [], FORMAT, "universe 1, has -"),
                (np.stack([cube, np.full(cube.shape, np.nan)]), [], FORMAT, "universe 1, has nan at voxel 0, which is not a count"),
                (np.stack([cube, 0 * cube]), [], CONFIG, "bad.npy 1 has no particle"),
                (cube.astype("<c8"), [], FORMAT, "elements of type '<c8'"),
                (cube[:16, :16, :16], [self.files[1]], CONFIG, "bad.npy, 16 voxels wide")):
            self.refused(code, sentence, self.saved("bad.npy", array), *words, "--box", 64)
        empty = self.root / "empty"
        empty.mkdir()
        early = self.root / "early"
        succeed("cosmo-sim", "generate", "--simulations", 2, "--omega-m", "0.25:0.35", "--particles", 16, "--grid", 32, "--box", 64,
                "--steps", 1, "--z-initial", 9, "--redshifts", 1, "--output", early)
        unfinished = self.root / "unfinished"
        os.makedirs(unfinished / "sim-00000")
        for words, code, sentence in (
                ([empty], CONFIG, "holds neither counts, a snapshot nor .npy files"),
                ([early], CONFIG, "no counts at z = 0"),
                ([unfinished], CONFIG, "is a suite that is not finished"),
                ([self.data], CONFIG, "is a dataset: give it as --data"),
                ([self.files[0], self.root / "absent.npy", "--box", 64], IO, "absent.npy of --input does not exist"),
                ([self.files[0], self.files[0], "--box", 64], USAGE, "twice"),
                ([f"{self.files[0]},", "--box", 64], USAGE, "empty name"),
                ([self.sim, "--box", 64], USAGE, "--box applies to an .npy file"),
                ([self.files[0], "--data", self.data], USAGE, "exclude each other")):
            self.refused(code, sentence, *words)
        for words, sentence in ((["--model", self.model], "One of the options --data and --input is missing"),
                                ([], "--model is missing")):
            done = run("cosmo-infer", *words)
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(sentence, done.stderr)

    def test_a_dry_run_writes_nothing(self):
        array = self.saved("planned.npy", np.stack([np.load(file) for file in self.files]))
        for words in ([], ["--output", self.root / "planned"]):
            plan = self.predict(array, "--box", 64, "--dry-run", *words)
            self.assertEqual((plan["universes"], plan["voxels_per_side"], plan["subvolumes"]), (5, 32, 5))
        self.assertFalse((self.root / "planned").exists())


if __name__ == "__main__":
    unittest.main()
