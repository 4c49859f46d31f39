#!/usr/bin/env python3
"""Compares trainings that differ in one option of cosmo-train: does it change losses more than another seed does?

Trains into OUTPUT/VALUE-SEED with seeds 1 to SEEDS, at least 2, and two values of the option; finished trainings are not repeated.
Prints each epoch's mean training and validation loss with its lowest and highest over the seeds. Then prints the root mean square
difference of two curves over all epochs but the first, as the median over pairs: two seeds with the first value, and both values
of a seed; and the mean difference of the last losses, with its standard error over the seeds.
"""

import argparse
import csv
import itertools
import pathlib
import statistics
import subprocess
import sys


def losses(binaries, data, output, words):
    """The training losses of all epochs, and the validation losses."""
    done = subprocess.run([f"{binaries}/cosmo-train", "--data", data, "--output", output, "--quiet", *words],
                          stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(done.returncode)
    with open(output / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return [[float(row[column]) for row in rows] for column in ("train_loss", "validation_loss")]


def rms(a, b):
    """Rms difference without the first epoch, in which Adam's first steps raise the loss to tens, differently each time."""
    return (sum((x - y) ** 2 for x, y in zip(a[1:], b[1:])) / (len(a) - 1)) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN", help="directory of cosmo-train")
    parser.add_argument("data", metavar="DATA", help="directory that cosmo-prep shard wrote")
    parser.add_argument("output", metavar="OUTPUT", type=pathlib.Path, help="directory to write")
    parser.add_argument("seeds", metavar="SEEDS", type=int, help="trainings with each value, at least 2")
    parser.add_argument("option", metavar="OPTION", help="name of the option, such as precision")
    parser.add_argument("values", metavar="VALUE", nargs=2, help="its values, such as f32 and bf16")
    parser.add_argument("words", metavar="WORD", nargs=argparse.REMAINDER, help="other options for cosmo-train")
    options = parser.parse_args()
    runs = {value: [] for value in options.values}
    for seed in range(1, options.seeds + 1):
        for value, found in runs.items():
            words = [f"--{options.option}", value, "--seed", str(seed), *options.words]
            found.append(losses(options.bin, options.data, options.output / f"{value}-{seed}", words))
    first, second = options.values
    for column, name in enumerate(("training", "validation")):
        curves = {value: [run[column] for run in found] for value, found in runs.items()}
        print(f"{name} loss: mean (lowest to highest of {options.seeds} seeds)\nepoch  {first:24}{second}")
        for epoch in range(len(curves[first][0])):
            at = {value: [curve[epoch] for curve in found] for value, found in curves.items()}
            print(f"{epoch + 1:5}  " + "".join(f"{f'{statistics.mean(v):.4f} ({min(v):.4f} to {max(v):.4f})':26}" for v in at.values()))
        of_seeds = [rms(a, b) for a, b in itertools.combinations(curves[first], 2)]
        of_values = [rms(a, b) for a, b in zip(curves[first], curves[second])]
        print(f"rms from epoch 2: two seeds with {first} {statistics.median(of_seeds):.4f}, "
              f"{second} and {first} of a seed {statistics.median(of_values):.4f} (medians of the pairs)")
        differences = [b[-1] - a[-1] for a, b in zip(curves[first], curves[second])]
        error = statistics.stdev(differences) / len(differences) ** 0.5
        print(f"last epoch: {second} - {first} of a seed {statistics.mean(differences):+.4f} +- {error:.4f}\n")


if __name__ == "__main__":
    main()
