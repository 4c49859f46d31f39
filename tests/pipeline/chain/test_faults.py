"""Slices of the campaigns of tests/faults; COSMO_FAULTS=all takes all of them (four hours, on one core)."""

import collections
import os
import pathlib
import sys
import tempfile
import unittest

from toolkit import ROOT

sys.path.insert(0, str(ROOT / "tests/faults"))

import fuzz  # noqa: E402
import heaps  # noqa: E402
import moments  # noqa: E402
import operations  # noqa: E402
import replacements  # noqa: E402
import soak  # noqa: E402

ALL = os.environ.get("COSMO_FAULTS") == "all"


class Fuzz(unittest.TestCase):
    LABELS = ("slow",)

    def test_damaged_files_are_read_or_refused(self):
        with tempfile.TemporaryDirectory(prefix="cosmo-workshop-") as holder:
            workshop = fuzz.Workshop(holder)
            for target in fuzz.targets():
                code, wrong, remarks = fuzz.attack(workshop, target, None)  # nothing is damaged
                self.assertEqual((code, wrong), (0, ""), f"{target.name}: {remarks}")
            table, wrong = fuzz.campaign(workshop, 380 if ALL else 3, print)
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(table), 19)
        codes = sum(table.values(), collections.Counter())
        self.assertGreater(codes[5], codes.total() // 4)  # damage is mostly seen
        self.assertGreater(codes[0], 0)


class Heaps(unittest.TestCase):
    def test_damaged_texts_of_old_files_are_refused(self):
        for target in heaps.TARGETS:
            code, wrong, remarks = fuzz.attack(heaps.OldFiles(), target, None)
            self.assertEqual((code, wrong), (0, ""), f"{target.name}: {remarks}")
        table, wrong = heaps.campaign(400 if ALL else 5, print)
        self.assertEqual(wrong, [])
        for name, codes in table.items():
            self.assertGreater(codes[5], 0, name)


class Operations(unittest.TestCase):
    LABELS = ("slow",)

    def test_no_operation_that_fails_costs_more_than_the_run(self):
        with tempfile.TemporaryDirectory(prefix="cosmo-chain-") as holder:
            chain = operations.Chain(holder)
            faults, wrong = operations.campaign(chain, 10**6 if ALL else 1, print)
            for at in range(1, 1 + chain.count("histogram", reads=False)):  # all that the writing of a file takes
                code, why = chain.attack("histogram", at, "EIO", reads=False)
                self.assertEqual((code, why), (4, ""), f"operation {at}")
            reads = chain.count("infer", reads=True)
            for at in range(reads - 9, reads + 1):  # what the report shows of earlier stages
                self.assertEqual(chain.attack("infer", at, "EIO", reads=True)[1], "", f"read {at}")
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(faults, 3000 if ALL else 60)


class Moments(unittest.TestCase):
    LABELS = ("slow",)

    def test_signals_lost_ranks_and_second_runs(self):
        signals, ranks, races = (50, 60, 200) if ALL else (6, 3, 3)
        with tempfile.TemporaryDirectory(prefix="cosmo-chain-") as holder:
            wrong = moments.campaign(operations.Chain(holder), signals, ranks, races, print)
        self.assertEqual(wrong, [])


class Replacements(unittest.TestCase):
    LABELS = ("slow",)

    def test_inputs_that_change_while_they_are_read_are_refused(self):
        with tempfile.TemporaryDirectory(prefix="cosmo-chain-") as holder:
            number, wrong = replacements.campaign(holder, 10**6 if ALL else 2, print)
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(number, 20000 if ALL else 150)


class Soak(unittest.TestCase):
    LABELS = ("slow",)

    def test_memory_stays_where_it_was(self):
        with tempfile.TemporaryDirectory(prefix="cosmo-soak-") as holder:
            root = pathlib.Path(holder)
            growth, delays, wrong = soak.soak(120 if ALL else 0.2, *soak.small_data(root), root / "model", print)
        self.assertEqual(wrong, "")
        self.assertGreater(delays, 0)
        self.assertLess(growth, soak.GROWTH)


if __name__ == "__main__":
    unittest.main()
