"""Larger suites that begin with the universes of a finished one: --grow."""

import json
import os
import unittest

from toolkit import DirectoryTest, contents, error_line, run, sha256, succeed

USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5
BASE = ["generate", "--box", 64, "--particles", 16, "--steps", 2]
RANGES = ["--omega-m", "0.25:0.35", "--sigma8", "0.8:0.9"]


class Growth(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.small = cls.root / "small"
        succeed("cosmo-sim", *BASE, *RANGES, "--simulations", 6, "--output", cls.small)

    def universes(self, suite):
        return json.loads((suite / "manifest.json").read_text())["simulations"]

    def grow(self, name, *words, ranks=1, of=None):
        return succeed("cosmo-sim", *BASE, *words, "--grow", of or self.small, "--output", self.root / name, ranks=ranks)

    def test_a_grown_suite_is_the_one_that_would_have_been_made_at_once(self):
        before, times = contents(self.small), {path: path.stat().st_mtime_ns for path in self.small.rglob("*.h5")}
        plan = self.grow("grown", *RANGES, "--simulations", 10, "--dry-run")
        self.assertEqual((plan["simulations_to_make"], plan["simulations_to_link"]), (4, 6))
        whole_plan = succeed("cosmo-sim", *BASE, *RANGES, "--simulations", 10, "--dry-run", "--output", self.root / "grown")
        self.assertLess(plan["disk_bytes"], 0.5 * whole_plan["disk_bytes"])
        made = self.grow("grown", *RANGES, "--simulations", 10, ranks=2)
        self.assertEqual(made["simulations_made"], 4)
        succeed("cosmo-sim", *BASE, *RANGES, "--simulations", 10, "--output", self.root / "whole")
        self.assertEqual(contents(self.root / "grown"), contents(self.root / "whole"))
        self.assertEqual(contents(self.small), before)
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.small.rglob("*.h5")}, times)
        for universe in self.universes(self.small):
            for path in universe["files"]:
                self.assertTrue(os.path.samefile(self.small / path, self.root / "grown" / path))
        self.assertTrue(self.grow("grown", *RANGES, "--simulations", 10)["up_to_date"])
        self.assertEqual(self.grow("sliced", *RANGES, "--simulations", 10, "--select", "4:8")["simulations_made"], 2)
        self.grow("sliced", *RANGES, "--simulations", 10)
        self.assertEqual(contents(self.root / "sliced"), contents(self.root / "whole"))

    def test_ranges_may_widen_and_the_summary_states_it(self):
        wide = ["--omega-m", "0.2:0.4", "--sigma8", "0.8:0.9", "--n-s", "0.9:1"]
        done = run("cosmo-sim", *BASE, *wide, "--simulations", 12, "--grow", self.small, "--dry-run", "--output", self.root / "wide")
        self.assertIn("ranges that are wider now: n_s from 0.9667 to [0.9,1.0], omega_m from [0.25,0.35] to [0.2,0.4]\n", done.stdout)
        self.assertIn(f"the first 6 are those of {self.small}\n", done.stdout)
        self.grow("wide", *wide, "--simulations", 12)
        first, all_ = self.universes(self.small), self.universes(self.root / "wide")
        self.assertEqual([universe["parameters"] for universe in all_[:6]], [universe["parameters"] for universe in first])
        self.assertTrue(any(not 0.25 <= universe["parameters"]["omega_m"] <= 0.35 for universe in all_[6:]))
        for universe in first:
            self.assertEqual(sha256(self.small / universe["files"][0]), sha256(self.root / "wide" / universe["files"][0]))
        # It grows on, and its shards keep the first split.
        self.grow("wider", *wide, "--simulations", 14, of=self.root / "wide")
        self.assertEqual(self.universes(self.root / "wider")[:12], all_)
        succeed("cosmo-prep", "shard", "--input", self.small, "--subvolumes", 1, "--output", self.root / "data")
        succeed("cosmo-prep", "shard", "--input", self.root / "wider", "--subvolumes", 1, "--keep-split", self.root / "data", "--output",
                self.root / "wider-data")
        tested = [json.loads((self.root / name / "manifest.json").read_text())["splits"]["test"]["seeds"] for name in ("data", "wider-data")]
        self.assertEqual(*tested)

    def test_sobol_designs_tables_twins_and_settings_grow(self):
        for name, words in (("sobol", ["--design", "sobol", *RANGES]), ("twins", [*RANGES, "--steps", "2:4", "--twins", 2])):
            base = [word for word in BASE if word not in ("--steps", 2)] if "--steps" in words else BASE
            for output, more in ((name, [3]), (f"{name}-whole", [5]), (f"{name}-grown", [5, "--grow", self.root / name])):
                succeed("cosmo-sim", *base, *words, "--output", self.root / output, "--simulations", *more)
            self.assertEqual(contents(self.root / f"{name}-grown"), contents(self.root / f"{name}-whole"))
        rows = ["omega_m,seed", "0.3,5", "0.31,6", "0.32,7"]
        for name, count in (("short.csv", 3), ("long.csv", 4), ("other.csv", 4)):
            (self.root / name).write_text("\n".join(rows[:1] + (rows[1:count] if name != "other.csv" else rows[2:4] + ["0.33,8"])) + "\n")
        succeed("cosmo-sim", *BASE, "--design", self.root / "short.csv", "--output", self.root / "table")
        self.grow("table-grown", "--design", self.root / "long.csv", of=self.root / "table")
        self.assertEqual(len(self.universes(self.root / "table-grown")), 3)
        self.refused(CONFIG, "Universe 0 of", "--design", self.root / "other.csv", of=self.root / "table")

    def refused(self, code, part, *words, of=None, output="never"):
        done = run("cosmo-sim", *BASE, *words, "--grow", of or self.small, "--output", self.root / output)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(part, error_line(done, "cosmo-sim"))

    def test_what_cannot_grow_is_named(self):
        more = [*RANGES, "--simulations", 10]
        self.refused(CONFIG, "ask for more --simulations", *RANGES, "--simulations", 6)
        self.refused(CONFIG, "omega_m [0.25,0.35], not [0.3,0.4]", "--omega-m", "0.3:0.4", "--sigma8", "0.8:0.9", "--simulations", 10)
        self.refused(CONFIG, "was made otherwise (seed 1, not 2)", *more, "--seed", 2)
        self.refused(CONFIG, 'design "uniform", not "sobol"', *more, "--design", "sobol")
        self.refused(CONFIG, "grid 8, not 4", *more, "--grid", 4)
        for output in ("small", "small/larger"):
            self.refused(CONFIG, "give the larger suite a directory of its own", *more, output=output)
        self.refused(IO, "missing does not exist: check the path", *more, of=self.root / "missing")
        self.assertFalse((self.root / "never").exists())
        succeed("cosmo-sim", *BASE, *RANGES, "--simulations", 6, "--select", "0:3", "--output", self.root / "part")
        self.refused(IO, "is not a finished output", *more, of=self.root / "part")
        succeed("cosmo-sim", *BASE, *RANGES, "--simulations", 6, "--seed", 8, "--output", self.root / "damaged")
        manifest = json.loads((self.root / "damaged/manifest.json").read_text())
        old = self.root / "old"
        old.mkdir()
        manifest["config"]["method"] -= 1
        (old / "manifest.json").write_text(json.dumps(manifest))
        self.refused(FORMAT, "does not match its id", *more, of=old)
        file = self.root / "damaged/sim-00002/counts_z0.h5"
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        self.refused(FORMAT, "sim-00002/counts_z0.h5", *more, "--seed", 8, of=self.root / "damaged")


if __name__ == "__main__":
    unittest.main()
