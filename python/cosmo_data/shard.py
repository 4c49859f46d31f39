"""One HDF5 file of samples; docs/reference/formats.md specifies it."""

import zlib

import h5py
import numpy as np

from cosmo_data.errors import DataError, parsing

SCHEMA = "cosmo.shard"
VERSIONS = (1, 2, 3, 4)
TABLES = {"y": "float64", "y_unit": "float32", "crc32": "uint32", "simulation": "uint32", "subvolume": "uint8",
          "seed": "uint64", "roll": "uint16", "t_crc32": "uint32", "v_crc32": "uint32"}


def voxel_dtype(manifest):
    """float32 for fields, uint16 for counts."""
    return np.dtype("float32" if "voxel_type" in manifest else "uint16")


def target_dtype(manifest):
    """uint8 for classes, float32 for other targets."""
    return np.dtype("uint8" if "classes" in manifest["target"] else "float32")


class Shard:
    """An open shard of a dataset with this manifest.

    The small tables are read at once: y (N, P) float64, y_unit (N, P) float32, and (N) crc32, simulation, subvolume, seed and roll,
    settings (N, S) float64 if universes differ in settings, and t_crc32 and v_crc32 (N) if samples have a target or velocities.
    Raises DataError if the file is not HDF5, has another schema version, or does not agree with the manifest.
    """

    def __init__(self, path, manifest, rows):
        self.path = path
        parameters = manifest["parameters"]["names"]
        with parsing(path, "shard", "run cosmo-prep again with --force"):
            file = h5py.File(path, "r")
            version = file.attrs["schema"], int(file.attrs["schema_version"])
            if version not in [(SCHEMA, known) for known in VERSIONS]:
                raise DataError(f"{path} has schema {version[0]} {version[1]}: this version reads {SCHEMA} 1 to {VERSIONS[-1]}.")
            self._x, self.roll = file["x"], np.zeros(rows, "uint16")
            self.y, self.y_unit = (np.zeros((rows, 0), TABLES[name]) for name in ("y", "y_unit"))
            labelled = len(parameters) > 0  # data for a target alone may have no parameter that varies
            expected = {"roll": "roll" in file or manifest.get("rolls"), "t_crc32": "target" in manifest, "v_crc32": "velocity" in manifest,
                        "y": labelled, "y_unit": labelled}
            tables = {name: file[name] for name in TABLES if expected.get(name, True)}
            agree = {"shape": self._x.shape == (rows, *manifest["shape"]), "type of voxels": self._x.dtype == voxel_dtype(manifest),
                     "parameter_names": list(file.attrs["parameter_names"] if labelled else []) == parameters,
                     "input_id": file.attrs["input_id"] == ",".join(record["id"] for record in manifest["inputs"])}
            for name, table in tables.items():
                shape = (rows, len(parameters)) if name in ("y", "y_unit") else (rows,)
                agree[f"shape or type of {name}"] = (table.shape, table.dtype) == (shape, TABLES[name])
            self._t = self._v = None
            agree["target"] = file.attrs.get("target") == manifest.get("target", {}).get("quantity")
            if "target" in manifest:
                self._t = file["t"]
                agree["shape or type of t"] = (self._t.shape, self._t.dtype) == ((rows, *manifest["shape"][-3:]), target_dtype(manifest))
            if "velocity" in manifest:
                self._v = file["v"]
                agree["shape or type of v"] = (self._v.shape, self._v.dtype) == ((rows, 3, *manifest["shape"][-3:]), "float32")
            self.settings = None
            if columns := manifest.get("settings"):
                table = file["settings"]
                agree["settings"] = (list(table.attrs["names"]) == [column["name"] for column in columns]
                                     and (table.shape, table.dtype) == ((rows, len(columns)), "float64"))
                self.settings = table[:]
            for what, equal in agree.items():
                if not equal:
                    raise DataError(f"{path} has another {what} than its manifest: it belongs to another dataset, restore it.")
            vars(self).update({name: table[:] for name, table in tables.items()})

    def read(self, row, check=True, out=None):
        """The voxels of a row's input, in the shape and type that they have in the file; in `out` if that is given.

        With `check` their crc32 is compared with the recorded one. Raises DataError if it differs or the row is not readable.
        """
        return self._read(self._x, self.crc32, row, check, out)

    def target(self, row, check=True, out=None):
        """The voxels of a row's target, likewise."""
        if self._t is None:
            raise DataError(f"{self.path} has no target beside its samples: make them with cosmo-prep shard --target initial or web.")
        return self._read(self._t, self.t_crc32, row, check, out)

    def velocity(self, row, check=True, out=None):
        """The velocities of a row, likewise."""
        if self._v is None:
            raise DataError(f"{self.path} has no velocities beside its samples: make them with cosmo-prep shard --velocity.")
        return self._read(self._v, self.v_crc32, row, check, out)

    def _read(self, stored, crc32, row, check, out):
        voxels = np.empty(stored.shape[1:], stored.dtype) if out is None else out
        try:
            stored.read_direct(voxels, np.s_[row])
        except (OSError, RuntimeError) as error:
            raise DataError(f"{self.path} sample {row} is not readable ({error}): restore the file or run cosmo-prep again with "
                            "--force.") from error
        if check and zlib.crc32(voxels) != crc32[row]:
            raise DataError(f"{self.path} sample {row} differs from its crc32: the file is damaged, restore it or run cosmo-prep "
                            "again with --force.")
        return voxels
