"""Suites of counts and datasets of fields, made without the toolkit: by h5py, as docs/reference/formats.md describes them."""

import hashlib
import json
import zlib

import h5py
import numpy as np

NAMES = ["omega_m", "sigma8", "n_s", "h", "omega_b", "w0", "wa"]
CENTRE = [0.3089, 0.8159, 0.9667, 0.703, 0.045, -1.0, 0.0]
LOW, HIGH = [0.25, 0.78], [0.35, 0.95]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def write_manifest(directory, stage, config, inputs, details):
    """manifest.json of all .h5 files below the directory."""
    canonical = json.dumps({"schema": "cosmo.manifest/1", "stage": stage, "config": config,
                            "inputs": [record["id"] for record in inputs]}, sort_keys=True, separators=(",", ":"))
    files = [{"path": path.relative_to(directory).as_posix(), "bytes": path.stat().st_size,
              "sha256": sha256(path.read_bytes())} for path in sorted(directory.rglob("*.h5"))]
    manifest = {"schema": "cosmo.manifest/1", "stage": stage, "id": "sha256:" + sha256(canonical.encode()),
                "code": {"name": "synthetic", "version": "0", "git": ""}, "config": config, "inputs": inputs,
                "files": files, **details}
    (directory / "manifest.json").write_text(json.dumps(manifest, indent=1))
    return manifest


def parameters_of(index, universes):
    share = (index + 0.5) / universes
    return [LOW[0] + share * (HIGH[0] - LOW[0]), HIGH[1] - share * (HIGH[1] - LOW[1]), *CENTRE[2:]]


def write_suite(directory, universes, grid, redshifts=(0,), box=64.0):
    """A suite as cosmo-sim leaves it, of random counts; returns {(index, redshift): counts}."""
    # One field, moved for each universe and redshift: so that large suites cost no more than writing them.
    base = np.random.default_rng(1).poisson(np.random.default_rng(2).gamma(0.5, 2, grid**3)).astype("<u2")
    records, counts = [], {}
    for index in range(universes):
        folder = directory / f"sim-{index:05}"
        folder.mkdir(parents=True)
        files, values = [], parameters_of(index, universes)
        for number, redshift in enumerate(redshifts):
            cube = np.roll(base, 977 * index + 31 * number).reshape(grid, grid, grid)
            path = folder / f"counts_z{redshift:g}.h5"
            with h5py.File(path, "w") as file:
                file.create_dataset("counts", data=cube)
                file.attrs.update({"schema": "cosmo.counts/1", "box": box, "voxel": box / grid, "redshift": float(redshift),
                                   "seed": np.uint64(1000 + index), "parameter_names": NAMES, "parameter_values": values,
                                   "particles": np.uint64(base.sum(dtype=np.uint64)), "code_version": "synthetic"})
            files.append(path.relative_to(directory).as_posix())
            if universes <= 16:
                counts[index, redshift] = cube
        records.append({"index": index, "seed": 1000 + index, "parameters": dict(zip(NAMES, values)), "files": files,
                        "redshifts": [float(z) for z in redshifts]})
    write_manifest(directory, "generate", {"universes": universes, "grid": grid}, [], {
        "parameters": {"names": NAMES[:2], "low": LOW, "high": HIGH}, "box_mpc_h": box, "grid": grid,
        "simulations": records})
    return counts


def write_fields(directory, universes, side, box=32.0, held_out=2):
    """A dataset of float32 fields, one sample per universe, whose mean follows omega_m; `held_out` universes to validate and to test, each."""
    generator, simulations = np.random.default_rng(3), np.arange(universes)
    splits = {"validation": simulations[:held_out], "test": simulations[held_out:2 * held_out], "train": simulations[2 * held_out:]}
    records, training, suite = {}, None, "sha256:" + sha256(b"fields")
    for split, members in splits.items():
        (directory / split).mkdir(parents=True)
        y = np.array([parameters_of(i, universes)[:2] for i in members])
        x = generator.normal(size=(len(members), side, side, side)).astype("<f4") + (30 * y[:, 0] - 9)[:, None, None, None]
        x = x.astype("<f4")
        path = directory / split / "shard-00000.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=x, chunks=(1, side, side, side))
            file["y"] = y
            file["y_unit"] = (2 * (y - LOW) / (np.array(HIGH) - LOW) - 1).astype("<f4")
            file["crc32"] = np.array([zlib.crc32(sample.tobytes()) for sample in x], "<u4")
            file["simulation"] = members.astype("<u4")
            file["subvolume"] = np.zeros(len(members), "u1")
            file["seed"] = (1000 + members).astype("<u8")
            wide = x.astype("f8")
            file.attrs.update({"schema": "cosmo.shard", "schema_version": np.uint64(1), "code_version": "synthetic",
                               "input_id": suite, "box": box, "voxel": box / side, "redshifts": [0.0],
                               "parameter_names": NAMES[:2], "parameter_low": LOW, "parameter_high": HIGH,
                               "minimum": wide.min(), "maximum": wide.max(), "mean": wide.mean(), "deviation": wide.std()})
        training = wide if split == "train" else training
        records[split] = {"simulations": members.tolist(), "samples": len(members), "shards": [f"{split}/shard-00000.h5"]}
    statistics = {"minimum": training.min(), "maximum": training.max(), "mean": training.mean(), "deviation": training.std()}
    write_manifest(directory, "shard", {"fields": True}, [{"path": "../fields", "id": suite, "sha256": ""}], {
        "parameters": {"names": NAMES[:2], "low": LOW, "high": HIGH}, "shape": [side] * 3, "redshifts": [0.0],
        "subvolumes_per_simulation": 1, "splits": records, "voxel_type": "float32", "box_mpc_h": box,
        "voxel_mpc_h": box / side, "statistics": statistics})
    return statistics


def write_cubes(directory, universes, side, factors, spread=1.0):
    """samples.csv and a .npy of positive values for each universe, one channel per factor by which it is multiplied. The label amp is
    the deviation of the first channel's logarithm over `spread`."""
    directory.mkdir(parents=True, exist_ok=True)
    generator, rows = np.random.default_rng(4), ["file,simulation,amp"]
    for i in range(universes):
        amp = generator.uniform(0.5, 1)
        cubes = np.exp(spread * generator.normal(size=(len(factors), side, side, side)) * [[[[amp]]], *[[[[0.75]]]] * (len(factors) - 1)])
        np.save(directory / f"cube_{i:03}.npy", (cubes * np.reshape(factors, (-1, 1, 1, 1))).astype("f4"))
        rows.append(f"cube_{i:03}.npy,{i},{amp!r}")
    (directory / "samples.csv").write_text("\n".join(rows) + "\n")
