"""Damages the heap of texts, which HDF5's own reader does not survive, in files of each kind that an early version wrote.

The rest is as in fuzz.py: checksums agree with the damage, and the tool reads the file or refuses.

Usage: heaps.py [DAMAGES]   (damages per kind)
"""

import collections
import pathlib
import shutil
import sys

import fuzz
from fuzz import Target

OLD = pathlib.Path(__file__).resolve().parents[1] / "data/c06b980"
VALUES = (0, 1, 65536, 2**63 - 1, 2**64 - 1)
WORD = 8
TARGETS = [
    Target("counts", ("sim",), "sim/sim-00000/counts_z0.h5", ("cosmo-sim", "inspect", "sim/sim-00000/counts_z0.h5")),
    Target("counts of a suite", ("sim",), "sim/sim-00000/counts_z0.h5", ("cosmo-prep", "shard", "--input", "sim", "--output", "out"), signed_in="sim"),
    Target("snapshot", ("single",), "single/sim-00000/snapshot_z0.hdf5",
           ("cosmo-prep", "histogram", "--input", "single/sim-00000/snapshot_z0.hdf5", "--grid", 4, "--output", "out")),
    Target("shard", ("data",), "data/train/shard-00000.h5", ("cosmo-prep", "verify", "data"), signed_in="data"),
    Target("checkpoint", ("stopped", "data", "train.ini", "network.json"), "stopped/checkpoints/epoch-000001_step-000000004.h5",
           ("cosmo-train", "--config", "train.ini", "--output", "stopped"), signed_in="stopped"),
]


class OldFiles:
    """In place of a workshop."""

    def copy(self, target, directory):
        for source in (OLD / name for name in target.needs):
            (shutil.copytree if source.is_dir() else shutil.copy)(source, directory / source.name)


def words_of_heap(content):
    """Where each word of the first heap is."""
    heap = content.index(b"GCOL")
    return range(heap, heap + int.from_bytes(content[heap + 8:heap + 16], "little"), WORD)


def damaged(number):
    """A function that does damage number `number`, of all possible ones, to a file's bytes."""
    def damage(content):
        words = words_of_heap(content)
        at = words[number // len(VALUES) % len(words)]
        return content[:at] + VALUES[number % len(VALUES)].to_bytes(WORD, "little") + content[at + WORD:]
    return damage


def campaign(damages, report):
    """Does the first `damages` damages to files of each kind, from the heap's beginning; returns {kind: {exit code: runs}} and what went wrong."""
    table, wrong = {}, []
    for target in TARGETS:
        codes = table[target.name] = collections.Counter()
        for number in range(damages):
            code, why, remarks = fuzz.attack(OldFiles(), target, damaged(number))
            codes[code] += 1
            if why:
                wrong.append(f"{target.name}, damage {number}: {why}: {remarks[:300]}")
                report(wrong[-1])
        report(f"{target.name}: " + ", ".join(f"{n} × {code}" for code, n in sorted(codes.items(), key=str)))
    return table, wrong


if __name__ == "__main__":
    sys.exit(1 if campaign(int(sys.argv[1]) if len(sys.argv) > 1 else 10, print)[1] else 0)
