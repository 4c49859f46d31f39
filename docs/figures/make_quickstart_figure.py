#!/usr/bin/python3
"""Draws the README's figure from the output of pipelines/quickstart.sh.

Debian: python3-matplotlib python3-h5py
"""

import argparse
import csv
import json
import pathlib

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

NAMES = {"omega_m": r"$\Omega_m$", "sigma8": r"$\sigma_8$", "n_s": r"$n_s$"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quickstart", type=pathlib.Path, help="directory that pipelines/quickstart.sh wrote")
    parser.add_argument("figure", type=pathlib.Path, help="image to write")
    options = parser.parse_args()
    run = options.quickstart
    rows = list(csv.DictReader((run / "predictions/predictions.csv").read_text().splitlines()))
    metrics = json.loads((run / "predictions/metrics.json").read_text())
    universes = sorted({int(row["simulation"]) for row in rows})
    panels = plt.subplots(1, 4, figsize=(13, 3.4), constrained_layout=True)[1]

    universe = universes[0]
    with h5py.File(run / f"sim/sim-{universe:05}/counts_z0.h5") as file:
        counts, box = file["counts"][...].astype(float), file.attrs["box"]
    planes = max(1, len(counts) // 8)
    panels[0].imshow(np.log1p(counts[:planes].sum(axis=0)).T, origin="lower", extent=(0, box, 0, box), cmap="magma")
    panels[0].set(title=f"universe {universe}: {box * planes / len(counts):.0f} Mpc/h thick", xlabel="y [Mpc/h]", ylabel="z [Mpc/h]")

    for panel, (name, symbol) in zip(panels[1:], NAMES.items()):
        def mean(column):
            return np.array([np.mean([float(row[f"{column}_{name}"]) for row in rows
                                      if int(row["simulation"]) == u]) for u in universes])
        truth, prediction = mean("true"), mean("predicted")
        ours = metrics["network"][name]["scaled_error"]
        panel.plot([truth.min(), truth.max()], [truth.min(), truth.max()], color="0.7", lw=1)
        panel.plot(truth, prediction, "o", ms=4)
        panel.set(title=f"{symbol}: error {ours:.2f} of the spread", xlabel="truth", ylabel="prediction")
    plt.savefig(options.figure, dpi=100)


if __name__ == "__main__":
    main()
