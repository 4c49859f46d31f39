#!/usr/bin/env python3
"""Compares the loss curves of trainings in f32 and bf16: is rounding less than what another seed changes?

Usage: precision_losses.py BIN DATA OUTPUT SEEDS [words for cosmo-train...]
Trains into OUTPUT/PRECISION-SEED with seeds 1 to SEEDS, at least 2, in both precisions. Prints each epoch's mean training
loss with its lowest and highest over the seeds, and for the root mean square, over the epochs but the first, of the
difference of two curves its median over the pairs: two seeds in f32, both precisions of a seed.
"""

import csv
import itertools
import pathlib
import statistics
import subprocess
import sys


def losses(binaries, data, output, precision, seed, words):
    """(training, validation) losses of each epoch."""
    model = pathlib.Path(output) / f"{precision}-{seed}"
    subprocess.run([f"{binaries}/cosmo-train", "--data", data, "--output", model, "--precision", precision, "--seed", str(seed),
                    "--quiet", *words], check=True)
    with open(model / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return [[float(row[column]) for row in rows] for column in ("train_loss", "validation_loss")]


def rms(a, b):
    """Without the first epoch, in which Adam's first steps throw the loss to tens, another way each time."""
    return (sum((x - y) ** 2 for x, y in zip(a[1:], b[1:])) / (len(a) - 1)) ** 0.5


def main():
    binaries, data, output, seeds, *words = sys.argv[1:]
    runs = {precision: [losses(binaries, data, output, precision, seed + 1, words) for seed in range(int(seeds))]
            for precision in ("f32", "bf16")}
    for column, name in enumerate(("training", "validation")):
        curves = {precision: [run[column] for run in found] for precision, found in runs.items()}
        print(f"{name} loss: mean (lowest to highest of {seeds} seeds)\nepoch  {'f32':24}bf16")
        for epoch in range(len(curves["f32"][0])):
            at = {precision: [curve[epoch] for curve in found] for precision, found in curves.items()}
            print(f"{epoch + 1:5}  " + "".join(f"{f'{statistics.mean(v):.3f} ({min(v):.3f} to {max(v):.3f})':24}" for v in at.values()))
        of_seeds = [rms(a, b) for a, b in itertools.combinations(curves["f32"], 2)]
        of_precisions = [rms(a, b) for a, b in zip(curves["f32"], curves["bf16"])]
        print(f"rms from epoch 2: two seeds in f32 {statistics.median(of_seeds):.3f}, "
              f"bf16 and f32 of a seed {statistics.median(of_precisions):.3f} (medians of the pairs)\n")


if __name__ == "__main__":
    main()
