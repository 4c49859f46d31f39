#!/usr/bin/env python3
"""Compares the loss curves of trainings in f32 and bf16: is rounding less than what another seed changes?

Usage: precision_losses.py BIN DATA OUTPUT [words for cosmo-train...]
Trains into OUTPUT/PRECISION-SEED with seeds 1 and 2 in f32, 1 in bf16, prints the training loss of each epoch and the
root mean square, over the epochs, of bf16 - f32 (seed 1) and of the two seeds' difference.
"""

import csv
import pathlib
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
    return (sum((x - y) ** 2 for x, y in zip(a, b)) / len(a)) ** 0.5


def main():
    binaries, data, output, *words = sys.argv[1:]
    first, second, rounded = (losses(binaries, data, output, *run, words) for run in (("f32", 1), ("f32", 2), ("bf16", 1)))
    print("epoch  f32, seed 1  f32, seed 2  bf16, seed 1  (training loss)")
    for epoch, row in enumerate(zip(first[0], second[0], rounded[0]), 1):
        print(f"{epoch:5}" + "".join(f"{loss:13.4f}" for loss in row))
    for name, column in (("training", 0), ("validation", 1)):
        print(f"{name}: bf16 - f32 {rms(rounded[column], first[column]):.4f}, two seeds "
              f"{rms(second[column], first[column]):.4f} (rms over epochs)")


if __name__ == "__main__":
    main()
