#!/usr/bin/env python3
"""Compares the loss curves of trainings in f32 and bf16: does rounding change less than another seed does?

Trains into OUTPUT/PRECISION-SEED with seeds 1 to SEEDS, at least 2, in both precisions. Prints each epoch's mean training
loss with its lowest and highest over the seeds. Then prints the root mean square difference of two curves over all epochs but
the first, as the median over pairs: two seeds in f32, and both precisions of a seed.
"""

import argparse
import csv
import itertools
import pathlib
import statistics
import subprocess
import sys


def losses(binaries, data, output, precision, seed, words):
    """The training losses of all epochs, and the validation losses."""
    model = pathlib.Path(output) / f"{precision}-{seed}"
    done = subprocess.run([f"{binaries}/cosmo-train", "--data", data, "--output", model, "--precision", precision, "--seed",
                           str(seed), "--quiet", *words])
    if done.returncode != 0:
        sys.exit(done.returncode)
    with open(model / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return [[float(row[column]) for row in rows] for column in ("train_loss", "validation_loss")]


def rms(a, b):
    """Rms difference without the first epoch, in which Adam's first steps raise the loss to tens, differently each time."""
    return (sum((x - y) ** 2 for x, y in zip(a[1:], b[1:])) / (len(a) - 1)) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN", help="directory of cosmo-train")
    parser.add_argument("data", metavar="DATA", help="directory that cosmo-prep shard wrote")
    parser.add_argument("output", metavar="OUTPUT", help="directory to write")
    parser.add_argument("seeds", metavar="SEEDS", type=int, help="trainings in each precision, at least 2")
    parser.add_argument("words", metavar="WORD", nargs=argparse.REMAINDER, help="options for cosmo-train")
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    runs = {precision: [losses(options.bin, options.data, options.output, precision, seed, options.words) for seed in seeds]
            for precision in ("f32", "bf16")}
    for column, name in enumerate(("training", "validation")):
        curves = {precision: [run[column] for run in found] for precision, found in runs.items()}
        print(f"{name} loss: mean (lowest to highest of {options.seeds} seeds)\nepoch  {'f32':24}bf16")
        for epoch in range(len(curves["f32"][0])):
            at = {precision: [curve[epoch] for curve in found] for precision, found in curves.items()}
            print(f"{epoch + 1:5}  " + "".join(f"{f'{statistics.mean(v):.3f} ({min(v):.3f} to {max(v):.3f})':24}" for v in at.values()))
        of_seeds = [rms(a, b) for a, b in itertools.combinations(curves["f32"], 2)]
        of_precisions = [rms(a, b) for a, b in zip(curves["f32"], curves["bf16"])]
        print(f"rms from epoch 2: two seeds in f32 {statistics.median(of_seeds):.3f}, "
              f"bf16 and f32 of a seed {statistics.median(of_precisions):.3f} (medians of the pairs)\n")


if __name__ == "__main__":
    main()
