"""P(k) of Eisenstein & Hu 1998 (astro-ph/9709112, equations 2-24) in plain Python: what the tests tabulate."""

import math

THETA = 2.726 / 2.7


def pressureless(q, alpha, beta):
    c = 14.2 / alpha + 386 / (1 + 69.9 * q**1.08)
    logarithm = math.log(math.e + 1.8 * beta * q)
    return logarithm / (logarithm + c * q * q)


def transfer(omega_m=0.3089, h=0.703, omega_b=0.045):
    """T as a function of k [h/Mpc]."""
    m, b, fb = omega_m * h * h, omega_b * h * h, omega_b / omega_m
    z_eq, k_eq = 2.5e4 * m / THETA**4, 7.46e-2 * m / THETA**2
    b1, b2 = 0.313 * m**-0.419 * (1 + 0.607 * m**0.674), 0.238 * m**0.223
    z_d = 1291 * m**0.251 / (1 + 0.659 * m**0.828) * (1 + b1 * b**b2)
    r_d, r_eq = (31.5e3 * b / THETA**4 / z for z in (z_d, z_eq))
    s = 2 / (3 * k_eq) * math.sqrt(6 / r_eq) * math.log((math.sqrt(1 + r_d) + math.sqrt(r_d + r_eq)) / (1 + math.sqrt(r_eq)))
    k_silk = 1.6 * b**0.52 * m**0.73 * (1 + (10.4 * m) ** -0.95)
    a1, a2 = (46.9 * m) ** 0.67 * (1 + (32.1 * m) ** -0.532), (12 * m) ** 0.424 * (1 + (45 * m) ** -0.582)
    alpha_c = a1**-fb * a2 ** -(fb**3)
    beta_c = 1 / (1 + 0.944 / (1 + (458 * m) ** -0.708) * ((1 - fb) ** ((0.395 * m) ** -0.0266) - 1))
    y = (1 + z_eq) / (1 + z_d)
    root = math.sqrt(1 + y)
    g = y * (-6 * root + (2 + 3 * y) * math.log((root + 1) / (root - 1)))
    alpha_b = 2.07 * k_eq * s * (1 + r_d) ** -0.75 * g
    beta_b = 0.5 + fb + (3 - 2 * fb) * math.sqrt((17.2 * m) ** 2 + 1)
    beta_node = 8.41 * m**0.435

    def at(k_h):
        k = k_h * h
        q, ks = k / (13.41 * k_eq), k * s
        f = 1 / (1 + (ks / 5.4) ** 4)
        cold = f * pressureless(q, 1, beta_c) + (1 - f) * pressureless(q, alpha_c, beta_c)
        shifted = ks / (1 + (beta_node / ks) ** 3) ** (1 / 3)
        baryon = (pressureless(q, 1, 1) / (1 + (ks / 5.2) ** 2) +
                  alpha_b / (1 + (beta_b / ks) ** 3) * math.exp(-((k / k_silk) ** 1.4))) * math.sin(shifted) / shifted
        return fb * baryon + (1 - fb) * cold

    return at


def wavenumbers(rows=2000, low=1e-4, high=20.0):
    """Equally spaced in ln k [h/Mpc]."""
    return [low * (high / low) ** (i / (rows - 1)) for i in range(rows)]


def write_power(path, n_s=0.9667, amplitude=2e6, **grid):
    """Two columns, k [h/Mpc] and P [(Mpc/h)³], as CLASS heads them."""
    at = transfer()
    rows = [f"{k!r} {amplitude * k**n_s * at(k) ** 2!r}\n" for k in wavenumbers(**grid)]
    path.write_text("#    1:k (h/Mpc)              2:P (Mpc/h)^3\n" + "".join(rows))


def write_transfer(path, **grid):
    """Seven columns without a header, as CAMB's transfer_out."""
    at = transfer()
    path.write_text("".join(f"{k!r} 1 1 1 0 0 {-3e5 * at(k)!r}\n" for k in wavenumbers(**grid)))
