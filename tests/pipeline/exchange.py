"""cosmo-prep export and import from outside: lossless, readable by others, safe to interrupt; 1 and 2 ranks.

Usage: exchange.py COSMO_PREP MAKE_SUITE FAULTS  (the last a library to preload)
"""
import csv
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from prep_tool import FAULTS, MAKE_SUITE, PREP, content, fails_alike, flip, prep

FORMATS = {"npy": ["--format", "npy"], "mlperf": ["--format", "tfrecord"],
           "cosmoflow": ["--format", "tfrecord", "--dialect", "cosmoflow"]}
SPLITS = ("train", "validation", "test")


# ---- a TFRecord reader without TensorFlow --------------------------------------------------------------------------
def masked_crc32c(data, table=[]):
    if not table:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
            table.append(byte)
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    while data:
        size, check = struct.unpack("<QI", data[:12])
        record, (end_check,) = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])
        assert check == masked_crc32c(data[:8]) and end_check == masked_crc32c(record)
        yield record
        data = data[16 + size:]


def fields(message):
    """(number, value) of each delimited field of a protobuf message."""
    def varint(at):
        number = shift = 0
        while True:
            number, shift, at = number | (message[at] & 127) << shift, shift + 7, at + 1
            if message[at - 1] < 128:
                return number, at
    at = 0
    while at < len(message):
        tag, at = varint(at)
        size, at = varint(at)
        assert tag & 7 == 2
        yield tag >> 3, message[at:at + size]
        at += size


def example(record):
    """{name: (kind, bytes)} of a tf.train.Example; kind 1 is bytes, 2 floats."""
    features = {}
    for _, entry in fields(dict(fields(record))[1]):
        name, feature = (dict(fields(entry))[number] for number in (1, 2))
        (kind, values), = fields(feature)
        features[name.decode()] = (kind, dict(fields(values))[1])
    return features
# --------------------------------------------------------------------------------------------------------------------


def shard_rows(directory):
    """What the shards hold, in the dataset's order."""
    manifest = json.load(open(f"{directory}/manifest.json"))
    for split in SPLITS:
        for path in manifest["splits"][split]["shards"]:
            with h5py.File(f"{directory}/{path}") as shard:
                for row in range(len(shard["x"])):
                    yield split, path, {name: shard[name][row] for name in shard}


def foreign_sample(name, path):
    """Voxels and labels as a program that knows only the format reads them."""
    if name == "npy":
        return np.load(path), None
    data = open(path, "rb").read()
    (record,) = records(gzip.decompress(data) if name == "mlperf" else data)
    features = example(record)
    if name == "mlperf":
        assert set(features) == {"x", "y"} and features["x"][0] == 1 and features["y"][0] == 2
        x, y = np.frombuffer(features["x"][1], "<i2"), np.frombuffer(features["y"][1], "<f4")
    else:
        assert set(features) == {"data_raw", "label_raw"} and {kind for kind, _ in features.values()} == {1}
        x, y = (np.frombuffer(features[key][1], "<f8") for key in ("data_raw", "label_raw"))
    side = round(len(x) ** (1 / 3))
    return x.reshape(side, side, side, 1)[..., 0], y


def others_can_read(name):
    table = list(csv.DictReader(open(f"{name}/samples.csv")))
    for row, (split, path, sample) in zip(table, shard_rows("data"), strict=True):
        assert row["split"] == split and row["shard"] == path and row["file"].startswith(split + "/")
        for key in ("simulation", "subvolume", "seed", "crc32"):
            assert int(row[key]) == sample[key], (key, row)
        assert [float(row[key]) for key in ("omega_m", "sigma8", "n_s")] == list(sample["y"])
        x, y = foreign_sample(name, f"{name}/{row['file']}")
        np.testing.assert_array_equal(x, sample["x"])
        if name != "npy":
            np.testing.assert_array_equal(y, sample["y_unit"] if name == "mlperf" else sample["y"])
        else:
            assert x.dtype == np.uint16


def round_trip(name, words):
    export = ["export", "--input", "data", "--output", name, *words]
    plan = json.loads(prep(*export, "--dry-run", "--json"))
    assert not os.path.exists(name) and plan["samples"] == 80
    assert plan["disk_bytes"] == 80 * 6**3 * {"npy": 2, "mlperf": 2, "cosmoflow": 8}[name]
    summary = json.loads(prep(*export, "--json"))
    assert summary["samples_written"] == 80 and not summary["up_to_date"] and summary["id"] == plan["id"]
    assert summary["bytes"] == sum(len(data) for path, data in content(name).items() if path != "manifest.json")
    others_can_read(name)

    prep("export", "--input", "data", "--output", name + "2", *words, "--threads", "1", ranks=2)
    assert content(name + "2") == content(name), "2 ranks wrote other bytes than one"
    times = {path: os.stat(f"{name}/{path}").st_mtime_ns for path in content(name)}
    assert "up to date" in prep(*export, ranks=2)
    assert times == {path: os.stat(f"{name}/{path}").st_mtime_ns for path in times}

    whole = content("data")
    for ranks in (1, 2):
        words_in = ["import", "--input", name, "--output", f"again{ranks}", *words]
        plan = json.loads(prep(*words_in, "--dry-run", "--json"))
        assert plan["disk_bytes"] == plan["disk_bytes_to_write"] == sum(
            len(data) for path, data in whole.items() if path != "manifest.json")
        summary = json.loads(prep(*words_in, "--json", ranks=ranks))
        assert summary["identical"] and summary["samples"] == 80
        assert content(f"again{ranks}") == whole, "the dataset did not come back as it was"
        assert "up to date" in prep(*words_in)
        prep("verify", f"again{ranks}", ranks=ranks)
        lost = ["train/shard-00001.h5", "test/shard-00000.h5"]
        for path in lost:
            os.remove(f"again{ranks}/{path}")
        assert json.loads(prep(*words_in, "--dry-run", "--json"))["disk_bytes_to_write"] == sum(
            len(whole[path]) for path in lost)
        prep(*words_in, ranks=ranks)
        assert content(f"again{ranks}") == whole
        shutil.rmtree(f"again{ranks}")


def compressed():
    """Shards with deflate come back with it, and rolled ones with their rolls."""
    prep("shard", "--input", "sim", "--output", "rolled", "--validation", "1", "--test", "1", "--rolls", "2")
    prep("export", "--input", "rolled", "--output", "rolled-npy", "--format", "npy")
    prep("import", "--input", "rolled-npy", "--output", "rolled-again", "--format", "npy")
    assert content("rolled-again") == content("rolled")
    prep("shard", "--input", "sim", "--output", "packed", "--validation", "1", "--test", "1", "--compress", "gzip")
    prep("export", "--input", "packed", "--output", "packed-npy", "--format", "npy")
    prep("import", "--input", "packed-npy", "--output", "packed-again", "--format", "npy")
    assert content("packed-again") == content("packed")


def killed_along(command, whole, kills):
    """Killed at file operations all along, reruns write the bytes of an unbroken run."""
    here = os.getcwd()

    def run(**settings):
        subprocess.run([PREP, *command, "--output", "cut", "--threads", "1"], capture_output=True, timeout=60,
                       env=dict(os.environ, LD_PRELOAD=FAULTS, COSMO_KILL_UNDER=f"{here}/cut", **settings))

    run(COSMO_KILL_COUNT=f"{here}/operations")
    operations = int(open("operations").read())
    assert content("cut") == whole and operations > 50
    for kill in range(kills):
        shutil.rmtree("cut")
        run(COSMO_KILL_AT=str(1 + operations * kill // kills))
        assert "manifest.json" not in content("cut"), kill
        prep(*command, "--output", "cut", ranks=1 + kill % 2)
        assert content("cut") == whole, kill
    shutil.rmtree("cut")


def interrupted():
    killed_along(["export", "--input", "data", "--format", "npy"], content("npy"), 12)
    killed_along(["import", "--input", "npy", "--format", "npy"], content("data"), 8)
    command = [PREP, "export", "--input", "data", "--output", "full", "--format", "npy"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, LD_PRELOAD=FAULTS, COSMO_DISK_BYTES="20000",
                                     COSMO_DISK_SUFFIX=".npy.part"))
    assert result.returncode == 4 and "cannot be written" in result.stderr, result
    prep(*command[1:])
    assert content("full") == content("npy")


def damaged():
    """Whatever was altered in an export is named."""
    for name, words in FORMATS.items():
        arguments = ["import", "--input", "bad", "--output", "refused", *words, "--force"]
        file = sorted(path for path in content(name) if path.startswith("train/"))[3]

        def with_fresh_copy():
            shutil.rmtree("bad", ignore_errors=True)
            shutil.copytree(name, "bad")

        with_fresh_copy()
        flip(f"bad/{file}", os.path.getsize(f"bad/{file}") // 2)
        fails_alike(*arguments, code=5, says=[f"bad/{file}"])
        with_fresh_copy()
        os.truncate(f"bad/{file}", 30)
        fails_alike(*arguments, code=5, says=[f"bad/{file}", "30 bytes"])
        os.remove(f"bad/{file}")
        fails_alike(*arguments, code=4, says=[f"bad/{file}", "missing"])
        with_fresh_copy()
        flip("bad/samples.csv", 400)
        fails_alike(*arguments, code=5, says=["bad/samples.csv"])
    fails_alike("import", "--input", "npy", "--output", "refused", "--format", "tfrecord", code=3, says=["--format npy"])
    fails_alike("import", "--input", "mlperf", "--output", "refused", "--format", "tfrecord", "--dialect", "cosmoflow",
                code=3, says=["--dialect mlperf"])
    fails_alike("export", "--input", "data", "--output", "npy", "--format", "tfrecord", code=3, says=["npy"])
    fails_alike("export", "--input", "data", "--output", "data", "--format", "npy", code=3, says=["data"])
    fails_alike("export", "--input", "sim", "--output", "refused", "--format", "npy", code=5, says=["sim"])
    prep("export", "--input", "data", "--output", "refused", "--format", "zip", code=2)
    prep("export", "--input", "data", "--output", "refused", "--format", "npy", "--dialect", "mlperf", code=3)
    shutil.rmtree("refused", ignore_errors=True)
    shutil.copytree("data", "bad-data")
    flip("bad-data/train/shard-00002.h5", 9000)
    fails_alike("export", "--input", "bad-data", "--output", "refused", "--format", "npy", code=5,
                says=["bad-data/train/shard-00002.h5"])


def large_counts():
    """A count above 32767 has no room in int16."""
    subprocess.run([MAKE_SUITE, "heap", "4", "4", "3", "", "40000"], check=True)
    prep("shard", "--input", "heap", "--output", "heap-data", "--validation", "1", "--test", "1")
    fails_alike("export", "--input", "heap-data", "--output", "heap-tf", "--format", "tfrecord", code=6,
                says=["counts 40", "room for 32767"])
    assert not os.path.exists("heap-tf")
    for name in ("npy", "cosmoflow"):
        prep("export", "--input", "heap-data", "--output", f"heap-{name}", *FORMATS[name])
        prep("import", "--input", f"heap-{name}", "--output", f"heap-{name}-again", *FORMATS[name])
        assert content(f"heap-{name}-again") == content("heap-data")


def write_tfrecord(path, messages, compress):
    """Records as TensorFlow would write them."""
    frames = b"".join(struct.pack("<QI", len(m), masked_crc32c(struct.pack("<Q", len(m)))) + m +
                      struct.pack("<I", masked_crc32c(m)) for m in messages)
    with (gzip.open if compress else open)(path, "wb") as file:
        file.write(frames)


def message(features):
    """A tf.train.Example of {name: (kind, bytes)}."""
    def field(number, data):
        size, head = len(data), bytes([number << 3 | 2])
        while size > 127:
            head, size = head + bytes([size & 127 | 128]), size >> 7
        return head + bytes([size]) + data
    entries = b"".join(field(1, field(1, name.encode()) + field(2, field(kind, field(1, data))))
                       for name, (kind, data) in features.items())
    return field(1, entries)


def foreign_universes():
    """Counts (12, 2, 4, 4, 4) of 6 universes of two samples, and their parameters."""
    random = np.random.default_rng(5)
    return random.poisson(6, (12, 2, 4, 4, 4)), np.repeat(random.uniform((0.2, 0.7), (0.4, 0.9), (6, 2)), 2, 0)


def imported(directory):
    """{(simulation, sub-volume): (x, y, split)} of a dataset."""
    return {(s["simulation"], s["subvolume"]): (s["x"], s["y"], split) for split, _, s in shard_rows(directory)}


def foreign():
    x, y = foreign_universes()
    for folder in ("npy-of-others", "tf-of-others", "old-tf-of-others"):
        os.mkdir(folder)
    unit = (2 * (y - (0.2, 0.7)) / 0.2 - 1).astype("<f4")
    table = ["file,simulation,omega_m,sigma8"]
    for i in range(12):
        np.save(f"npy-of-others/{i}.npy", x[i].astype(("u1", "<i4", "<f8")[i % 3]))
        table.append(f"{i}.npy,{40 + i // 2},{float(y[i][0])!r},{float(y[i][1])!r}")
        last = np.moveaxis(x[i], 0, -1)
        write_tfrecord(f"tf-of-others/{i}.tfrecord", [message(
            {"y": (2, unit[i].tobytes()), "x": (1, last.astype("<i2").tobytes())})], i % 2 == 0)
    open("npy.csv", "w").write("\n".join(table))
    open("tf.csv", "w").write("file,simulation,subvolume\n" + "".join(f"{i}.tfrecord,{40 + i // 2},{i % 2}\n" for i in range(12)))
    open("old.csv", "w").write("file,record,simulation,split\n" + "".join(
        f"all.tfrecord,{i},{40 + i // 2},{('train', 'test', 'validation')[max(0, i // 2 - 3)]}\n" for i in range(12)))
    write_tfrecord("old-tf-of-others/all.tfrecord", [message(
        {"data_raw": (1, np.moveaxis(x[i], 0, -1).astype("<f8").tobytes()), "label_raw": (1, y[i].tobytes())})
        for i in range(12)], False)
    common = ["--box", "64", "--redshifts", "0,1", "--samples-per-shard", "5", "--quiet"]
    ranges = ["--parameters", "omega_m=0.2:0.4,sigma8=0.7:0.9"]
    for name, words in {
            "from-npy": ["--input", "npy-of-others", "--samples", "npy.csv", *FORMATS["npy"]],
            "from-tf": ["--input", "tf-of-others", "--samples", "tf.csv", *FORMATS["mlperf"], *ranges],
            "from-old": ["--input", "old-tf-of-others", "--samples", "old.csv", *FORMATS["cosmoflow"], *ranges]}.items():
        prep("import", *words, *common, "--output", name)
        prep("import", *words, *common, "--output", name + "2", ranks=2)
        assert content(name) == content(name + "2")
        assert "up to date" in prep("import", *words, *common, "--output", name)
        prep("verify", name)
        rows = imported(name)
        assert len(rows) == 12
        for i in range(12):
            voxels, labels, split = rows[40 + i // 2, i % 2]
            assert voxels.dtype == np.uint16
            np.testing.assert_array_equal(voxels, x[i])
            np.testing.assert_allclose(labels, y[i], atol=1e-7 if name == "from-tf" else 0)
            if name == "from-old":
                assert split == ("train", "test", "validation")[max(0, i // 2 - 3)]
        splits = {simulation: {rows[simulation, n][2] for n in (0, 1)} for simulation in range(40, 46)}
        assert all(len(split) == 1 for split in splits.values())
        manifest = json.load(open(f"{name}/manifest.json"))
        assert manifest["statistics"]["particles_in"] == x.sum() and manifest["redshifts"] == [0, 1]
        prep("export", "--input", name, "--output", name + "-out", "--format", "npy")  # and on in our own way
        prep("import", "--input", name + "-out", "--output", name + "-again", "--format", "npy")
        assert content(name + "-again") == content(name)
    fields_of_others(x, y, common)
    foreign_refusals(common, ranges)


def fields_of_others(x, y, common):
    """Densities are float32 fields, bit for bit."""
    os.mkdir("fields")
    field = (x / x.mean() - 1).astype("<f4")
    for i in range(12):
        np.save(f"fields/{i}.npy", field[i])
    words = ["--input", "fields", "--samples", "npy.csv", "--format", "npy", *common]
    fails_alike("import", *words, "--output", "refused", code=5, says=["no count", "--voxels field"])
    prep("import", *words, "--voxels", "field", "--output", "from-fields")
    prep("verify", "from-fields", ranks=2)
    for (simulation, n), (voxels, _, _) in imported("from-fields").items():
        assert voxels.dtype == np.float32
        np.testing.assert_array_equal(voxels, field[2 * (simulation - 40) + n])
    for name in ("npy", "cosmoflow"):
        prep("export", "--input", "from-fields", "--output", f"fields-{name}", *FORMATS[name])
        prep("import", "--input", f"fields-{name}", "--output", f"fields-{name}-again", *FORMATS[name])
        assert content(f"fields-{name}-again") == content("from-fields")
    fails_alike("export", "--input", "from-fields", "--output", "refused", *FORMATS["mlperf"], code=3,
                says=["float32 field"])


def foreign_refusals(common, ranges):
    """What cannot be known is asked for."""
    shutil.rmtree("refused", ignore_errors=True)
    npy = ["import", "--input", "npy-of-others", "--format", "npy", "--output", "refused"]
    tf = ["import", "--input", "tf-of-others", "--format", "tfrecord", "--output", "refused"]
    assert "--samples FILE.csv" in prep(*npy, code=3)
    assert "--box" in prep(*npy, "--samples", "npy.csv", code=2)
    assert "must be told" in prep(*tf, *common, "--samples", "tf.csv", "--parameters", "omega_m,sigma8", code=3)
    assert "names no parameter" in prep(*tf, *common, "--samples", "tf.csv", code=3)
    assert "has 2 labels" in prep(*tf, *common, "--samples", "tf.csv", "--parameters", "omega_m=0:1", code=3)
    assert "--dialect" in prep(*tf, "--dialect", "cosmoflow", *common, *ranges, "--samples", "tf.csv", code=5)
    assert "no cube" in prep(*tf, "--box", "64", *ranges, "--samples", "tf.csv", code=5)
    assert "beyond" in prep(*npy, *common, "--samples", "npy.csv", "--parameters", "omega_m=0.3:0.31,sigma8", code=3)
    assert "empty range" in prep(*npy, *common, "--samples", "npy.csv", "--parameters", "omega_m=1:0", code=2)
    assert "leave it out" in prep("import", "--input", "npy", "--format", "npy", "--box", "3", "--output", "refused",
                                  code=3)
    lines = open("npy.csv").read().splitlines()
    for name, changed, code, says in (
            ("no-simulation", [line.replace("simulation", "universe") for line in lines], 5, "'simulation'"),
            ("uneven", lines[:-1], 5, "as many"),
            ("torn", lines[:-1] + ["11.npy,45"], 5, "line 13"),
            ("mixed", lines[:-1] + ["11.npy,45,0.3,0.8"], 5, "same seed, split and parameters"),
            ("absent", lines[:-1] + ["none.npy" + lines[-1][6:]], 4, "none.npy"),
            ("twins", ["seed," + lines[0]] + ["7," + line for line in lines[1:]], 3, "share the seed 7"),
            ("copies", lines[:-1] + ["../npy-of-others/0.npy" + lines[-1][6:]], 5, "0.npy and ../npy-of-others/0.npy hold the same"),
            ("unsplit", ["split," + lines[0]] + ["train," + line for line in lines[1:]], 5, "no validation samples")):
        open(f"{name}.csv", "w").write("\n".join(changed))
        line = prep(*npy, *common, "--samples", f"{name}.csv", code=code)
        assert says in line, (name, line)
    assert not os.path.exists("refused")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    subprocess.run([MAKE_SUITE, "sim", "10", "12"], check=True)
    prep("shard", "--input", "sim", "--output", "data", "--samples-per-shard", "9", "--validation", "2", "--test", "2")
    for name, words in FORMATS.items():
        round_trip(name, words)
    compressed()
    interrupted()
    damaged()
    large_counts()
    foreign()
