"""cosmo-prep from outside: outputs, exit codes, sentences, resuming, on 1 to 3 ranks."""

import json
import os
import shutil
import unittest

from toolkit import PrepTest, flip, make_suite, run_with_faults, times

USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5


class CommandTest(PrepTest):
    SHARD = ["--samples-per-shard", 8, "--validation", 2, "--test", 2]

    @classmethod
    def words(cls, name):
        """The command that makes the same dataset under another name."""
        return ["shard", "--input", "sim", "--output", name, *cls.SHARD]

    def copy(self, name, other):
        return shutil.copytree(self.root / name, self.root / other)


class Sharding(CommandTest):
    def test_the_plan_is_what_is_done(self):
        plan = self.summary(*self.words("planned"), "--dry-run")
        self.assertFalse((self.root / "planned").exists())
        self.assertEqual((plan["samples"], plan["disk_bytes"]), (80, 80 * 6**3 * 2))
        self.assertEqual(plan["splits"]["train"], {"simulations": 6, "samples": 48})
        summary = self.summary(*self.words("planned"))
        self.assertEqual((summary["splits"]["test"]["samples"], summary["up_to_date"], summary["id"]),
                         (16, False, plan["id"]))
        self.assertEqual([path for path in self.contents("planned") if "test" in path],
                         ["test/shard-00000.h5", "test/shard-00001.h5"])

    def test_three_ranks_write_the_same_bytes(self):
        self.prep(*self.words("data3"), ranks=3)
        self.assertEqual(self.contents("data3"), self.contents("data"))

    def test_a_rerun_writes_nothing(self):
        before = times(self.root / "data")
        self.assertIn("up to date", self.prep(*self.words("data")))
        self.assertTrue(self.summary(*self.words("data"), ranks=2)["up_to_date"])
        self.assertEqual(times(self.root / "data"), before)

    def test_lost_shards_alone_are_written_again(self):
        data = self.copy("data", "lossy")
        before, lost = times(data), [data / "train/shard-00002.h5", data / "validation/shard-00001.h5"]
        for path in lost:
            path.unlink()
        self.prep(*self.words("lossy"), ranks=2)
        self.assertEqual(self.contents("lossy"), self.contents("data"))
        after = times(data)
        kept = set(data.glob("*/*.h5")) - set(lost)
        self.assertEqual(len(kept), 8)
        for path in kept:
            self.assertEqual(after[str(path)], before[str(path)], path)

    def test_a_run_that_was_stopped_goes_on_from_its_torn_journal(self):
        """The journal has three shards and half a line."""
        torn = self.copy("data", "torn")
        manifest = self.manifest("torn")
        head = {key: manifest[key] for key in ("stage", "config", "inputs", "id")}
        kept = [record for record in manifest["files"] if "train" in record["path"]][:3]
        (torn / "manifest.json").unlink()
        lines = [json.dumps(line) for line in [head, *kept]]
        (torn / "journal.jsonl").write_text("\n".join([*lines, '{"path": "torn']))
        self.prep(*self.words("torn"))
        self.assertEqual(self.contents("torn"), self.contents("data"))

    def test_a_full_disk_is_an_error_and_a_rerun_goes_on(self):
        for room, ranks in (0, 1), (3000, 1), (30000, 1), (21000, 2):
            done = run_with_faults({"DISK_BYTES": room}, "cosmo-prep", *self.words("full"), ranks=ranks, cwd=self.root)
            self.assertEqual(done.returncode, IO, done.stderr)
            self.assertIn("cannot be written", done.stderr)
            self.assertNotIn("Signal", done.stderr)
        self.prep(*self.words("full"))
        self.assertEqual(self.contents("full"), self.contents("data"))


class Checks(CommandTest):
    def test_a_whole_dataset_is_verified(self):
        for ranks in (1, 2):
            report = self.summary("verify", "data", ranks=ranks)
            self.assertEqual((report["samples"], report["shards"], report["verified"]), (80, 10, True))

    def test_a_description(self):
        table = self.prep("describe", "data")
        for part in ("validation            2       16       2", "omega_m", "mean 8"):
            self.assertIn(part, table)
        self.assertEqual(self.summary("describe", "data")["shape"], [6, 6, 6])

    def test_damaged_shards_are_all_named_and_made_again_by_force(self):
        damaged = ["train/shard-00003.h5", "test/shard-00000.h5"]
        bad = self.copy("data", "damaged")
        for path in damaged:
            flip(bad / path, 9000)
        lines = self.complaints(FORMAT, "verify", "damaged")
        for part in [f"damaged/{path}" for path in damaged] + ["sha256"]:
            self.assertIn(part, "\n".join(lines))
        self.assertEqual(self.complaints(FORMAT, "verify", "damaged", ranks=2), lines)
        self.prep(*self.words("damaged"), "--force")
        self.prep("verify", "damaged")

    def test_a_truncated_shard_or_another_in_its_place_is_named(self):
        bad = self.copy("data", "bad")
        os.truncate(bad / "validation/shard-00000.h5", 100)
        self.refused(FORMAT, ["bad/validation/shard-00000.h5 has 100 bytes"], "verify", "bad")
        shutil.copy(bad / "validation/shard-00001.h5", bad / "validation/shard-00000.h5")
        self.refused_alike(FORMAT, ["bad/validation/shard-00000.h5"], "verify", "bad")

    def test_an_altered_manifest_is_written_again(self):
        """Every alteration is one that later stages could not read."""
        self.copy("data", "altered")
        whole = self.contents("altered")
        path = self.root / "altered/manifest.json"
        for change in (lambda m: m["splits"].update(test=[]), lambda m: m["parameters"].pop("high"),
                       lambda m: m["statistics"].clear(), lambda m: m.update(shape="cube")):
            manifest = json.loads(path.read_text())
            change(manifest)
            path.write_text(json.dumps(manifest))
            self.refused(FORMAT, ["altered/manifest.json"], "describe", "altered")
            self.prep(*self.words("altered"))
            self.assertEqual(self.contents("altered"), whole)

    def test_a_manifest_with_another_origin_is_written_again(self):
        self.copy("data", "moved")
        whole = self.contents("moved")
        path = self.root / "moved/manifest.json"
        for key, value in (("cut", False), ("samples_per_shard", 7), ("compress", "gzip")):
            manifest = json.loads(path.read_text())
            self.assertNotEqual(manifest["origin"][key], value)
            manifest["origin"][key] = value
            path.write_text(json.dumps(manifest))
            self.prep(*self.words("moved"))
            self.assertEqual(self.contents("moved"), whole)

    def test_a_manifest_that_is_damaged_or_missing(self):
        flip(self.copy("data", "garbled") / "manifest.json", 400)
        self.refused(FORMAT, [], "describe", "garbled")
        self.refused(IO, ["nowhere/manifest.json"], "verify", "nowhere")


class Refusals(CommandTest):
    def tearDown(self):
        self.assertFalse((self.root / "never").exists())

    def test_options_that_cannot_be(self):
        words = ["shard", "--input", "sim", "--output", "never"]
        self.refused_alike(CONFIG, ["--grid 24", "12"], *words, "--grid", 24)
        self.refused(CONFIG, [], *words, "--subvolumes", 5)
        self.refused(CONFIG, [], *words, "--validation", 9, "--test", 1)
        self.refused(USAGE, [], *words, "--compress", "lz4")
        self.refused(USAGE, [], *words, "--validation", "x")
        self.refused(USAGE, [], "shard", "--input", "sim")

    def test_inputs_that_are_not_a_suite_to_learn_from(self):
        self.refused(FORMAT, [], "shard", "--input", "data", "--output", "never")
        make_suite(self.root / "fixed", 4, 4, 0)
        self.refused(CONFIG, ["No parameter varies"], "shard", "--input", "fixed", "--output", "never")
        make_suite(self.root / "twins", 4, 4, 1, "shared")
        self.refused(CONFIG, ["share the seed 5"], "shard", "--input", "twins", "--output", "never")

    def test_another_seed_than_that_of_the_dataset(self):
        self.refused(CONFIG, ["seed is 1 there and 2 now"], *self.words("data"), "--seed", 2)

    def test_altered_counts_are_named(self):
        bad = self.copy("sim", "bad-sim")
        for simulation in ("sim-00004", "sim-00006"):
            flip(bad / simulation / "counts_z0.h5", 5000)
        self.refused_alike(FORMAT, ["bad-sim/sim-00004/counts_z0.h5", "sha256"], "shard", "--input", "bad-sim",
                           "--output", "refused", *self.SHARD, "--force")

    def test_swapped_counts_are_named(self):
        swapped = self.copy("sim", "swapped")
        one, other = swapped / "sim-00002/counts_z0.h5", swapped / "sim-00003/counts_z0.h5"
        one.rename(self.root / "spare")
        other.rename(one)
        (self.root / "spare").rename(other)
        self.refused(FORMAT, ["sim-00002"], "shard", "--input", "swapped", "--output", "refused", *self.SHARD,
                     "--force")


if __name__ == "__main__":
    unittest.main()
