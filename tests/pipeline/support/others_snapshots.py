"""Small snapshots as other codes write them: Gadget's HDF5 layout and its binary formats."""

import struct

import h5py
import numpy as np

SIDE, BOX, GRID = 16, 64.0, 8
N = SIDE**3
CRITICAL = 27.7536627  # 1e10 Msun/h / (Mpc/h)^3
OMEGA_M, H = 0.31, 0.7
MASS = CRITICAL * OMEGA_M * BOX**3 / N


def moved_lattice(seed=1, side=SIDE):
    lattice = (np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3) + 0.5) * BOX / side
    return np.mod(lattice + np.random.default_rng(seed).normal(0, 2, lattice.shape), BOX).astype("f4")


def counts_of(positions, weights=None, box=BOX):
    return np.histogramdd(positions.astype("f8"), bins=GRID, range=[(0, box)] * 3, weights=weights)[0]


def gadget(path, sets, header=None, parameters=None, drop=(), groups=None, **create):
    """A file in Gadget's HDF5 layout. `sets` {type: {"Coordinates": ..., "Masses": ...}}; `groups` {name: attributes}."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = np.zeros(6, "u4")
    for kind, arrays in sets.items():
        numbers[kind] = len(arrays["Coordinates"])
    attributes = {"NumPart_ThisFile": numbers, "NumPart_Total": numbers, "NumFilesPerSnapshot": 1, "MassTable": np.zeros(6), "Time": 1.0,
                  "Redshift": 0.0, "BoxSize": BOX, "Omega0": OMEGA_M, "HubbleParam": H} | (header or {})
    with h5py.File(path, "w") as file:
        for name, value in attributes.items():
            if name not in drop:
                file.require_group("Header").attrs[name] = value
        for group, values in ({"Parameters": parameters if parameters is not None else {"UnitLength_in_cm": 3.085678e24}} | (groups or {})).items():
            file.require_group(group).attrs.update(values)
        for kind, arrays in sets.items():
            for name, array in arrays.items():
                file.create_dataset(f"PartType{kind}/{name}", data=array, **create)
    return path


def binary(path, sets, masses=(0,) * 6, order="<", named=False, dtype="f4", box=BOX, files=1, totals=None, redshift=0.0, own_masses=None,
           until="masses"):
    """A file in Gadget's binary format 1, or 2 with `named`. `sets` {type: positions}."""
    numbers = [len(sets.get(kind, ())) for kind in range(6)]
    header = struct.pack(order + "6i6ddd2i6i2i4d2i6i", *numbers, *masses, 1 / (1 + redshift), redshift, 0, 0, *(totals or numbers), 0, files, box,
                         OMEGA_M, 1 - OMEGA_M, H, 0, 0, *[0] * 6)
    positions = np.concatenate([sets[kind] for kind in sorted(sets)])
    blocks = [("HEAD", header.ljust(256, b"\0")), ("POS ", positions.astype(order + dtype).tobytes())]
    if until != "positions":
        blocks += [("VEL ", np.zeros(positions.shape, order + dtype).tobytes()), ("ID  ", np.arange(len(positions), dtype=order + "u8").tobytes())]
        if own_masses is not None:
            blocks.append(("MASS", own_masses.astype(order + dtype).tobytes()))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        for name, block in blocks:
            if named:
                file.write(struct.pack(order + "i4sii", 8, name.encode(), len(block) + 8, 8))
            file.write(struct.pack(order + "i", len(block)) + block + struct.pack(order + "i", len(block)))
    return path
