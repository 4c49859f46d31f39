#!/usr/bin/env python3
"""What circle.sh plans and measures.

  circle.py plan CIRCLE N     prints, for the first N test universes, lines "stated|predicted SIMULATION OPTIONS"
  circle.py measure CIRCLE    writes circle.md and circle.svg

r(k) is the correlation of the modes of a sampled universe and the true one in bins of 0.02 in k, of counts at z = 0 and of initial
densities; P over true is that of their power. ± is the standard error over universes.
"""

import csv
import json
import pathlib
import sys

import h5py
import numpy as np

WIDTH = 0.02
KINDS = ("stated", "predicted")
COLOURS = {"stated": "#0072b2", "predicted": "#d55e00"}


def json_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def plan(circle, number):
    """The universes' parameters that vary as they are, and as the network predicts them."""
    stated = {record["index"]: record["parameters"] for record in json_of(circle / "../sim/manifest.json")["simulations"]}
    with open(circle / "predicted/universes.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in sorted(rows, key=lambda row: int(row["simulation"]))[:number]:
        simulation = int(row["simulation"])
        names = [name.removeprefix("predicted_") for name in row if name.startswith("predicted_")]
        values = {"stated": {name: stated[simulation][name] for name in names}, "predicted": {name: row[f"predicted_{name}"] for name in names}}
        for kind in KINDS:
            print(kind, f"{simulation:05}", *(f"--{name.replace('_', '-')} {values[kind][name]}" for name in names))


def modes(path, name):
    """The coefficients of a field in a file, and the side of its box."""
    with h5py.File(path) as file:
        field, box = file[name][:].astype("f8"), float(file.attrs["box"])
    return np.fft.rfftn(field / (field.mean() if name == "counts" else 1)) / field.size, box


def bins_of(side, box):
    """The bin of each mode, its weight (0 beyond the Nyquist wavenumber), and the middles of the bins."""
    axis = np.fft.fftfreq(side) * side
    kx, ky, kz = np.meshgrid(axis, axis, np.arange(side // 2 + 1), indexing="ij")
    k = 2 * np.pi / box * np.sqrt(kx**2 + ky**2 + kz**2)
    weight = np.where(kz == 0, 1, 2) * ((k > 0) & (k < np.pi * side / box))
    bins = (k / WIDTH).astype(int)
    return bins, weight, (np.arange(int(np.pi * side / box / WIDTH) + 1) + 0.5) * WIDTH


def spectra(true, other, name):
    """k, r and P over the true one's, of two universes."""
    (t, box), (s, _) = modes(true, name), modes(other, name)
    bins, weight, middles = bins_of(len(t), box)
    tt, ss, ts = (np.bincount(bins.ravel(), (weight * values).ravel(), len(middles))[:len(middles)] for values in (abs(t)**2, abs(s)**2, (t * s.conj()).real))
    there = tt > 0
    return middles[there], ts[there] / np.sqrt(tt * ss)[there], ss[there] / tt[there]


def measure(circle):
    lines = [line.split() for line in (circle / "plan.txt").read_text(encoding="utf-8").splitlines()]
    found = {kind: [] for kind in KINDS}
    for kind, simulation, *_ in lines:
        true, made = circle / f"../sim/sim-{simulation}", circle / f"sim-{kind}-{simulation}/sim-00000"
        k, r, power = spectra(true / "counts_z0.h5", made / "counts_z0.h5", "counts")
        found[kind].append((r, power, *spectra(true / "initial_z0.h5", made / "initial_z0.h5", "initial")[1:]))
    figures = {kind: (np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(np.shape(values[0]), np.nan))
               for kind, values in found.items()}
    (circle / "circle.md").write_text(table(k, figures, len(found["stated"])), encoding="utf-8")
    (circle / "circle.svg").write_text(figure(k, figures), encoding="utf-8")


def table(k, figures, universes):
    text = f"Samples of the initial conditions of {universes} held-out universes, and what became of them at z = 0.\n\n"
    names = ("r at z = 0", "P over true", "initial r", "initial P over true")
    text += "| k | " + " | ".join(f"{name}, {kind}" for kind in KINDS for name in names) + " |\n|" + "---|" * (1 + len(names) * len(KINDS)) + "\n"
    for i, middle in enumerate(k):
        cells = [f"{mean[row][i]:.3f} ± {error[row][i]:.3f}" if np.isfinite(error[row][i]) else f"{mean[row][i]:.3f}"
                 for mean, error in figures.values() for row in range(len(names))]
        text += f"| {middle:.2f} | " + " | ".join(cells) + " |\n"
    return text + "\n![r(k) at z = 0](circle.svg)\n"


def figure(k, figures):
    """r(k) of the counts as lines, of the initial densities as dots."""
    width, height, left, bottom, top, right = 480, 330, 60, 270, 20, 460
    x = lambda value: left + (right - left) * value / (k[-1] + WIDTH / 2)
    y = lambda value: bottom - (bottom - top) * min(max(value, 0), 1)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
             "<title>Correlation of sampled universes with the true ones</title>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             f'<path d="M{left},{top}V{bottom}H{right}" fill="none" stroke="#000000"/>']
    for tick in np.arange(0, 1.01, 0.2):
        parts.append(f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.1f}</text>')
    for tick in np.arange(0, k[-1] + WIDTH / 2, 0.1):
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:.1f}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 34}" text-anchor="middle">k [h/Mpc]</text>')
    parts.append(f'<text x="16" y="{(top + bottom) / 2}" text-anchor="middle" transform="rotate(-90 16 {(top + bottom) / 2})">r(k)</text>')
    for row, (kind, (mean, _)) in enumerate(figures.items()):
        line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(k, mean[0]))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[kind]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.5" fill="{COLOURS[kind]}"/>' for a, b in zip(k, mean[2])]
        parts.append(f'<text x="{left + 12}" y="{bottom - 28 + 16 * row}" fill="{COLOURS[kind]}">{kind} parameters: line z = 0, dots initial</text>')
    return "\n".join([*parts, "</svg>\n"])


def main():
    what, circle, *rest = sys.argv[1:]
    if what == "plan":
        plan(pathlib.Path(circle), int(rest[0]))
    else:
        measure(pathlib.Path(circle))


if __name__ == "__main__":
    main()
