"""Datasets joined from several suites and other codes' counts, and splits that are kept when data grow."""

import json
import unittest

import h5py
import numpy as np

import cosmo_data
from others_snapshots import gadget, moved_lattice
from toolkit import DirectoryTest, error_line, printed, run, sha256, succeed

USAGE, CONFIG = 2, 3
SUITE = ["generate", "--sigma8", "0.78:0.95", "--box", 64, "--particles", 32]
NARROW, WIDE = ["--omega-m", "0.25:0.35"], ["--omega-m", "0.2:0.4"]
PARAMETERS = "omega_m=0.25:0.35,sigma8=0.78:0.95"


class Join(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        root = cls.root
        cls.suites = {"a": ["--steps", 5], "same_seeds": ["--steps", 4], "b": ["--seed", 2, "--steps", "2:6", "--twins", 2],
                      "wide": ["--seed", 3, "--steps", 5], "foreign_suite": ["--seed", 4, "--steps", 5]}
        for name, words in cls.suites.items():
            words = [*SUITE, *(WIDE if name == "wide" else NARROW), "--simulations", 8, *words]
            succeed("cosmo-sim", *words, "--output", root / name)
        cls.foreign = cls.make_foreign()

    @classmethod
    def make_foreign(cls):
        """Counts of another code: cubes in .npy, a table, and what cosmo-prep import makes of them."""
        (cls.root / "cubes").mkdir()
        rows = ["file,simulation,omega_m,sigma8,seed"]
        for universe in json.loads((cls.root / "foreign_suite/manifest.json").read_text())["simulations"]:
            with h5py.File(cls.root / "foreign_suite" / universe["files"][0]) as counts:
                np.save(cls.root / f"cubes/{universe['index']}.npy", counts["counts"][:][::-1].copy())
            parameters = universe["parameters"]
            rows.append(f"{universe['index']}.npy,{universe['index']},{parameters['omega_m']},{parameters['sigma8']},{9000 + universe['index']}")
        (cls.root / "cubes.csv").write_text("\n".join(rows) + "\n")
        succeed("cosmo-prep", "import", "--format", "npy", "--input", cls.root / "cubes", "--samples", cls.root / "cubes.csv",
                "--box", 64, "--parameters", PARAMETERS, "--output", cls.root / "foreign")
        return cls.root / "foreign"

    def shard(self, output, *names, words=()):
        inputs = ",".join(str(self.root / name) for name in names)
        succeed("cosmo-prep", "shard", "--input", inputs, "--subvolumes", 1, *words, "--output", self.root / output)
        succeed("cosmo-prep", "verify", self.root / output)
        return self.root / output

    def samples(self, data):
        """Each sample's voxels and labels by its seed and settings."""
        found = {}
        for name in ("train", "validation", "test"):
            split = cosmo_data.Split(data, name)
            for i in range(len(split)):
                sample = split[i]
                steps = split.settings(i).get("steps")
                found.setdefault(sample.identity.seed, []).append((steps, sample.voxels.tobytes(), tuple(sample.parameters), name))
        return found

    def test_samples_are_those_of_each_alone(self):
        joined = self.samples(self.shard("joined", "a", "b", "foreign"))
        alone = {}
        for name in ("a", "b"):
            alone |= self.samples(self.shard(f"{name}-alone", name))
        alone |= self.samples(self.foreign)
        self.assertEqual(set(joined), set(alone))
        for seed, samples in joined.items():
            self.assertEqual(sorted(sample[1:3] for sample in samples), sorted(sample[1:3] for sample in alone[seed]))
        self.assertEqual(sum(len(samples) for samples in joined.values()), 8 + 16 + 8)
        manifest = json.loads((self.root / "joined/manifest.json").read_text())
        self.assertEqual([(source["first"], source["simulations"]) for source in manifest["joined"]], [(0, 8), (8, 16), (24, 8)])
        self.assertEqual(len(manifest["inputs"]), 3)
        described = printed("cosmo-prep", "describe", self.root / "joined")
        for line in ("steps       differs, no label\n", "input       differs, no label\n"):
            self.assertIn(line, described)
        split = cosmo_data.Split(self.root / "joined", "train")
        inputs = {split.settings(i)["input"] for i in range(len(split))}
        self.assertEqual(inputs, {0, 1, 2})
        for i in range(len(split)):
            number, settings = split.identity(i).simulation, split.settings(i)
            self.assertEqual(settings["input"], (number >= 8) + (number >= 24))
            self.assertEqual(np.isnan(settings["steps"]), settings["input"] == 2)  # an import states no steps
            if settings["input"] == 0:
                self.assertEqual(settings["steps"], 5)
        self.assertIn("made of", run("cosmo-prep", "describe", self.root / "joined").stdout)

    def test_one_seed_is_in_one_split_and_a_network_learns_from_all(self):
        data = self.shard("mixed", "a", "same_seeds", "wide", words=["--validation", 3, "--test", 3])
        for seed, samples in self.samples(data).items():
            self.assertEqual(len({name for *_, name in samples}), 1)
        manifest = json.loads((data / "manifest.json").read_text())
        self.assertEqual([len(manifest["splits"][name]["seeds"]) for name in ("validation", "test")],
                         [len([s for samples in self.samples(data).values() for s in samples if s[3] == name]) for name in ("validation", "test")])
        self.assertNotIn("leak", manifest)
        self.assertEqual((manifest["parameters"]["low"][0] < 0.24, manifest["parameters"]["high"][0] > 0.36), (True, True))
        network = self.root / "small.json"
        network.write_text(json.dumps({"name": "small", "input": "grid", "layers": [
            {"name": "a", "inputs": ["grid"], "kind": "convolution", "outputs": 4, "kernel": 3, "stride": 1, "padding": "periodic", "slope": 0.1},
            {"name": "mean", "inputs": ["a"], "kind": "global_mean", "squares": True},
            {"name": "parameters", "inputs": ["mean"], "kind": "dense", "outputs": 0, "slope": 1}]}))
        succeed("cosmo-train", "--data", data, "--output", self.root / "model", "--network", network, "--epochs", 2)
        succeed("cosmo-infer", "--model", self.root / "model", "--data", data, "--output", self.root / "predictions")
        page = (self.root / "predictions/report.html").read_text()
        self.assertIn("the labels are not flat over the ranges of all", page)
        # A suite whose seeds the network has seen leaks, joined or alone.
        done = run("cosmo-infer", "--model", self.root / "model", "--data", self.shard("again", "same_seeds"), "--output", self.root / "leak")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("seeds", error_line(done, "cosmo-infer"))

    def test_a_split_is_kept_when_suites_are_added(self):
        first = self.shard("first", "a", words=["--validation", 2, "--test", 2])
        grown = self.shard("grown", "a", "b", "foreign", words=["--keep-split", first])

        def seeds(data, name):
            return sorted(set(json.loads((data / "manifest.json").read_text())["splits"][name]["seeds"]))

        for name in ("validation", "test"):
            self.assertEqual(seeds(grown, name), seeds(first, name))
        self.assertEqual(len(seeds(grown, "train")), 4 + 8 + 8)
        some = self.shard("some", "a", "b", words=["--keep-split", first, "--training", 5])
        self.assertEqual((len(seeds(some, "train")), seeds(some, "test")), (5, seeds(first, "test")))
        alone = self.shard("kept-alone", "a", words=["--keep-split", first])
        for path in ("validation/shard-00000.h5", "test/shard-00000.h5"):
            self.assertEqual(sha256(alone / path), sha256(first / path))
        self.refused(CONFIG, "4 of the 4 validation and test universes of --keep-split are not among", "b", "wide", words=["--keep-split", first])
        self.refused(USAGE, "--test has no use with --keep-split", "a", "b", words=["--keep-split", first, "--test", 3])
        self.refused(CONFIG, "--training 99 is more than the", "a", "b", words=["--keep-split", first, "--training", 99])

    def refused(self, code, part, *names, words=(), cuts=1):
        inputs = ",".join(str(self.root / name) for name in names)
        done = run("cosmo-prep", "shard", "--input", inputs, "--subvolumes", cuts, *words, "--output", self.root / "never")
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(part, error_line(done, "cosmo-prep"))
        self.assertFalse((self.root / "never").exists())

    def test_universes_that_are_not_alike_are_named(self):
        for name, words, part in (("box", ["--box", 32, *SUITE[5:]], "has a box of 64 Mpc/h"), ("space", ["--redshift-space", "z"], "positions in real space"),
                                                                    ("later", ["--redshifts", 1], "has no counts at z = 0")):
            base = SUITE if "--box" not in words else SUITE[:3]
            succeed("cosmo-sim", *base, *NARROW, "--simulations", 2, "--seed", 9, "--steps", 2, *words, "--output", self.root / name)
            self.refused(CONFIG, part, "a", name)
        succeed("cosmo-sim", *SUITE, *NARROW, "--simulations", 2, "--seed", 9, "--steps", 2, "--grid", 8, "--output", self.root / "grid")
        self.refused(CONFIG, "--grid 16 does not divide the 8 voxels", "a", "grid", words=["--grid", 16])
        plan = succeed("cosmo-prep", "shard", "--input", f"{self.root / 'a'},{self.root / 'grid'}", "--subvolumes", 1, "--dry-run",
                       "--output", self.root / "never")
        self.assertEqual(plan["shape"], [8, 8, 8])
        succeed("cosmo-sim", *SUITE[:-1], 16, *NARROW, "--grid", 16, "--simulations", 2, "--seed", 9, "--steps", 2, "--output", self.root / "few")
        self.refused(CONFIG, "has 32768 particles in a universe and", "a", "few")
        succeed("cosmo-sim", "generate", "--simulations", 2, "--n-s", "0.9:1", "--box", 64, "--particles", 32, "--steps", 2, "--seed", 9,
                "--output", self.root / "slope")
        self.refused(CONFIG, "does not state n_s of its universes", "slope", "foreign")
        self.refused(CONFIG, "are the same output: name it once", "a", "a")
        self.shard("both", "a", "b")
        self.refused(CONFIG, "is also in", "a", "both")
        self.refused(CONFIG, "is a data set of 16 voxels per side, which are not summed", "a", "foreign", words=["--grid", 8])
        self.refused(CONFIG, "--rolls", "a", "foreign", words=["--rolls", 1])
        self.refused(CONFIG, "give --subvolumes 1", "a", "foreign", cuts=2)

    def test_universes_whose_seeds_are_not_known_are_told_apart_by_their_counts(self):
        for name, first, universes in (("mine", 0, 4), ("yours", 4, 4), ("mine_again", 0, 3)):
            rows = ["snapshot,omega_m"]
            for i in range(universes):
                gadget(self.root / f"snapshots-{name}/{i}.hdf5", {1: {"Coordinates": moved_lattice(first + i)}}, drop=("Omega0",))
                rows.append(f"{i}.hdf5,0.3{i}")
            table = self.root / f"snapshots-{name}/suite.csv"
            table.write_text("\n".join(rows) + "\n")
            succeed("cosmo-prep", "histogram", "--grid", 8, "--input", table, "--output", self.root / name)
        both = self.shard("mine_and_yours", "mine", "yours")
        self.assertEqual(json.loads((both / "manifest.json").read_text())["joined"][1]["simulations"], 4)
        self.refused(CONFIG, "is also in", "mine", "mine_again")
        self.refused(CONFIG, "column seed", "mine", "mine_again")


if __name__ == "__main__":
    unittest.main()
