#!/usr/bin/env python3
"""Trains variants of the zoo's cosmonet on one dataset and compares their validation losses: how the zoo's networks were chosen.

Each variant changes one thing. Its loss is that of the epoch that a training chooses, averaged over several seeds. A finished
training is not repeated: the same command continues where it was stopped.
"""

import argparse
import csv
import dataclasses
import json
import pathlib
import statistics
import subprocess

SLOPE = 0.01


@dataclasses.dataclass
class Variant:
    channels: tuple
    hidden: tuple = (64,)       # outputs of the dense layers before the last
    padding: object = "periodic"
    pool: str = "average_pool"
    squares: bool = False       # means of squares besides the means
    all_levels: bool = True     # otherwise the means of the last level only
    normalised: bool = True
    residual: bool = False      # the pooled tensor of a level is added to a convolution of it
    options: tuple = ()         # options of cosmo-train

    def network(self, name):
        """The network in the form that --network FILE.json takes."""
        layers, means, below = [], [], "voxels"

        def add(name, kind, inputs, **members):
            layers.append({"name": name, "kind": kind, "inputs": inputs, **members})
            return name

        def convolve(name, source, outputs):
            return add(name, "convolution", [source], outputs=outputs, kernel=3, stride=1, padding=self.padding, slope=SLOPE)

        for level, outputs in enumerate(self.channels, 1):
            below = convolve(f"conv{level}", below, outputs)
            below = add(f"pool{level}", self.pool, [below], size=2, stride=2)
            if self.residual and level > 1:
                below = add(f"sum{level}", "add", [below, convolve(f"more{level}", below, outputs)], slope=SLOPE)
            means.append(add(f"mean{level}", "global_mean", [below], squares=self.squares))
        below = add("levels", "concat", means) if self.all_levels else means[-1]
        if not self.all_levels:
            layers[:] = [layer for layer in layers if layer["name"] not in means[:-1]]
        if self.normalised:
            below = add("normal", "normalise", [below])
        for number, outputs in enumerate(self.hidden, 1):
            below = add(f"dense{number}", "dense", [below], outputs=outputs, slope=SLOPE)
        add("last", "dense", [below], outputs=0, slope=1.0)
        return {"name": name, "input": "voxels", "layers": layers}


def variants_of(channels):
    """Variants by name; the first is the zoo's, with these channels."""
    zoo = Variant(channels)
    change = lambda **changes: dataclasses.replace(zoo, **changes)
    return {
        "zoo": zoo,
        "a level less": change(channels=channels[:-1]),
        "16 channels everywhere": change(channels=(16,) * len(channels)),
        "wider from level 2": change(channels=channels[:1] + tuple(2 * c for c in channels[1:])),
        "twice as wide": change(channels=tuple(2 * c for c in channels)),
        "means of the last level only": change(all_levels=False),
        "means and means of squares": change(squares=True),
        "not normalised": change(normalised=False),
        "zeros as padding": change(padding=1),
        "maxima pooled": change(pool="max_pool"),
        "a second convolution, added": change(residual=True),
        "no hidden dense layer": change(hidden=()),
        "dense 128": change(hidden=(128,)),
        "dense 64, 64": change(hidden=(64, 64)),
        "weight decay 1e-2": change(options=("--optimizer", "adamw:1e-2")),
        "learning rate 1e-3": change(options=("--learning-rate", "1e-3")),
        "learning rate 1e-2": change(options=("--learning-rate", "1e-2")),
    }


DIVERGED = 6  # the exit code of a training that did: its loss is in the table all the same


def train(options, name, variant, seed):
    """The validation loss of the chosen epoch, the number of parameters, and the time [s]."""
    slug = name.replace(" ", "-").replace(",", "")
    output = options.output / f"{slug}-{seed}"
    network = options.output / f"{slug}.json"
    network.write_text(json.dumps(variant.network(slug), indent=1))
    done = subprocess.run([options.bin / "cosmo-train", "--data", options.data, "--network", network, "--epochs", str(options.epochs),
                           "--seed", str(seed), "--output", output, "--json", "--quiet", *variant.options],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, DIVERGED):
        done.check_returncode()
    manifest = json.loads((output / "manifest.json").read_text())
    best, = (state["epoch"] for state in manifest["checkpoints"] if state["best"])
    with open(output / "history.csv", newline="") as file:
        row = next(row for row in csv.DictReader(file) if int(row["epoch"]) == best)
    run = json.loads((output / "run.json").read_text())
    return float(row["validation_loss"]), json.loads(done.stdout)["parameters"], run["finished_unix_s"] - run["started_unix_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path, help="directory of the tools")
    parser.add_argument("data", type=pathlib.Path, help="directory that cosmo-prep shard wrote")
    parser.add_argument("output", type=pathlib.Path, help="directory for the trainings")
    parser.add_argument("--channels", default="16,16,32,32", help="channels of the zoo's network for this data [%(default)s]")
    parser.add_argument("--epochs", type=int, default=24, help="epochs of each training [%(default)s]")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of each variant [%(default)s]")
    parser.add_argument("--only", help="names of variants, separated by semicolons [all]")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    variants = variants_of(tuple(int(c) for c in options.channels.split(",")))
    names = options.only.split(";") if options.only else list(variants)
    for name in names:
        if name not in variants:
            parser.error(f"there is no variant '{name}': choose one of {'; '.join(variants)}")
    print("| variant | validation loss | by seed | parameters | seconds per training |\n|---|---|---|---|---|", flush=True)
    for name in names:
        losses, parameters, seconds = zip(*(train(options, name, variants[name], seed) for seed in range(1, options.seeds + 1)))
        print(f"| {name} | {statistics.fmean(losses):.4f} | {', '.join(f'{loss:.4f}' for loss in losses)} | {parameters[0]:,} | "
              f"{statistics.fmean(seconds):.0f} |", flush=True)


if __name__ == "__main__":
    main()
