"""cosmo-prep from outside: outputs, exit codes, sentences, resuming, on 1 and 2 ranks.

Usage: prep_cli.py COSMO_PREP MAKE_SUITE FAULTS  (the last a library to preload)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from prep_tool import FAULTS, MAKE_SUITE, PREP, content, fails_alike, flip, prep

SHARD = ["--samples-per-shard", "8", "--validation", "2", "--test", "2"]


def shard_and_resume():
    plan = json.loads(prep("shard", "--input", "sim", "--output", "data", *SHARD, "--dry-run", "--json"))
    assert not os.path.exists("data") and plan["samples"] == 80 and plan["disk_bytes"] == 80 * 6**3 * 2
    assert plan["splits"]["train"] == {"simulations": 6, "samples": 48}
    summary = json.loads(prep("shard", "--input", "sim", "--output", "data", *SHARD, "--json"))
    assert summary["splits"]["test"]["samples"] == 16 and not summary["up_to_date"] and summary["id"] == plan["id"]
    whole = content("data")
    assert sorted(path for path in whole if "test" in path) == ["test/shard-00000.h5", "test/shard-00001.h5"]

    prep("shard", "--input", "sim", "--output", "data3", *SHARD, ranks=3)
    assert content("data3") == whole, "3 ranks wrote other bytes than one"

    times = {path: os.stat(os.path.join("data", path)).st_mtime_ns for path in whole}
    assert "up to date" in prep("shard", "--input", "sim", "--output", "data", *SHARD)
    assert json.loads(prep("shard", "--input", "sim", "--output", "data", *SHARD, "--json", ranks=2))["up_to_date"]
    assert times == {path: os.stat(os.path.join("data", path)).st_mtime_ns for path in whole}

    lost = ["train/shard-00002.h5", "validation/shard-00001.h5"]
    for path in lost:
        os.remove(os.path.join("data", path))
    prep("shard", "--input", "sim", "--output", "data", *SHARD, ranks=2)
    assert content("data") == whole, "a resumed run wrote other bytes than an unbroken one"
    for path in set(whole) - set(lost) - {"manifest.json"}:
        assert os.stat(os.path.join("data", path)).st_mtime_ns == times[path], f"{path} was written again"


def interrupted():
    """A run that was stopped after three shards goes on from its journal, whose last line is torn."""
    prep("shard", "--input", "sim", "--output", "torn-data", *SHARD)
    whole = content("torn-data")
    manifest = json.load(open("torn-data/manifest.json"))
    head = {key: manifest[key] for key in ("stage", "config", "inputs", "id")}
    kept = [record for record in manifest["files"] if "train" in record["path"]][:3]
    os.remove("torn-data/manifest.json")
    with open("torn-data/journal.jsonl", "w") as journal:
        journal.writelines(json.dumps(line) + "\n" for line in [head] + kept)
        journal.write('{"path": "torn')
    prep("shard", "--input", "sim", "--output", "torn-data", *SHARD)
    assert content("torn-data") == whole


def full_disk():
    """A write that fails is one sentence and exit 4, never a signal, and a rerun goes on."""
    command = [PREP, "shard", "--input", "sim", "--output", "full", *SHARD]
    for room, launcher in (0, []), (3000, []), (30000, []), (21000, ["mpirun", "-n", "2", "--bind-to", "none"]):
        environment = dict(os.environ, COSMO_DISK_BYTES=str(room))
        preload = ["env", f"LD_PRELOAD={FAULTS}"]
        result = subprocess.run(launcher + preload + command, env=environment, capture_output=True, text=True,
                                timeout=60)
        assert result.returncode == 4 and "cannot be written" in result.stderr, result
        assert "Signal" not in result.stderr, result
    prep("shard", "--input", "sim", "--output", "full", *SHARD)
    assert content("full") == content("data")


def verify_and_describe():
    for ranks in (1, 2):
        report = json.loads(prep("verify", "data", "--json", ranks=ranks))
        assert report["samples"] == 80 and report["shards"] == 10 and report["verified"]
    table = prep("describe", "data")
    assert "validation            2       16       2" in table and "omega_m" in table and "mean 8" in table, table
    assert json.loads(prep("describe", "data", "--json"))["shape"] == [6, 6, 6]

    shutil.copytree("data", "bad")
    for path in ("train/shard-00003.h5", "test/shard-00000.h5"):
        flip(f"bad/{path}", 9000)
    told = prep("verify", "bad", code=5, warnings=True)
    for word in ("bad/train/shard-00003.h5", "bad/test/shard-00000.h5", "sha256"):
        assert word in told, (word, told)
    assert prep("verify", "bad", ranks=2, code=5, warnings=True) == told
    prep("shard", "--input", "sim", "--output", "bad", *SHARD, "--force")
    prep("verify", "bad")
    os.truncate("bad/validation/shard-00000.h5", 100)
    assert "bad/validation/shard-00000.h5 has 100 bytes" in prep("verify", "bad", code=5)
    shutil.copy("data/validation/shard-00001.h5", "bad/validation/shard-00000.h5")
    fails_alike("verify", "bad", code=5, says=["bad/validation/shard-00000.h5"])
    flip("bad/manifest.json", 400)
    prep("describe", "bad", code=5)
    assert "nowhere/manifest.json" in prep("verify", "nowhere", code=4)


def refusals():
    arguments = ["shard", "--input", "sim", "--output", "refused"]
    fails_alike(*arguments, "--grid", "24", code=3, says=["--grid 24", "12"])
    prep(*arguments, "--subvolumes", "5", code=3)
    prep(*arguments, "--validation", "9", "--test", "1", code=3)
    prep(*arguments, "--compress", "lz4", code=2)
    prep(*arguments, "--validation", "x", code=2)
    prep("shard", "--input", "sim", code=2)
    prep("shard", "--input", "data", "--output", "refused", code=5)
    subprocess.run([MAKE_SUITE, "fixed", "4", "4", "0"], check=True)
    assert "No parameter varies" in prep("shard", "--input", "fixed", "--output", "refused", code=3)
    subprocess.run([MAKE_SUITE, "twins", "4", "4", "1", "shared"], check=True)
    assert "share the seed 5" in prep("shard", "--input", "twins", "--output", "refused", code=3)
    assert "seed is 1 there and 2 now" in prep("shard", "--input", "sim", "--output", "data", *SHARD, "--seed", "2",
                                               code=3)
    assert not os.path.exists("refused")
    shutil.copytree("sim", "bad-sim")
    for simulation in ("sim-00004", "sim-00006"):
        flip(f"bad-sim/{simulation}/counts_z0.h5", 5000)
    fails_alike("shard", "--input", "bad-sim", "--output", "refused", *SHARD, "--force", code=5,
                says=["bad-sim/sim-00004/counts_z0.h5", "sha256"])
    shutil.copytree("sim", "swapped")
    os.replace("swapped/sim-00002/counts_z0.h5", "spare")
    os.replace("swapped/sim-00003/counts_z0.h5", "swapped/sim-00002/counts_z0.h5")
    os.replace("spare", "swapped/sim-00003/counts_z0.h5")
    line = prep("shard", "--input", "swapped", "--output", "refused", *SHARD, "--force", code=5)
    assert "sim-00002" in line, line


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    subprocess.run([MAKE_SUITE, "sim", "10", "12"], check=True)
    shard_and_resume()
    interrupted()
    full_disk()
    verify_and_describe()
    refusals()
