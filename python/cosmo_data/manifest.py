"""manifest.json of an output directory, and the files that it lists."""

import hashlib
import json
import pathlib

from cosmo_data.errors import DataError, parsing

SCHEMA = "cosmo.manifest/1"


def read_manifest(directory, stage=None):
    """The manifest of an output directory, as a dict; docs/reference/formats.md lists its fields.

    `stage` is the expected one, such as "shard"; None accepts any. Raises DataError if the directory has no manifest, or one of
    another schema or stage, or one that does not match its id. The files that it lists are not looked at.
    """
    path = pathlib.Path(directory) / "manifest.json"
    with parsing(path, "manifest"):
        if not path.exists():
            raise DataError(f"{path} does not exist: {directory} is not a finished output; rerun the stage that produces it.")
        manifest = json.loads(path.read_bytes())
        if manifest["schema"] != SCHEMA:
            raise DataError(f"{path} has schema {manifest['schema']!r}: this version reads {SCHEMA}.")
        if stage not in (None, manifest["stage"]):
            raise DataError(f"{path} is of stage {manifest['stage']!r}: give a directory of stage {stage!r}.")
        if manifest["id"] != id_of(manifest):
            raise DataError(f"{path} does not match its id: it was altered, rerun its stage with --force.")
        for record in manifest["files"]:
            if not {"bytes", "sha256"} <= record.keys():
                raise ValueError(f"{record['path']} lacks its bytes or sha256")
            inside = pathlib.PurePath(record["path"])
            if inside.is_absolute() or ".." in inside.parts:
                raise DataError(f"{path} names the file {record['path']!r} outside its directory: restore the manifest.")
    return manifest


def id_of(manifest):
    """The id that follows from the request in a manifest: sha256 of its canonical JSON."""
    request = {"schema": SCHEMA, "stage": manifest["stage"], "config": manifest["config"],
               "inputs": [record["id"] for record in manifest["inputs"]]}
    canonical = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def checked_path(directory, manifest, name, content=False):
    """The path of a file that a manifest lists.

    Its size is compared with the manifest; with `content` its sha256 is, too. Raises DataError if the file is missing, not
    listed, or has another size or sha256.
    """
    path = pathlib.Path(directory) / name
    record = next((record for record in manifest["files"] if record["path"] == name), None)
    if record is None:
        raise DataError(f"{path} is not listed in its manifest: restore {path.parent / 'manifest.json'} or rerun its stage.")
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(f"{path} is missing: restore it or rerun the stage that made it.") from error
    if size != record["bytes"]:
        raise DataError(f"{path} has {size} bytes and its manifest records {record['bytes']}: it is truncated or altered, "
                        "restore it or rerun its stage with --force.")
    if content:
        with parsing(path, "file"), open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != record["sha256"]:
            raise DataError(f"{path} differs from its manifest's sha256: it is damaged, restore it or rerun its stage with --force.")
    return path
