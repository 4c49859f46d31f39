"""Suites whose settings differ from universe to universe, and twins: one universe under several settings."""

import json
import unittest

import h5py
import numpy as np

import cosmo_data
from cosmo_data import frames
from toolkit import DirectoryTest, contents, error_line, record_again, run, sha256, succeed

USAGE, CONFIG, FORMAT = 2, 3, 5
SUITE = ["generate", "--simulations", 6, "--omega-m", "0.25:0.35", "--box", 32, "--particles", 16]
VARYING = ["--steps", "2:5", "--mesh", "12,16,24", "--z-initial", "9:19", "--force-kernel", "two-point,deconvolved",
           "--integrator", "cola,bullfrog,fastpm", "--gradient-descent", "none,0.2,1,2", "--twins", 2]
OPTIONS = {"force_kernel": "--force-kernel", "integrator": "--integrator", "steps": "--steps", "z_initial": "--z-initial",
           "gradient_descent": "--gradient-descent"}

SMALL = {"name": "small", "input": "grid", "layers": [
    {"name": "a", "inputs": ["grid"], "kind": "convolution", "outputs": 4, "kernel": 3, "stride": 1, "padding": "periodic", "slope": 0.1},
    {"name": "mean", "inputs": ["a"], "kind": "global_mean", "squares": True},
    {"name": "parameters", "inputs": ["mean"], "kind": "dense", "outputs": 0, "slope": 1}]}


class Settings(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.suite = cls.root / "suite"
        succeed("cosmo-sim", *SUITE, *VARYING, "--output", cls.suite)
        cls.manifest = json.loads((cls.suite / "manifest.json").read_text())
        cls.universes = cls.manifest["simulations"]

    def refused(self, code, part, *words):
        done = run("cosmo-sim", *SUITE, *words, "--output", self.root / "never")
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(part, error_line(done, "cosmo-sim"))

    def plan(self, *words):
        return run("cosmo-sim", *SUITE, *words, "--dry-run", "--output", self.root / "never")

    def test_each_universe_records_its_own_and_twins_differ_in_nothing_else(self):
        self.assertEqual(len(self.universes), 12)
        self.assertEqual(self.manifest["twins"], 2)
        for first, second in zip(self.universes[::2], self.universes[1::2]):
            self.assertEqual((first["seed"], first["parameters"]), (second["seed"], second["parameters"]))
            self.assertNotEqual(first["settings"], second["settings"])
        self.assertEqual(len({universe["seed"] for universe in self.universes}), 6)
        facts = self.manifest["facts"]
        self.assertEqual((facts["steps"], facts["z_initial"]), ([2, 5], [9, 19]))
        self.assertEqual(facts["mesh_cell_mpc_h"], [32 / 24, 32 / 12])
        for universe in self.universes:
            settings = universe["settings"]
            self.assertEqual(set(settings), {"mesh_cell_mpc_h", *OPTIONS})
            self.assertIn(settings["steps"], (2, 3, 4, 5))
            self.assertTrue(9 <= settings["z_initial"] < 19)
            self.assertIn(round(32 / settings["mesh_cell_mpc_h"]), (12, 16, 24))
            for name in ("force_kernel", "integrator", "gradient_descent"):
                self.assertIn(settings[name], facts[name])
        for name in OPTIONS:
            self.assertGreater(len({universe["settings"][name] for universe in self.universes}), 1)
        self.assertEqual(frames.simulations(self.suite)["steps"].tolist(),
                         [universe["settings"]["steps"] for universe in self.universes])

    def test_a_universe_is_the_one_that_its_settings_alone_give(self):
        for universe in self.universes[:4]:
            table, output = self.root / "one.csv", self.root / f"alone{universe['index']}"
            names, values = zip(*universe["parameters"].items())
            table.write_text(f"{','.join(names)},seed\n{','.join(repr(value) for value in values)},{universe['seed']}\n")
            settings = universe["settings"]
            words = [word for name, option in OPTIONS.items()
                     for word in (option, int(settings[name]) if name == "steps" else settings[name])]
            succeed("cosmo-sim", "generate", "--design", table, "--box", 32, "--particles", 16, "--mesh",
                    round(32 / settings["mesh_cell_mpc_h"]), *words, "--output", output)
            self.assertEqual(sha256(output / "sim-00000/counts_z0.h5"), sha256(self.suite / universe["files"][0]))

    def test_the_same_suite_from_any_ranks_in_slices_and_after_a_shorter_one(self):
        others = self.root / "others"
        succeed("cosmo-sim", *SUITE, *VARYING, "--select", "3:7", "--output", others)
        succeed("cosmo-sim", *SUITE, *VARYING, "--ranks-per-simulation", 2, "--output", others, ranks=2)
        self.assertEqual(contents(others), contents(self.suite))
        shorter = self.root / "shorter"
        succeed("cosmo-sim", *SUITE[:2], 4, *SUITE[3:], *VARYING, "--output", shorter, ranks=3)
        for universe in json.loads((shorter / "manifest.json").read_text())["simulations"]:
            self.assertEqual(universe, self.universes[universe["index"]])
            for path in universe["files"]:
                self.assertEqual(sha256(shorter / path), sha256(self.suite / path))

    def test_shards_have_settings_as_columns_and_twins_in_one_split(self):
        data = self.root / "data"
        succeed("cosmo-prep", "shard", "--input", self.suite, "--output", data, "--subvolumes", 1, "--validation", 1, "--test", 2)
        succeed("cosmo-prep", "verify", data)
        manifest = json.loads((data / "manifest.json").read_text())
        self.assertEqual([len(manifest["splits"][split]["simulations"]) for split in ("train", "validation", "test")], [6, 2, 4])
        self.assertEqual(sum(len(set(split["seeds"])) for split in manifest["splits"].values()), 6)
        with h5py.File(data / "train/shard-00000.h5") as shard:
            columns = list(shard["settings"].attrs["names"])
            texts = {name: list(shard["settings"].attrs[name]) for name in columns if name in shard["settings"].attrs}
            self.assertEqual(manifest["settings"], [{"name": name, "texts": texts[name]} if name in texts else {"name": name}
                                                    for name in columns])
            for simulation, row in zip(shard["simulation"], shard["settings"]):
                for name, value in zip(columns, row):
                    found = texts[name][int(value)] if name in texts else value
                    self.assertEqual(found, self.universes[simulation]["settings"][name])
        split = cosmo_data.Split(data, "test")
        for index in range(len(split)):
            self.assertEqual(split.settings(index), self.universes[split.identity(index).simulation]["settings"])
        self.assertEqual(len(frames.samples(data)["integrator"].unique()), 3)
        described = run("cosmo-prep", "describe", data).stdout
        self.assertIn("steps       2 to 5, no label\n", described)
        # It comes back from an export, the same bytes.
        for form in ("npy", "tfrecord"):
            succeed("cosmo-prep", "export", "--input", data, "--format", form, "--output", self.root / form)
            succeed("cosmo-prep", "import", "--input", self.root / form, "--format", form, "--output", self.root / f"{form}-back")
            self.assertEqual(contents(self.root / f"{form}-back"), contents(data))
        # A shard whose columns are not those of the manifest is refused.
        def add_one(table):
            table[0, columns.index("steps")] = np.inf

        shard_file = data / "train/shard-00000.h5"
        for change, part in ((lambda table: table.attrs.modify("names", [*columns[:-1], "other"]), "other settings than its manifest"),
                             (lambda table: table.attrs.modify("integrator", ["cola", "cola", "cola"]), "other settings than its manifest"),
                             (add_one, "sample 0 has a setting steps of inf")):
            original = shard_file.read_bytes()
            with h5py.File(shard_file, "r+") as shard:
                change(shard["settings"])
            record_again(data, shard_file)
            done = run("cosmo-prep", "verify", data)
            self.assertEqual(done.returncode, FORMAT, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-prep"))
            shard_file.write_bytes(original)

    def test_settings_that_the_suite_does_not_have_are_refused(self):
        altered = self.root / "altered"
        altered.mkdir()
        for path in self.suite.iterdir():
            if path.name != "manifest.json":
                (altered / path.name).symlink_to(path)
        for name, value in (("steps", 77), ("steps", "x"), ("force_kernel", "foo"), ("integrator", ["cola", "bullfrog"])):
            manifest = json.loads((self.suite / "manifest.json").read_text())
            manifest["simulations"][4]["settings"][name] = value
            (altered / "manifest.json").write_text(json.dumps(manifest))
            done = run("cosmo-prep", "shard", "--input", altered, "--output", self.root / "never")
            self.assertEqual(done.returncode, FORMAT, done.stderr)
            self.assertIn(f"has simulation 4 with {name} = ", error_line(done, "cosmo-prep"))

    def test_a_lone_file_of_a_suite_has_its_own_settings(self):
        """A model of one setting sees which of a suite's universes have others."""
        network = self.root / "small.json"
        network.write_text(json.dumps(SMALL))
        one, data, model = self.root / "one", self.root / "one-data", self.root / "one-model"
        succeed("cosmo-sim", *SUITE[:2], 40, *SUITE[3:], "--steps", 3, "--output", one)
        succeed("cosmo-prep", "shard", "--input", one, "--output", data, "--subvolumes", 1)
        succeed("cosmo-train", "--data", data, "--output", model, "--epochs", 1, "--network", network)
        for universe in self.universes[:3]:
            done = run("cosmo-infer", "--model", model, "--input", self.suite / universe["files"][0])
            self.assertEqual(done.returncode, 0, done.stderr)
            steps = int(universe["settings"]["steps"])
            self.assertEqual(f"steps is {steps} in" in done.stderr, steps != 3, done.stderr)

    def test_the_plan_states_what_settings_cost(self):
        plan = json.loads(self.plan("--steps", "10,40", "--mesh", "16,32", "--json").stdout)

        def cost(mesh, steps):
            return 16**3 * (23 + 1.9 * steps) + steps * mesh**3

        first = json.loads(self.plan("--steps", "10,40", "--mesh", 16, "--json").stdout)["relative_cost"] * cost(16, 10)
        counts = [(first - 6 * cost(16, 10)) / (cost(16, 40) - cost(16, 10))]  # universes of 40 steps
        self.assertAlmostEqual(counts[0], round(counts[0]), 6)
        self.assertTrue(6 < plan["relative_cost"] < 6 * cost(32, 40) / cost(16, 10))
        self.assertNotIn("relative_cost", json.loads(self.plan("--json").stdout))

    def test_draws_that_cannot_be_are_listed_and_made_again(self):
        words = ["--lpt-order", 3, "--steps", 10, "--integrator", "cola,bullfrog", "--gradient-descent", "none,fitted"]
        done = self.plan(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"--gradient-descent fitted with --integrator bullfrog cannot be and was drawn again, \d+ time")
        output = self.root / "fitted"
        succeed("cosmo-sim", *SUITE, *words, "--output", output)
        drawn = [(row["settings"]["integrator"], row["settings"]["gradient_descent"])
                 for row in json.loads((output / "manifest.json").read_text())["simulations"]]
        self.assertNotIn("bullfrog", {integrator for integrator, descent in drawn if descent != "none"})
        self.refused(CONFIG, "--gradient-descent fitted has no fit with any", "--integrator", "bullfrog,fastpm",
                     "--gradient-descent", "fitted")

    def test_wrong_values_name_the_option(self):
        self.refused(CONFIG, "--steps is '9:3': write LOW:HIGH with LOW below HIGH", "--steps", "9:3")
        self.refused(USAGE, "--steps is '3:5:7': write LOW:HIGH", "--steps", "3:5:7")
        self.refused(USAGE, "--steps is '2.5': give a whole number", "--steps", "2:2.5")
        self.refused(CONFIG, "--steps is 0: choose a value between 1 and 10000", "--steps", "0:4")
        self.refused(CONFIG, "--mesh is '16,16': name 16 once", "--mesh", "16,16")
        self.refused(USAGE, "--integrator is 'cola,toad': choose cola or bullfrog or fastpm", "--integrator", "cola,toad")
        self.refused(USAGE, "--force-kernel is 'deconvolved,deconvolved'", "--force-kernel", "deconvolved,deconvolved")
        self.refused(USAGE, "give fitted, or three numbers", "--gradient-descent", "none,0.2,1")
        self.refused(CONFIG, "--gradient-descent is 'none,none'", "--gradient-descent", "none,none")
        self.refused(CONFIG, "--redshifts has 12: choose values from 0 to --z-initial, 9", "--redshifts", "0,12", "--z-initial", "9:19")
        self.refused(CONFIG, "none varies: give --steps", "--twins", 2)
        self.refused(CONFIG, "--twins 3 needs that number of different settings, and there are only 2", "--steps", "3,4", "--twins", 3)
        for value in ("9:1100", "-1:9", "0,9", "0:9"):
            self.refused(CONFIG, f"--z-initial is {value}: choose values above 0 and up to 999", "--z-initial", value)
        self.refused(CONFIG, "--gradient-descent fitted has no fit with any of the other choices", "--gradient-descent", "none,fitted")
        self.assertIn("--mesh 12:30 has meshes that beat", self.plan("--mesh", "12:30").stderr)
        self.assertIn("--mesh 18 beats", self.plan("--mesh", "16,18").stderr)


if __name__ == "__main__":
    unittest.main()
