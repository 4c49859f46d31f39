"""Facts of the universes travel from suite to dataset to model, and cosmo-infer names those in which its inputs differ; smallest size."""

import html
import json
import shutil
import unittest

import gadget
from toolkit import DirectoryTest, run, sha256, succeed

NETWORK = """{"name": "small", "input": "grid", "layers": [
  {"name": "conv1", "inputs": ["grid"], "kind": "convolution", "outputs": 2, "kernel": 3, "stride": 4, "padding": 0, "slope": 0.01},
  {"name": "labels", "inputs": ["conv1"], "kind": "dense", "outputs": 0, "slope": 1}]}"""
TRAINING = ["--omega-m", "0.25:0.35", "--box", 64, "--particles", 16, "--grid", 16, "--steps", 2]
# Other settings in everything that a suite can have otherwise: {fact: (its option and value, its text in a warning)}.
OTHERS = {
    "h": (["--h", 0.55], "0.55", "0.703"), "omega_b": (["--omega-b", 0.06], "0.06", "0.045"),
    "w0": (["--w0", -0.6], "-0.6", "-1"), "wa": (["--wa", 0.1], "0.1", "0"), "n_s": (["--n-s", 0.8], "0.8", "0.9667"),
    "sigma8": (["--sigma8", 0.6], "0.6", "0.8159"), "f_nl": (["--f-nl", 500], "500", "0"),
    "lpt_order": (["--lpt-order", 3], "3", "2"), "fixed_amplitude": (["--fixed-amplitude"], "on", "off"),
    "transfer": (["--transfer", "no-wiggle"], "no-wiggle", "eisenstein-hu"), "steps": (["--steps", 3], "3", "2"),
    "z_initial": (["--z-initial", 19], "19", "9"), "radiation": (["--radiation"], "on", "off"),
    "integrator": (["--integrator", "fastpm"], "fastpm", "cola"),
    "force_kernel": (["--force-kernel", "four-point"], "four-point", "deconvolved"),
    "mesh_cell_mpc_h": (["--mesh", 64], "2", "4"), "box_mpc_h": (["--box", 128, "--grid", 32], "128", "64"),
    "particle_spacing_mpc_h": (["--particles", 24], "5.33333333", "4"),
    "gradient_descent": (["--gradient-descent", "0.1,1,5"], "0.1,1,5", "none"),
}
IN_FILE = {"h", "omega_b", "w0", "wa", "n_s", "sigma8", "box_mpc_h", "particle_spacing_mpc_h"}  # what a counts file states
REFUSED = {"redshift", "redshift_space"}  # where they differ


class Facts(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.root / "network.json").write_text(NETWORK)
        cls.chain("training", *TRAINING, simulations=10)
        cls.model = cls.train("training")
        other = [word for words, _, _ in OTHERS.values() for word in words]
        cls.chain("other", "--omega-m", "0.25:0.35", *other, "--seed", 2, subvolumes=2)

    @classmethod
    def chain(cls, name, *words, simulations=3, subvolumes=1):
        """A suite, and a dataset of samples of 16³."""
        succeed("cosmo-sim", "generate", "--simulations", simulations, *words, "--output", cls.root / name)
        succeed("cosmo-prep", "shard", "--input", cls.root / name, "--subvolumes", subvolumes, "--output",
                cls.root / f"{name}-data")

    @classmethod
    def train(cls, name):
        model = cls.root / f"{name}-model"
        succeed("cosmo-train", "--data", cls.root / f"{name}-data", "--network", cls.root / "network.json", "--epochs", 1,
                "--global-batch", 2, "--output", model)
        return model

    def manifest(self, name):
        return json.loads((self.root / name / "manifest.json").read_text())

    def predict(self, model, data, name):
        """{fact: the warning that names it} of the predictions of a split, and the remarks."""
        output = self.root / name
        done = run("cosmo-infer", "--model", model, "--data", data, "--split", "test", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads((output / "metrics.json").read_text())["warnings"]
        page = html.unescape((output / "report.html").read_text())
        for warning in told:
            self.assertIn(f"warning: {warning}\n", done.stderr)
            self.assertIn(warning, page)
        return self.by_name(told), done.stderr

    def look(self, model, *words):
        """The same of one universe, and the names of what its file does not state."""
        done = run("cosmo-infer", "--model", model, "--json", "--input", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        for warning in told["warnings"]:
            self.assertIn(f"warning: {warning}\n", done.stderr)
        return self.by_name(told["warnings"]), done.stderr, set(told["facts_not_stated"])

    def by_name(self, warnings):
        named = [(warning.split(" is ")[0], warning) for warning in warnings if ": the predictions may be further off" in warning]
        self.assertEqual(len(named), len(dict(named)), warnings)
        return dict(named)

    def names_all(self, told, names, source):
        self.assertEqual(set(told), set(names))
        for name, warning in told.items():
            _, other, trained = OTHERS[name]
            expected = f"{name} is {other} in {source} and {trained} in the model's training universes: "
            self.assertTrue(warning.startswith(expected), f"{expected}\n{warning}")

    def test_each_stage_hands_them_on_outside_of_its_id(self):
        facts = self.manifest("training")["facts"]
        self.assertEqual(set(facts), set(OTHERS) | REFUSED | {"omega_m"})
        self.assertEqual((facts["omega_m"], facts["h"], facts["steps"], facts["force_kernel"], facts["redshift_space"]),
                         ([0.25, 0.35], 0.703, 2, "deconvolved", "none"))
        for name in ("training-data", "training-model"):
            self.assertEqual(self.manifest(name)["facts"], facts)
        for name in ("training", "training-data", "training-model"):
            self.assertNotIn("facts", self.manifest(name)["config"])

    def test_every_fact_that_differs_is_named(self):
        told, _ = self.predict(self.model, self.root / "other-data", "of-other")
        self.names_all(told, OTHERS, "the dataset")
        file = self.root / "other/sim-00000/counts_z0.h5"
        for path in (file, file.parent):
            told, _, unknown = self.look(self.model, path)
            self.names_all(told, OTHERS, path)
            self.assertEqual(unknown, set())
        told = run("cosmo-infer", "--model", self.model, "--input", file, "--dry-run")
        self.assertEqual(told.stderr.count("the model's training universes: "), len(OTHERS))

    def test_universes_of_the_training_kind_are_not_warned_of(self):
        told, said = self.predict(self.model, self.root / "training-data", "of-training")
        self.assertEqual(told, {})
        for words in ("may be further off", "Not stated by"):
            self.assertNotIn(words, said)
        index = self.manifest("training-data")["splits"]["test"]["simulations"][0]
        told, said, unknown = self.look(self.model, self.root / f"training/sim-{index:05}")
        self.assertEqual((told, unknown), ({}, set()))
        for words in ("may be further off", "Not stated by"):
            self.assertNotIn(words, said)

    def test_a_lone_file_is_compared_in_what_it_states(self):
        lone = self.root / "lone.h5"
        shutil.copy(self.root / "other/sim-00000/counts_z0.h5", lone)
        told, said, unknown = self.look(self.model, lone)
        self.names_all(told, IN_FILE, lone)
        self.assertEqual(unknown, set(OTHERS) - IN_FILE)
        self.assertIn(f"Not stated by {lone}: {', '.join(sorted(unknown)[:5])} and {len(unknown) - 5} more. Whether that is as in the "
                      "training universes was not checked.\n", said)

    def test_each_of_several_universes_is_compared_in_what_is_known_of_it(self):
        lone = self.root / "lone-of-several.h5"
        shutil.copy(self.root / "other/sim-00000/counts_z0.h5", lone)
        done = run("cosmo-infer", "--model", self.model, "--json", "--input", self.root / "other/sim-00001", lone)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        warned, universe = self.by_name(told["warnings"]), self.root / "other/sim-00001"
        self.names_all({name: warned[name] for name in IN_FILE}, IN_FILE, f"{universe} and others")
        self.names_all({name: text for name, text in warned.items() if name not in IN_FILE}, set(OTHERS) - IN_FILE, universe)
        self.assertEqual(set(told["facts_not_stated"]), set(OTHERS) - IN_FILE)

    def test_the_parameter_that_is_predicted_is_compared_where_a_file_states_it(self):
        succeed("cosmo-sim", "generate", *TRAINING[2:], "--omega-m", 0.45, "--seed", 5, "--output", self.root / "dense")
        told, _, _ = self.look(self.model, self.root / "dense/sim-00000/counts_z0.h5")
        self.assertEqual(set(told), {"omega_m"})
        self.assertIn(" and 0.25 to 0.35 in the model's", told["omega_m"])

    def test_a_universe_is_compared_in_its_own_parameters_not_in_the_range_of_its_suite(self):
        self.chain("steeper", *TRAINING, "--n-s", "0.9:1", "--seed", 7)
        self.assertEqual(self.manifest("steeper-data")["facts"]["n_s"], [0.9, 1])
        told, _, _ = self.look(self.model, self.root / "steeper/sim-00001")
        own = self.manifest("steeper")["simulations"][1]["parameters"]["n_s"]
        self.assertEqual(set(told), {"n_s"})
        self.assertTrue(told["n_s"].startswith(f"n_s is {own:.9g} in "), told)

    def test_all_models_of_an_ensemble_are_compared(self):
        self.chain("stepped", *TRAINING[:-1], 3, "--seed", 3, simulations=8)
        told, _, _ = self.look(f"{self.model},{self.train('stepped')}", self.root / "other/sim-00001/counts_z0.h5")
        self.assertEqual(set(told), set(OTHERS))
        self.assertIn(f" and 2 in the training universes of {self.model}: ", told.pop("steps"))
        for warning in told.values():
            self.assertIn(" in the models' training universes: ", warning)

    def test_what_is_not_known_is_not_compared(self):
        """Models and datasets of earlier versions state no facts."""
        for name in ("other-data", "training-model"):
            shutil.copytree(self.root / name, self.root / f"earlier-{name}", dirs_exist_ok=True)
            manifest = self.manifest(f"earlier-{name}")
            del manifest["facts"]
            (self.root / f"earlier-{name}/manifest.json").write_text(json.dumps(manifest))
        told, said = self.predict(self.model, self.root / "earlier-other-data", "of-earlier-data")
        self.assertEqual(told, {})
        self.assertIn(f"Not stated by the dataset: box_mpc_h, f_nl, ", said)
        told, said = self.predict(self.root / "earlier-training-model", self.root / "other-data", "by-earlier-model")
        self.assertEqual(told, {})
        self.assertIn("The model records no facts of its training universes", said)
        succeed("cosmo-prep", "verify", self.root / "other-data")

    def test_a_suite_of_an_earlier_version_is_up_to_date(self):
        shutil.copytree(self.root / "training", self.root / "earlier", dirs_exist_ok=True)
        manifest = self.manifest("earlier")
        del manifest["facts"]
        (self.root / "earlier/manifest.json").write_text(json.dumps(manifest))
        before = sha256(self.root / "earlier/manifest.json")
        told = succeed("cosmo-sim", "generate", "--simulations", 10, *TRAINING, "--output", self.root / "earlier")
        self.assertEqual((told["up_to_date"], told["id"]), (True, manifest["id"]))
        self.assertEqual(sha256(self.root / "earlier/manifest.json"), before)

    def test_snapshots_of_other_codes_have_what_they_state(self):
        positions = gadget.example_positions()
        for name in ("one", "two"):
            gadget.write_gadget4(self.root / name, positions if name == "one" else positions[::-1] * 0.5, 1,
                                 omega_m=0.31 if name == "one" else 0.27)
        (self.root / "table.csv").write_text("snapshot,n_s\none,0.96\ntwo,0.96\n")
        for source, output in (("one/snap_004.hdf5", "counted"), ("table.csv", "counted-suite")):
            words = [] if source == "table.csv" else ["--n-s", 0.96]
            succeed("cosmo-prep", "histogram", "--input", self.root / source, *words, "--grid", 16, "--output", self.root / output)
            facts = self.manifest(output)["facts"]
            self.assertEqual(set(facts), {"omega_m", "h", "n_s", "box_mpc_h", "particle_spacing_mpc_h"} | REFUSED)
            self.assertEqual((facts["h"], facts["n_s"], facts["box_mpc_h"]), (0.68, 0.96, 200))
        self.assertEqual(facts["omega_m"], [0.27, 0.31])
        self.assertNotIn("facts", self.manifest("counted")["config"])


if __name__ == "__main__":
    unittest.main()
