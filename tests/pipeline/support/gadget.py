"""Snapshots in Gadget-4's HDF5 layout, written by h5py, and what numpy counts in them."""

import h5py
import numpy as np

BOX, GRID, N = 200000.0, 24, 20000  # kpc/h


def example_positions(dtype="f8", box=BOX, seed=3):
    """Random positions and some on the voxels' edges, with x == box."""
    generator = np.random.default_rng(seed)
    positions = (generator.random((N, 3)) * box).astype(dtype)
    edges = np.linspace(0, box, GRID + 1).astype(dtype)
    positions[::7, generator.integers(3)] = generator.choice(edges, len(positions[::7]))
    return np.clip(positions, 0, np.dtype(dtype).type(box))


def expected_counts(positions, grid=GRID, box=BOX):
    counts, _ = np.histogramdd(positions.astype("f8"), bins=grid, range=[(0, box)] * 3)
    assert counts.sum() == len(positions)
    return counts


def write_gadget4(folder, positions, files, box=BOX, units=True, cosmology=True, types=6, particle_type=1, redshift=0.0,
                  omega_m=0.31):
    """A snapshot as Gadget-4 writes it, in `files` files of unequal size; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = [0] + [len(positions) * i * (i + 3) // (files * (files + 3)) for i in range(1, files + 1)]
    paths = []
    for i in range(files):
        part = positions[cuts[i]:cuts[i + 1]]
        paths.append(folder / (f"snap_004.{i}.hdf5" if files > 1 else "snap_004.hdf5"))
        with h5py.File(paths[-1], "w") as file:
            header = file.create_group("Header").attrs
            this, total = np.zeros(types, "u4"), np.zeros(types, "u8")
            this[particle_type], total[particle_type] = len(part), len(positions)
            header["NumPart_ThisFile"], header["NumPart_Total"] = this, total
            header["NumFilesPerSnapshot"] = np.int32(files)
            header["BoxSize"], header["Redshift"], header["Time"] = box, redshift, 1 / (1 + redshift)
            header["MassTable"] = np.zeros(types)
            parameters = file.create_group("Parameters").attrs
            parameters["BoxSize"] = box
            if cosmology:
                parameters["Omega0"], parameters["OmegaLambda"], parameters["HubbleParam"] = omega_m, 1 - omega_m, 0.68
                parameters["OmegaBaryon"] = 0.0
            if units:
                parameters["UnitLength_in_cm"] = 3.085678e21
            if len(part):
                group = file.create_group(f"PartType{particle_type}")
                group["Coordinates"] = part
                group["ParticleIDs"] = np.arange(cuts[i], cuts[i + 1], dtype="u4")
    return paths
