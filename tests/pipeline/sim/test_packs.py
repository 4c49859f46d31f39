"""Suites whose universes share files: --pack."""

import csv
import json
import os
import subprocess
import time
import unittest

import h5py
import numpy as np

from cosmo_data import frames
from toolkit import DirectoryTest, command, contents, error_line, flip, printed, record_again, run, run_with_faults, sha256, succeed

USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5
BASE = ["generate", "--omega-m", "0.25:0.35", "--sigma8", "0.8:0.9", "--box", 64, "--particles", 16, "--redshifts", "0,1", "--steps", "2:4"]
SUITE = [*BASE, "--simulations", 20]
PACKED = [*SUITE, "--pack", 8]
NETWORK = """{"name": "small", "input": "grid", "layers": [
  {"name": "conv1", "inputs": ["grid"], "kind": "convolution", "outputs": 2, "kernel": 3, "stride": 2, "padding": 0, "slope": 0.01},
  {"name": "labels", "inputs": ["conv1"], "kind": "dense", "outputs": 0, "slope": 1}]}"""


class Packs(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.loose, cls.packed = cls.root / "loose", cls.root / "packed"
        succeed("cosmo-sim", *SUITE, "--output", cls.loose)
        cls.made = succeed("cosmo-sim", *PACKED, "--output", cls.packed)
        cls.universes = json.loads((cls.loose / "manifest.json").read_text())["simulations"]

    def test_universes_are_those_that_have_files_of_their_own(self):
        self.assertEqual(self.made["simulations_made"], 20)
        files = sorted(path.relative_to(self.packed).as_posix() for path in self.packed.rglob("*") if path.is_file())
        self.assertEqual(files, [".lock", "manifest.json", *(f"packs/pack-0000{i}.h5" for i in range(3)), "run.json", "universes.csv"])
        for universe in self.universes:
            pack, row = divmod(universe["index"], 8)
            with h5py.File(self.packed / f"packs/pack-0000{pack}.h5") as file:
                self.assertEqual((file["simulation"][row], file["seed"][row]), (universe["index"], universe["seed"]))
                self.assertEqual(dict(zip(file.attrs["parameter_names"], file["parameters"][row])), universe["parameters"])
                for z in ("z0", "z1"):
                    with h5py.File(self.loose / f"sim-{universe['index']:05}/counts_{z}.h5") as own:
                        self.assertEqual(file[f"counts_{z}"][row].tobytes(), own["counts"][:].tobytes())
                        self.assertEqual(file["box"][row], own.attrs["box"])
                        self.assertEqual(file.attrs["particles"], own.attrs["particles"])
                spectrum = np.genfromtxt(self.loose / f"sim-{universe['index']:05}/power_spectrum.csv", delimiter=",", names=True)
                self.assertEqual(list(file["power_spectrum"].attrs["columns"]), list(spectrum.dtype.names))
                np.testing.assert_array_equal(file["power_spectrum"][row], np.array(spectrum.tolist()))
        with open(self.packed / "universes.csv") as table:
            for row, universe in zip(csv.DictReader(table), self.universes, strict=True):
                self.assertEqual((int(row["seed"]), float(row["omega_m"])), (universe["seed"], universe["parameters"]["omega_m"]))
                self.assertEqual(float(row["setting_steps"]), universe["settings"]["steps"])
        ours, theirs = frames.simulations(self.packed), frames.simulations(self.loose)
        self.assertEqual((list(ours.columns), list(ours.dtypes)), (list(theirs.columns), list(theirs.dtypes)))
        self.assertTrue(ours.equals(theirs))
        manifest = json.loads((self.packed / "manifest.json").read_text())
        self.assertEqual(manifest["packs"], {"universes": 20, "universes_each": 8, "table": "universes.csv", "redshifts": [0.0, 1.0],
                                             "counts": True, "power_spectrum": True})
        self.assertNotIn("simulations", manifest)

    def test_one_hash_on_any_layout_slices_and_after_kills(self):
        whole = contents(self.packed)
        for ranks, words in ((3, []), (2, ["--ranks-per-simulation", 2]), (4, ["--ranks-per-simulation", 2])):
            output = self.root / f"ranks{ranks}{len(words)}"
            succeed("cosmo-sim", *PACKED, *words, "--output", output, ranks=ranks)
            self.assertEqual(contents(output), whole)
        slices = self.root / "slices"
        processes = [subprocess.Popen(command(1, "cosmo-sim", *PACKED, "--select", part, "--output", slices), stdout=subprocess.DEVNULL)
                     for part in ("0:8", "8:16")]
        self.assertEqual([process.wait() for process in processes], [0, 0])
        self.assertEqual(succeed("cosmo-sim", *PACKED, "--select", "16:20", "--output", slices)["simulations_left"], 0)
        self.assertEqual(contents(slices), whole)
        killed = self.root / "killed"
        process = subprocess.Popen(command(1, "cosmo-sim", *PACKED, "--output", killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (killed / "packs/pack-00001.h5.part").exists() and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        process.wait()
        self.assertLess(len(list(killed.glob("packs/*.h5"))), 3)
        rest = succeed("cosmo-sim", *PACKED, "--output", killed)["simulations_made"]
        self.assertIn(rest, (4, 12, 20))
        self.assertEqual(contents(killed), whole)

    def test_slices_end_at_packs_and_at_the_last_universe(self):
        for universes, pack, select in ((20, 6, "12:20"), (20, 6, "0:20"), (20, 6, "18:20"), (9, 4, "0:9"), (9, 4, "8:9"), (21, 7, "0:21"), (5, 7, "0:5")):
            words = [*BASE, "--simulations", universes, "--pack", pack, "--select", select, "--dry-run", "--output", self.root / "slice"]
            self.assertEqual(succeed("cosmo-sim", *words)["select"], [int(i) for i in select.split(":")])
        for select, nearest in (("1:9", "0:9"), ("7:8", "8:9"), ("2:5", "4:8"), ("0:1", "0:4"), ("5:7", "4:8")):
            done = run("cosmo-sim", *BASE, "--simulations", 9, "--pack", 4, "--select", select, "--output", self.root / "slice")
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(f"whole packs is {nearest}.", error_line(done, "cosmo-sim"))

    def test_what_is_lost_is_made_again(self):
        output = self.root / "lost"
        succeed("cosmo-sim", *PACKED, "--output", output)
        whole = contents(output)
        (output / "packs/pack-00001.h5").unlink()
        self.assertEqual(succeed("cosmo-sim", *PACKED, "--output", output, "--dry-run")["simulations_to_make"], 8)
        self.assertEqual(succeed("cosmo-sim", *PACKED, "--output", output)["simulations_made"], 8)
        (output / "universes.csv").unlink()
        self.assertEqual(succeed("cosmo-sim", *PACKED, "--output", output)["simulations_made"], 0)
        self.assertEqual(contents(output), whole)
        seed = str(self.universes[3]["seed"])
        (output / "universes.csv").write_text((output / "universes.csv").read_text().replace(seed, seed[:-1] + str((int(seed[-1]) + 1) % 10)))
        record_again(output, output / "universes.csv")
        done = run("cosmo-prep", "shard", "--input", output, "--subvolumes", 1, "--output", self.root / "forged")
        self.assertIn("pack-00000.h5 has another seed than the suite's universes.csv: run cosmo-sim again", error_line(done, "cosmo-prep"))
        succeed("cosmo-sim", *PACKED, "--output", output)
        self.assertEqual(contents(output), whole)
        self.assertTrue(succeed("cosmo-sim", *PACKED, "--output", output)["up_to_date"])
        full = self.root / "full"
        done = run_with_faults({"DISK_BYTES": 0, "DISK_SUFFIX": "packs/pack-00001.h5.part"}, "cosmo-sim", *PACKED, "--output", full, ranks=2)
        self.assertEqual(done.returncode, IO)
        self.assertIn("pack-00001.h5", error_line(done, "cosmo-sim"))
        self.assertFalse(list(full.rglob("*.part")))

    def test_a_colleague_of_the_group_adds_a_slice(self):
        """With umask 0002, everything can be written by the group, as a second user needs."""
        output = self.root / "shared"
        before = os.umask(0o002)
        try:
            succeed("cosmo-sim", *PACKED, "--select", "0:8", "--output", output)
            for path in output.rglob("*"):
                self.assertTrue(path.stat().st_mode & 0o020, path)
            succeed("cosmo-sim", *PACKED, "--output", output)
        finally:
            os.umask(before)
        self.assertEqual(contents(output), contents(self.packed))

    def test_shards_and_predictions_are_the_same(self):
        for name in ("loose", "packed"):
            succeed("cosmo-prep", "shard", "--input", self.root / name, "--subvolumes", 1, "--redshifts", "0,1",
                    "--output", self.root / f"{name}-data", ranks=2)
            succeed("cosmo-prep", "verify", self.root / f"{name}-data")
        files = [{path: self.bytes_of_shard(self.root / f"{name}-data" / path) for path in
                  (file.relative_to(self.root / "loose-data") for file in (self.root / "loose-data").rglob("*.h5"))}
                 for name in ("loose", "packed")]
        self.assertEqual(*files)
        model = self.root / "model"
        (self.root / "network.json").write_text(NETWORK)
        succeed("cosmo-train", "--data", self.root / "packed-data", "--output", model, "--network", self.root / "network.json",
                "--epochs", 1, "--global-batch", 2)
        for name in ("loose", "packed", "packed/packs/pack-00001.h5"):
            done = succeed("cosmo-infer", "--model", model, "--input", self.root / name, "--output", self.root / "predictions" / name)
            self.assertEqual(len(done["universes"]), 8 if "pack-" in name else 20)
        tables = []
        numbers = [row["universe"] for row in csv.DictReader(open(self.root / "predictions/packed/packs/pack-00001.h5/universes.csv"))]
        self.assertEqual(numbers, [str(i) for i in range(8, 16)])
        (self.root / "folder").mkdir()
        for pack in ("pack-00001.h5", "pack-00000.h5"):
            os.link(self.packed / "packs" / pack, self.root / "folder" / pack)
        done = succeed("cosmo-infer", "--model", model, "--input", self.root / "folder")
        self.assertEqual(len(done["universes"]), 16)
        for name in ("loose", "packed", "packed/packs/pack-00001.h5"):
            with open(self.root / "predictions" / name / "universes.csv") as table:
                tables.append([[row["seed"], row["predicted_omega_m"], row["true_omega_m"]] for row in csv.DictReader(table)])
        self.assertEqual(tables[0], tables[1])
        self.assertEqual(tables[0][8:16], tables[2])

    def bytes_of_shard(self, path):
        with h5py.File(path) as file:
            return {name: file[name][:].tobytes() for name in file}

    def test_inspect_shows_a_universe_of_a_pack(self):
        pack = self.packed / "packs/pack-00001.h5"
        shown = succeed("cosmo-sim", "inspect", pack, "--universe", 10, "--redshift", 1)
        own = succeed("cosmo-sim", "inspect", self.loose / "sim-00010/counts_z1.h5")
        for key in ("counts", "seed", "parameters"):
            self.assertEqual(shown[key], own[key])
        self.assertIn("universes 8 to 15 at z = 0, 1", printed("cosmo-sim", "inspect", pack))
        for words, part in ((["--universe", 3], "has universes 8 to 15 and no 3"), (["--redshift", 2], "only at z = 0, 1")):
            done = run("cosmo-sim", "inspect", pack, *words)
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(part, error_line(done, "cosmo-sim"))
        done = run("cosmo-sim", "inspect", self.loose / "sim-00010/counts_z1.h5", "--universe", 1)
        self.assertEqual(done.returncode, USAGE)

    def test_packs_grow_by_whole_packs(self):
        more = [*BASE, "--simulations", 30, "--pack", 8]
        grown = self.root / "grown"
        self.assertEqual(succeed("cosmo-sim", *more, "--grow", self.packed, "--output", grown)["simulations_made"], 14)
        succeed("cosmo-sim", *more, "--output", self.root / "at-once")
        self.assertEqual(contents(grown), contents(self.root / "at-once"))
        for pack in ("packs/pack-00000.h5", "packs/pack-00001.h5"):
            self.assertTrue(os.path.samefile(self.packed / pack, grown / pack))
        for words in ([*BASE, "--simulations", 30], [*BASE, "--simulations", 30, "--pack", 4]):
            done = run("cosmo-sim", *words, "--grow", self.packed, "--output", self.root / "never")
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn("was made otherwise (pack ", error_line(done, "cosmo-sim"))

    def test_what_cannot_be_packed_is_refused(self):
        for words, code, part in ((["--select", "3:16"], CONFIG, "the nearest slice of whole packs is 0:16"),
                                  (["--select", "8:9"], CONFIG, "8:16"), (["--select", "17:20"], CONFIG, "16:20"),
                                  (["--save", "counts,particles"], CONFIG, "cannot hold the particles"),
                                  (["--save", "counts,bispectrum"], CONFIG, "cannot hold the bispectrum"),
                                  (["--pack", 0], CONFIG, "--pack"), (["--pack", "x"], USAGE, "--pack")):
            done = run("cosmo-sim", *(SUITE if "--pack" in words else PACKED), *words, "--output", self.root / "refused")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-sim"))
        self.assertFalse((self.root / "refused").exists())
        done = run("cosmo-sim", *SUITE, "--output", self.packed)
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("pack is 8 there and not set now", error_line(done, "cosmo-sim"))

    def test_damage_is_named(self):
        output = self.root / "damaged"
        succeed("cosmo-sim", *PACKED, "--output", output)
        table = (output / "universes.csv").read_text()
        flip(output / "packs/pack-00002.h5", -100)
        for tool, *words in (("cosmo-prep", "shard", "--input", output, "--subvolumes", 1), ("cosmo-sim", "inspect", output / "packs/pack-00002.h5")):
            done = run(tool, *words, *(["--output", self.root / "never"] if tool == "cosmo-prep" else []))
            self.assertEqual(done.returncode, FORMAT)
            self.assertIn("pack-00002.h5", error_line(done, tool))
        for text in (table.replace("setting_steps", "setting_stepz"), table.replace("2\n", "3\n", 1)):
            (output / "universes.csv").write_text(text)
            done = run("cosmo-prep", "shard", "--input", output, "--subvolumes", 1, "--output", self.root / "never")
            self.assertEqual(done.returncode, FORMAT)
            self.assertIn("universes.csv", error_line(done, "cosmo-prep"))

    def test_a_pack_with_other_numbers_is_named(self):
        output = self.root / "numbered"
        succeed("cosmo-sim", *PACKED, "--output", output)
        pack = output / "packs/pack-00001.h5"
        with h5py.File(pack, "r+") as file:
            file["simulation"][2] = 5
        record_again(output, pack)
        done = run("cosmo-prep", "shard", "--input", output, "--subvolumes", 1, "--output", self.root / "never")
        self.assertEqual(done.returncode, FORMAT)
        self.assertIn("pack-00001.h5 has another number of a universe than the suite's universes.csv", error_line(done, "cosmo-prep"))

    def test_power_spectra_alone(self):
        output = self.root / "power"
        succeed("cosmo-sim", *PACKED, "--save", "power-spectrum", "--output", output)
        with h5py.File(output / "packs/pack-00000.h5") as file, h5py.File(self.packed / "packs/pack-00000.h5") as both:
            self.assertEqual(file["power_spectrum"][:].tobytes(), both["power_spectrum"][:].tobytes())
            self.assertNotIn("counts_z0", file)
        done = run("cosmo-prep", "shard", "--input", output, "--output", self.root / "never")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("no counts at z = 0", error_line(done, "cosmo-prep"))
        self.assertEqual(run("cosmo-sim", "inspect", output / "packs/pack-00000.h5").returncode, CONFIG)


if __name__ == "__main__":
    unittest.main()
