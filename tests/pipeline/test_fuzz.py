"""A slice of the fuzzer's campaign (tests/faults/fuzz.py); COSMO_FAULTS=all takes it all."""

import collections
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))

import fuzz  # noqa: E402


class Fuzz(unittest.TestCase):
    LABELS = ("slow",)

    def test_damaged_files_are_read_or_refused(self):
        runs = 400 if os.environ.get("COSMO_FAULTS") == "all" else 4
        with tempfile.TemporaryDirectory(prefix="cosmo-workshop-") as holder:
            workshop = fuzz.Workshop(holder)
            for target in fuzz.targets():  # as it is, each command does its work
                whole = fuzz.attack(workshop, fuzz.dataclasses.replace(target, text=False), None)
                self.assertEqual(whole[:2], (0, ""), f"{target.name}: {whole[2]}")
            table, wrong = fuzz.campaign(workshop, runs, print)
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(table), 19)
        codes = sum(table.values(), collections.Counter())
        self.assertGreater(codes[5], codes.total() // 4)  # damage is mostly seen
        self.assertGreater(codes[0], 0)


if __name__ == "__main__":
    unittest.main()
