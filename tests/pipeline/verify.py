"""cosmo-prep verify finds and names whatever happened to a dataset, on 1 and 2 ranks; describe shows it.

Usage: verify.py COSMO_PREP MAKE_SUITE FAULTS  (the last is not used)
"""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy as np

from prep_tool import MAKE_SUITE, prep

SHARD = "train/shard-00001.h5"


def rehash():
    """Makes the manifest of "bad" agree with its files, as one would who hides a change."""
    manifest = json.load(open("bad/manifest.json"))
    for record in manifest["files"]:
        data = open(f"bad/{record['path']}", "rb").read()
        record.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    json.dump(manifest, open("bad/manifest.json", "w"))


def flip(wanted, byte=0):
    """Flips a bit of these bytes in the shard."""
    data = bytearray(open(f"bad/{SHARD}", "rb").read())
    at = data.find(wanted)
    assert at >= 0 and data.find(wanted, at + 1) < 0, "the bytes are not there once"
    data[at + byte] ^= 1
    open(f"bad/{SHARD}", "wb").write(data)


def rewrite(change):
    """Changes the shard through h5py."""
    with h5py.File(f"bad/{SHARD}", "r+") as shard:
        change(shard)


def append_sample(shard):
    """One sample more, new in every respect, with all that follows from it."""
    columns = {name: shard[name][:] for name in shard}
    columns = {name: np.concatenate([values, values[-1:]]) for name, values in columns.items()}
    columns["subvolume"][-1] = 200
    columns["x"][-1] = 0
    columns["crc32"][-1] = zlib.crc32(columns["x"][-1].tobytes())
    for name, values in columns.items():
        del shard[name]
        shard.create_dataset(name, data=values, chunks=(1,) + values.shape[1:] if name == "x" else None)


def swap():
    other = "bad/train/shard-00002.h5"
    os.replace(f"bad/{SHARD}", "spare")
    os.replace(other, f"bad/{SHARD}")
    os.replace("spare", other)


def change_record(**changes):
    manifest = json.load(open("bad/manifest.json"))
    for record in manifest["files"]:
        if record["path"] == SHARD:
            record.update(changes)
    json.dump(manifest, open("bad/manifest.json", "w"))


def edit(change):
    told = json.load(open("bad/manifest.json"))
    change(told)
    json.dump(told, open("bad/manifest.json", "w"))


def set_item(name, row, value):
    return lambda shard: shard[name].__setitem__(row, value)


def damages():
    """{what happened: (how, words that name it)}"""
    with h5py.File(f"data/{SHARD}") as shard:
        x, y, low = shard["x"][1].tobytes(), shard["y"][1].tobytes(), shard.attrs["parameter_low"].tobytes()
        one_label, simulation = shard["y"][2, 1], shard["simulation"][0]
    with h5py.File("data/test/shard-00000.h5") as shard:
        seed = shard["seed"][0]
    here = f"bad/{SHARD}"
    return {
        "a bit in /x": (lambda: flip(x, 40), [here, "sha256"]),
        "a bit in /y": (lambda: flip(y), [here, "sha256"]),
        "a bit in an attribute": (lambda: flip(low), [here, "sha256"]),
        "a truncated file": (lambda: os.truncate(here, 9000), [here, "9000 bytes"]),
        "swapped shards": (swap, [here, "sha256"]),
        "a missing shard": (lambda: os.remove(here), [here, "missing"]),
        "an extra sample": (lambda: rewrite(append_sample), [here, "bytes"]),
        "an extra shard": (lambda: shutil.copy(here, "bad/train/shard-00099.h5"), ["bad/train/shard-00099.h5"]),
        "a wrong hash in the manifest": (lambda: change_record(sha256="0" * 64), [here, "sha256"]),
        "a wrong size in the manifest": (lambda: change_record(bytes=1), [here, "says 1"]),
        # the same, where the manifest was made to agree
        "a hidden bit in /x": (lambda: (flip(x, 40), rehash()), [here, "sample 1", "crc32"]),
        "a hidden bit in /y": (lambda: (flip(y, 5), rehash()), [here, "sample 1"]),
        "a hidden attribute": (lambda: (flip(low, 5), rehash()), [here, "parameter_low"]),
        "hidden swapped shards": (lambda: (swap(), rehash()), []),
        "a hidden extra sample": (lambda: (rewrite(append_sample), rehash()), [here, "samples"]),
        "a hidden label": (lambda: (rewrite(set_item("y", (2, 1), one_label * 1.001)), rehash()), [here, "sample 2"]),
        "a hidden leak of a seed": (lambda: (rewrite(set_item("seed", slice(None), seed)), rehash()),
                                    [f"share the seed {seed}"]),
        "a hidden seed": (lambda: (rewrite(set_item("seed", slice(None), 4711)), rehash()), ["the seed", "4711"]),
        "a hidden number": (lambda: (rewrite(set_item("subvolume", 0, 99)), rehash()), ["sub-volume 99"]),
        "another list of seeds": (lambda: edit(lambda told: told["splits"]["train"]["seeds"].reverse()), ["the seed"]),
        "another size of a voxel": (lambda: edit(lambda told: told.update(voxel_mpc_h=2 * told["voxel_mpc_h"])),
                                    ["manifest.json", '"voxel_mpc_h"']),
        "a leak that is none": (lambda: edit(lambda told: told.update(leak={"seeds": 1, "between": "train and test"})),
                                ["manifest.json", "leak"]),
        "a hidden double": (lambda: (rewrite(set_item("subvolume", slice(None), 0)),
                                     rewrite(set_item("simulation", slice(None), simulation)), rehash()),
                            ["twice"]),
    }


def finds_everything():
    for what, (damage, words) in damages().items():
        shutil.rmtree("bad", ignore_errors=True)
        shutil.copytree("data", "bad")
        damage()
        if not words:  # nothing is wrong: equal shards in another order are the same samples
            prep("verify", "bad")
            continue
        line = prep("verify", "bad", code=5, warnings=True)
        for word in words:
            assert word in line, (what, word, line)
        assert prep("verify", "bad", ranks=2, code=5, warnings=True) == line, what
    prep("verify", "data", ranks=2)


def names_all_of_several():
    shards = sorted(f"bad/train/{name}" for name in os.listdir("data/train"))
    assert len(shards) > 2
    for damage, wrong in ((lambda path: os.truncate(path, 9000), "9000 bytes"), (os.remove, "missing")):
        shutil.rmtree("bad")
        shutil.copytree("data", "bad")
        for path in shards[1:]:
            damage(path)
        told = prep("verify", "bad", code=5, warnings=True)
        assert prep("verify", "bad", ranks=2, code=5, warnings=True) == told
        *warnings, error = told.splitlines()
        assert len(warnings) == len(shards) - 1 and f"{len(warnings)} files of bad" in error, told
        for path, line in zip(shards[1:], warnings):
            assert path in line and wrong in line, told


def pixels(path):
    """Width, height and number of different bytes of a picture's data."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return width, height, len(set(zlib.decompress(packed)))


def described():
    summary = json.loads(prep("describe", "data", "--json"))
    manifest = json.load(open("data/manifest.json"))
    for key in ("shape", "parameters", "splits", "statistics", "config", "code"):
        assert summary[key] == manifest[key], key
    assert summary["input"] == manifest["inputs"][0] and summary["id"] == manifest["id"]
    text = prep("describe", "data")
    for word in ("12 × 12 × 12", "omega_m", "mean 8", "seed 1", manifest["id"], manifest["inputs"][0]["path"]):
        assert word in text, word
    before = {path: os.stat(f"data/{path}").st_mtime_ns for path in os.listdir("data")}
    for words, path in ((["--png", "a.png"], "a.png"), (["--png", "pictures", "--samples", "6"], "pictures/samples.png"),
                        (["--png", "pictures"], "pictures/samples.png")):
        assert json.loads(prep("describe", "data", "--json", *words))["png"] == path
        width, height, colours = pixels(path)
        assert width > 900 and height > 700 and colours > 100, (width, height, colours)
    first = open("a.png", "rb").read()
    prep("describe", "data", "--png", "a.png", ranks=2)
    assert open("a.png", "rb").read() == first
    assert not [name for name in os.listdir(".") if name.endswith(".part")]
    assert before == {path: os.stat(f"data/{path}").st_mtime_ns for path in os.listdir("data")}
    open("notes.png", "w").write("no image")
    assert "notes.png" in prep("describe", "data", "--png", "notes.png", code=3)
    assert "--samples" in prep("describe", "data", "--png", "b.png", "--samples", "7", code=3)
    assert "sha256" in prep("describe", "bad", "--png", "b.png", code=5) and not os.path.exists("b.png")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    subprocess.run([MAKE_SUITE, "sim", "13", "12"], check=True)
    prep("shard", "--input", "sim", "--output", "data", "--subvolumes", "1", "--samples-per-shard", "3",
         "--validation", "2", "--test", "2")
    finds_everything()
    names_all_of_several()
    shutil.rmtree("bad")
    shutil.copytree("data", "bad")
    with open("bad/train/shard-00000.h5", "r+b") as file:
        file.seek(9000)
        file.write(b"?!")
    described()
