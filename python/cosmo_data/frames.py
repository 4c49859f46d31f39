"""Predictions and manifests as pandas data frames.

Each function reads one output directory and raises DataError if a file is missing, damaged or of another stage.
"""

import pathlib

from cosmo_data.errors import DataError, parsing
from cosmo_data.manifest import checked_path, read_manifest
from cosmo_data.split import Split

try:
    import pandas
except ImportError:
    raise ImportError("cosmo_data.frames needs pandas: install Debian's python3-pandas, or pandas from PyPI.") from None


def predictions(directory, per="subvolume"):
    """What cosmo-infer predicted: one row per sub-volume, or with per="universe" per universe, where `subvolume` is -1.

    Columns: simulation, subvolume, seed (roll, if there are any), and true_NAME, predicted_NAME, deviation_NAME in physical
    units; with a posterior, whose mean and deviation these are, also network_NAME, the prediction without it, and of universes
    covariance_A_B and distance_rank. Predictions of --input are of universes alone, with input, universe and subvolumes (their number).
    """
    manifest = read_manifest(directory)
    stage = "predict" if manifest["stage"] == "predict" else "infer"
    name = "universes.csv" if stage == "predict" else {"subvolume": "predictions.csv", "universe": "universes.csv"}[per]
    return _parameters(directory, manifest, stage, name)


def baselines(directory):
    """What simpler methods predict for the samples of the same split: columns method, simulation, subvolume, predicted_NAME."""
    return _parameters(directory, read_manifest(directory), "infer", "baselines.csv")


def _parameters(directory, manifest, stage, name):
    """A table of predicted parameters, which predictions of a field lack."""
    if manifest["stage"] == stage and "universes.csv" not in [file["path"] for file in manifest["files"]]:
        raise DataError(f"{directory} has predictions of a field and of no parameters: open the files in its fields/ with h5py.")
    return _table(directory, stage, name)


def history(directory):
    """The epochs of a training: losses and rms errors, in physical units; docs/reference/formats.md names the columns."""
    return _table(directory, "train", "history.csv")


def checkpoints(directory):
    """The checkpoints of a model: epoch, step, path, sha256, validation_loss, best."""
    manifest = read_manifest(directory, "train")
    with parsing(pathlib.Path(directory) / "manifest.json", "manifest"):
        return pandas.DataFrame(manifest["checkpoints"])


def simulations(directory):
    """The universes of a suite that cosmo-sim generate, or histogram of a table, wrote: index, seed, all parameters, and settings that differ."""
    manifest = read_manifest(directory, "generate")
    with parsing(pathlib.Path(directory) / "manifest.json", "manifest"):
        if "packs" in manifest:
            table = _table(directory, "generate", manifest["packs"]["table"])
            texts = table.select_dtypes("object").columns
            table[texts] = table[texts].apply(lambda column: column.str.replace(";", ","))
            parameters = sorted(name for name in table.columns[2:] if not name.startswith("setting_"))
            settings = [name for name in table.columns if name.startswith("setting_")]
            numbers = {name: float for name in parameters + settings if name not in texts}
            table = table[["index", "seed", *parameters, *settings]].astype(numbers)
            return table.rename(columns=lambda name: name.removeprefix("setting_"))
        return pandas.DataFrame([{"index": row["index"], "seed": row["seed"], **row["parameters"], **row.get("settings", {})}
                                 for row in manifest["simulations"]])


def samples(directory):
    """All samples of a dataset: split, shard, row, simulation, subvolume, seed, roll, the parameters, physical, and settings that differ."""
    splits = [Split(directory, name) for name in ("train", "validation", "test")]
    return pandas.DataFrame([{"split": split.split, **split.identity(i)._asdict(), **dict(zip(split.names, split.parameters(i))),
                              **split.settings(i)}
                             for split in splits for i in range(len(split))])


def files(directory):
    """The files that a manifest of any stage lists: path, bytes, sha256."""
    return pandas.DataFrame(read_manifest(directory)["files"], columns=["path", "bytes", "sha256"])


def _table(directory, stage, name):
    """A table of an output directory, whose sha256 is checked."""
    return pandas.read_csv(checked_path(directory, read_manifest(directory, stage), name, content=True), float_precision="round_trip")
