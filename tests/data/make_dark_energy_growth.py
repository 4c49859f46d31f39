#!/usr/bin/env python3
"""Writes golden_dark_energy.csv: expansion and growth for w(a) = w0 + wa (1 - a), without the toolkit's code.

For constant w the growing mode is a closed form, a 2F1(-1/(3w), (w-1)/(2w); 1 - 5/(6w); -a^(-3w) (1-Om)/Om) (Silveira &
Waga 1994, Phys. Rev. D 50, 4890; Padmanabhan 2003, hep-th/0212290); for wa it is the textbook's equation
g'' + (2 + dlnE/dlna) g' = 3/2 Om(a) g in ln a, by a Runge-Kutta method of fourth order with 40000 steps from a = 1e-4.
D2 by the same method from D2'' + (2 + dlnE/dlna) D2' = 3/2 Om(a) (D2 - D1²); all for D1(1) = 1. Needs numpy only.
"""
import csv
import math
import pathlib

import numpy as np

MODELS = [(0.3, -1.0, 0.0), (0.3, -0.7, 0.0), (0.25, -1.3, 0.0), (0.35, -0.9, 0.3), (0.3, -0.8, -0.6), (0.3, -0.6, 0.5)]
SCALES = [0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
STEPS = 40000


def dark(a, w0, wa):
    return a ** (-3 * (1 + w0 + wa)) * math.exp(-3 * wa * (1 - a))


def expansion(a, om, w0, wa):
    return math.sqrt(om / a**3 + (1 - om) * dark(a, w0, wa))


def derivative(x, y, om, w0, wa):
    a = math.exp(x)
    matter, other = om / a**3, (1 - om) * dark(a, w0, wa)
    om_a = matter / (matter + other)
    w = w0 + wa * (1 - a)
    slope = -1.5 * (1 + w * (1 - om_a))  # dlnE/dlna
    d1, v1, d2, v2 = y
    return np.array([v1, 1.5 * om_a * d1 - (2 + slope) * v1, v2, 1.5 * om_a * (d2 - d1 * d1) - (2 + slope) * v2])


def integrate(om, w0, wa):
    """D1, dD1/dlna, D2, dD2/dlna at SCALES, from the matter era's modes at a = 1e-4."""
    x, y = math.log(1e-4), np.array([1e-4, 1e-4, -3 / 7 * 1e-8, -6 / 7 * 1e-8])
    result = []
    per_scale = STEPS // len(SCALES)
    for scale in SCALES:
        h = (math.log(scale) - x) / per_scale
        for _ in range(per_scale):
            k1 = derivative(x, y, om, w0, wa)
            k2 = derivative(x + h / 2, y + h / 2 * k1, om, w0, wa)
            k3 = derivative(x + h / 2, y + h / 2 * k2, om, w0, wa)
            k4 = derivative(x + h, y + h * k3, om, w0, wa)
            x, y = x + h, y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        result.append(y)
    return result


def hypergeometric(a, b, c, z):
    """2F1 for z <= 0, by Pfaff's transformation and Gauss's series."""
    total, term, n = 0.0, (1 - z) ** -a, 0
    z, b = z / (z - 1), c - b
    while abs(term) > 1e-17 * abs(total) or n < 10:
        total += term
        term *= (a + n) * (b + n) / (c + n) / (n + 1) * z
        n += 1
    return total


def closed_form(a, om, w):
    """D1 → a in the past."""
    return a * hypergeometric(-1 / (3 * w), (w - 1) / (2 * w), 1 - 5 / (6 * w), -(a ** (-3 * w)) * (1 - om) / om)


def main():
    path = pathlib.Path(__file__).with_name("golden_dark_energy.csv")
    with path.open("w") as file:
        file.write("# made by make_dark_energy_growth.py\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["Om", "w0", "wa", "a", "E", "D1", "f1", "D2", "closed"])
        for om, w0, wa in MODELS:
            rows = integrate(om, w0, wa)
            norm = rows[-1][0]
            for a, (d1, v1, d2, _) in zip(SCALES, rows):
                closed = closed_form(a, om, w0) / closed_form(1, om, w0) if wa == 0 else 0
                out.writerow([om, w0, wa, a] + [f"{value:.12g}" for value in
                                                (expansion(a, om, w0, wa), d1 / norm, v1 / d1, d2 / norm**2, closed)])


if __name__ == "__main__":
    main()
