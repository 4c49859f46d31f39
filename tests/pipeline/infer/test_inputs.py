"""What a suite can be made from: tabulated spectra, designs, boxes in Mpc, partners, more parameters, older files."""

import hashlib
import json
import pathlib
import shutil
import tempfile
import unittest

import h5py

import eisenstein_hu
from toolkit import contents, run, sha256, succeed

TINY = ["--particles", 16, "--box", 128, "--steps", 1, "--grid", 8]


class Inputs(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="cosmo-inputs-")
        self.root = pathlib.Path(self.holder.name)

    def tearDown(self):
        self.holder.cleanup()

    def generate(self, name, *words, ranks=1):
        """Makes a suite and returns its manifest."""
        succeed("cosmo-sim", "generate", *words, "--output", self.root / name, ranks=ranks)
        return self.manifest(name)

    def manifest(self, name):
        return json.loads((self.root / name / "manifest.json").read_text())

    def counts(self, name, universe=0):
        return self.root / name / f"sim-{universe:05}/counts_z0.h5"

    def attributes(self, name, universe):
        with h5py.File(self.counts(name, universe)) as file:
            parameters = dict(zip(file.attrs["parameter_names"], file.attrs["parameter_values"]))
            return parameters, float(file.attrs["box"]), int(file.attrs["seed"])

    def test_a_tabulated_spectrum_gives_the_counts_of_the_internal_one(self):
        words = ["--particles", 32, "--box", 128, "--steps", 5, "--grid", 32]
        power, transfer = self.root / "pk.dat", self.root / "transfer_out.dat"
        eisenstein_hu.write_power(power)
        eisenstein_hu.write_transfer(transfer)
        self.generate("internal", *words)
        told = run("cosmo-sim", "generate", *words, "--transfer", power, "--output", self.root / "power")
        self.assertEqual(told.returncode, 0, told.stderr)
        for part in (f"{power}: P(k), 2000 rows", "0.0001 <= k <= 20 h/Mpc", "from its sigma_8 = 0.7037",
                     "to sigma_8 = 0.8159"):
            self.assertIn(part, told.stderr)
        self.generate("transfer", *words, "--transfer", transfer, ranks=2)
        for name in ("power", "transfer"):
            self.assertEqual(sha256(self.counts(name)), sha256(self.counts("internal")), name)
        self.assertEqual(self.manifest("power")["config"]["transfer"], {"table": "power", "sha256": sha256(power)})
        # The same table elsewhere is the same request.
        power.rename(self.root / "moved.dat")
        done = run("cosmo-sim", "generate", *words, "--transfer", self.root / "moved.dat", "--output",
                   self.root / "power")
        self.assertIn("up to date", done.stdout)

    def test_a_transfer_table_lets_n_s_vary_and_changes_with_it(self):
        table = self.root / "transfer_out.dat"
        eisenstein_hu.write_transfer(table, rows=500)
        words = [*TINY, "--simulations", 2, "--n-s", "0.9:1.0", "--sigma8", "0.7:0.9"]
        self.generate("table", *words, "--transfer", table)
        self.generate("internal", *words)
        for universe in (0, 1):
            with h5py.File(self.counts("table", universe)) as one, h5py.File(self.counts("internal", universe)) as two:
                self.assertLess(abs(one["counts"][...].astype(int) - two["counts"][...]).sum(), 20)  # it could be 8192

    def test_a_longer_sobol_suite_begins_with_the_shorter(self):
        words = [*TINY, "--design", "sobol", "--omega-m", "0.25:0.35", "--sigma8", "0.78:0.95"]
        short, long = (self.generate(f"sobol{n}", *words, "--simulations", n) for n in (3, 5))
        self.assertEqual(short["simulations"], long["simulations"][:3])
        self.assertEqual(sha256(self.counts("sobol3", 2)), sha256(self.counts("sobol5", 2)))
        self.assertNotEqual(short["id"], long["id"])

    def test_a_file_states_every_universe(self):
        design = self.root / "design.csv"
        design.write_text("h,omega_m,n_s,seed\n0.7,0.30,0.96,11\n0.7,0.25,0.92,12\n0.7,0.28,0.99,13\n")
        manifest = self.generate("three", *TINY, "--design", design, "--sigma8", 0.9, ranks=2)
        self.assertEqual(manifest["parameters"], {"names": ["omega_m", "n_s"], "low": [0.25, 0.92],
                                                  "high": [0.30, 0.99]})
        self.assertEqual([entry["seed"] for entry in manifest["simulations"]], [11, 12, 13])
        parameters, _, seed = self.attributes("three", 1)
        self.assertEqual(seed, 12)
        self.assertEqual(parameters, {"omega_m": 0.25, "sigma8": 0.9, "n_s": 0.92, "h": 0.7, "omega_b": 0.045,
                                      "w0": -1, "wa": 0})
        self.assertNotIn("seed", manifest["config"])
        again = run("cosmo-sim", "generate", *TINY, "--design", design, "--sigma8", 0.9, "--seed", 2, "--output",
                    self.root / "three")
        self.assertIn("up to date", again.stdout)
        two = self.generate("two", *TINY, "--design", design, "--sigma8", 0.9, "--simulations", 2)
        self.assertEqual(two["simulations"], manifest["simulations"][:2])
        # Neither the file's name nor its layout is part of the request.
        other = self.root / "other.csv"
        other.write_text("# once more\n" + design.read_text().replace(",", ", ").replace("0.30", ".3"))
        self.assertIn("up to date", run("cosmo-sim", "generate", *TINY, "--design", other, "--sigma8", 0.9, "--output",
                                        self.root / "three").stdout)

    def test_a_grid_without_counts_decides_nothing(self):
        manifest = self.generate("particles", *TINY, "--save", "particles")
        self.assertEqual(manifest["grid"], 0)
        self.assertNotIn("grid", manifest["config"])
        again = run("cosmo-sim", "generate", *TINY[:-1], 16, "--save", "particles", "--output", self.root / "particles")
        self.assertIn("up to date", again.stdout)
        both = [succeed("cosmo-sim", "generate", *TINY[:-1], grid, "--save", "counts,particles", "--dry-run", "--output",
                        self.root / "never")["id"] for grid in (8, 16)]
        self.assertNotEqual(*both)

    def test_every_parameter_varies_and_is_a_label(self):
        ranges = {"h": "0.6:0.8", "omega_b": "0.04:0.05", "w0": "-1.2:-0.8", "wa": "-0.3:0.3"}
        options = [word for name, value in ranges.items() for word in (f"--{name.replace('_', '-')}", value)]
        manifest = self.generate("suite", *TINY, "--simulations", 4, *options)
        self.assertEqual(manifest["parameters"]["names"], list(ranges))
        for universe, entry in enumerate(manifest["simulations"]):
            parameters, _, _ = self.attributes("suite", universe)
            self.assertEqual(parameters, entry["parameters"])
            for name, value in ranges.items():
                low, high = (float(limit) for limit in value.split(":"))
                self.assertTrue(low <= parameters[name] <= high and parameters[name] != (low + high) / 2)
        succeed("cosmo-prep", "shard", "--input", self.root / "suite", "--output", self.root / "data")
        with h5py.File(self.root / "data/train/shard-00000.h5") as file:
            self.assertEqual(list(file.attrs["parameter_names"]), list(ranges))
            for label, universe in zip(file["y"], file["simulation"]):
                expected = manifest["simulations"][universe]["parameters"]
                self.assertEqual(list(label), [expected[name] for name in ranges])

    def test_dark_energy_grows_structure_otherwise(self):
        digests = set()
        for name, words in {"lambda": [], "w": ["--w0", -0.7], "wa": ["--w0", -0.7, "--wa", -0.5]}.items():
            self.generate(name, *TINY, *words)
            with h5py.File(self.counts(name)) as file:
                digests.add(hashlib.sha256(file["counts"][...].tobytes()).hexdigest())
        self.assertEqual(len(digests), 3)

    def test_a_box_in_mpc_goes_through_all_stages(self):
        words = ["--particles", 32, "--steps", 1, "--grid", 32, "--simulations", 8, "--h", "0.6:0.8"]
        manifest = self.generate("sim", *words, "--box", "150Mpc")
        self.assertEqual((manifest["box_mpc"], manifest["config"]["box_mpc"]), (150, 150))
        self.assertNotIn("box_mpc_h", manifest)
        for universe, entry in enumerate(manifest["simulations"]):
            self.assertEqual(self.attributes("sim", universe)[1], 150 * entry["parameters"]["h"])
        data, model = self.root / "data", self.root / "model"
        succeed("cosmo-prep", "shard", "--input", self.root / "sim", "--subvolumes", 1, "--output", data)
        self.assertIn("voxels of 4.6875 Mpc,", run("cosmo-prep", "describe", data).stdout)
        succeed("cosmo-prep", "verify", data)
        self.assertEqual((self.manifest("data")["box_mpc"], self.manifest("data")["voxel_mpc"]), (150, 150 / 32))
        with h5py.File(data / "train/shard-00000.h5") as file:
            self.assertEqual((file.attrs["box_mpc"], file.attrs["voxel_mpc"]), (150, 150 / 32))
            self.assertNotIn("box", file.attrs)
        succeed("cosmo-train", "--data", data, "--network", "cosmoflow32", "--global-batch", 2, "--epochs", 1,
                "--output", model)
        self.assertEqual(self.manifest("model")["normalisation"]["voxel_mpc"], 150 / 32)
        succeed("cosmo-infer", "--model", model, "--data", data, "--output", self.root / "predictions")
        for universe in (0, 1):
            succeed("cosmo-infer", "--model", model, "--input", self.counts("sim", universe))
        # A box of the same number of Mpc/h is another kind of data.
        self.generate("other", *words, "--box", 150)
        succeed("cosmo-prep", "shard", "--input", self.root / "other", "--subvolumes", 1, "--output",
                self.root / "other_data")
        refused = run("cosmo-infer", "--model", model, "--data", self.root / "other_data", "--output",
                      self.root / "never")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("has voxels in Mpc/h and the model was trained on voxels in Mpc:", refused.stderr)

    def test_a_partner_is_another_request_and_another_universe(self):
        fine = ["--particles", 32, "--box", 256, *TINY[4:]]  # smooth enough to be nearly linear
        own, partner = (self.generate(name, *fine, *words) for name, words in (("own", []), ("partner", ["--paired"])))
        self.assertEqual((own["config"]["paired"], partner["config"]["paired"]), (False, True))
        self.assertNotEqual(own["id"], partner["id"])
        self.assertEqual(own["simulations"][0]["seed"], partner["simulations"][0]["seed"])
        with h5py.File(self.counts("own")) as one, h5py.File(self.counts("partner")) as other:
            first, second = (file["counts"][...].astype(float) / 64 - 1 for file in (one, other))
        # The pair's first order cancels: what is left of the mean is small against the fields.
        self.assertLess((first + second).std() / 2, 0.5 * first.std())
        self.assertLess((first * second).mean(), -0.5 * first.std() * second.std())

    def test_files_older_than_dark_energy_are_read(self):
        self.generate("new", *TINY, "--simulations", 4, "--omega-m", "0.25:0.35")
        shutil.copytree(self.root / "new", self.root / "old")
        manifest = self.manifest("old")
        for entry in manifest["simulations"]:
            path = self.root / "old" / entry["files"][0]
            with h5py.File(path, "r+") as file:
                names, values = (list(file.attrs[key])[:5] for key in ("parameter_names", "parameter_values"))
                file.attrs["parameter_names"], file.attrs["parameter_values"] = names, values
            for name in ("w0", "wa"):
                del entry["parameters"][name]
            record = next(record for record in manifest["files"] if record["path"] == entry["files"][0])
            record["sha256"], record["bytes"] = sha256(path), path.stat().st_size
        (self.root / "old/manifest.json").write_text(json.dumps(manifest))
        for name in ("new", "old"):
            succeed("cosmo-prep", "shard", "--input", self.root / name, "--output", self.root / f"{name}_data")
        new, old = ({path: digest for path, digest in contents(self.root / f"{name}_data").items()
                     if path != "manifest.json"} for name in ("new", "old"))
        self.assertEqual(new, old)


if __name__ == "__main__":
    unittest.main()
