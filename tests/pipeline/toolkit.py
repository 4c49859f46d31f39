"""What the end-to-end tests share: running the tools and reading what they wrote."""

import ast
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["COSMO_BIN"])
FAULTS = BIN.parent / "tests" / "libfaults.so"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMP_WAIT_POLICY="passive")


def command(ranks, tool, *words):
    """The words that start a tool, under mpirun if it is to have several ranks."""
    start = [] if ranks == 1 else ["mpirun", "-n", str(ranks), "--bind-to", "none"]
    return start + [str(BIN / tool)] + [str(word) for word in words]


def run(tool, *words, ranks=1):
    """Runs a tool to its end and returns the finished process, with text output."""
    return subprocess.run(command(ranks, tool, *words), env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


def succeed(tool, *words, ranks=1):
    """Runs a tool that must succeed; returns its JSON summary."""
    done = run(tool, *words, "--json", ranks=ranks)
    assert done.returncode == 0, f"{tool} {words}: exit {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout)


def command_with_faults(faults, ranks, tool, *words):
    """The same with tests/support/faults.cpp preloaded; `faults` are its settings, without COSMO_."""
    settings = [f"COSMO_{name}={value}" for name, value in faults.items()]
    words = command(ranks, tool, *words)
    at = words.index(str(BIN / tool))
    words[at:at] = ["env", f"LD_PRELOAD={FAULTS}", *settings]
    return words


def run_with_faults(faults, tool, *words, ranks=1):
    """Runs a tool as run() does, with faults as in command_with_faults()."""
    return subprocess.run(command_with_faults(faults, ranks, tool, *words), env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=300)


def kill_after(seconds, tool, *words):
    """Starts a tool and kills it after so many seconds, if it is not done by then; returns whether that killed it."""
    process = subprocess.Popen(command(1, tool, *words), env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() == -signal.SIGKILL


def children(pid):
    """Processes that a process has started, as the ranks of an mpirun on this machine."""
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def error_line(done, tool):
    """The one sentence with which a tool refused; fails if there is none or more than one."""
    lines = [line for line in done.stderr.splitlines() if line.startswith(f"{tool}: error: ")]
    assert len(lines) == 1, f"expected one error line, got:\n{done.stderr}"
    return lines[0]


def has_bf16():
    return "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text()


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def contents(directory):
    """sha256 of every file below the directory that must not depend on the run; keyed by relative path."""
    root = pathlib.Path(directory)
    return {path.relative_to(root).as_posix(): sha256(path)
            for path in sorted(root.rglob("*")) if path.is_file() and path.name not in ("run.json", ".lock")}


def times(directory):
    """Modification times of all files below the directory."""
    return {str(path): path.stat().st_mtime_ns for path in pathlib.Path(directory).rglob("*")
            if path.is_file() and path.name != ".lock"}


def named_in_runs(*tests):
    """The strings in what these files of this folder give to run(), succeed() and script(): what they run is among
    them."""
    trees = [ast.parse((pathlib.Path(__file__).parent / test).read_text()) for test in tests]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)
             and getattr(node.func, "attr", getattr(node.func, "id", None)) in ("run", "succeed", "script")]
    return {node.value for call in calls for node in ast.walk(call) if isinstance(node, ast.Constant)}


class PipelineTest(unittest.TestCase):
    """Gives each class one suite of small universes and its shards, in a directory that is removed."""

    UNIVERSES = 10

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="cosmo-pipeline-")
        cls.root = pathlib.Path(cls.holder.name)
        cls.sim = cls.root / "sim"
        cls.data = cls.root / "data"
        succeed("cosmo-sim", *cls.sim_words(), "--output", cls.sim)
        succeed("cosmo-prep", *cls.prep_words(), "--output", cls.data)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def sim_words(cls):
        return ["generate", "--simulations", cls.UNIVERSES, "--omega-m", "0.25:0.35", "--sigma8", "0.78:0.95",
                "--n-s", "0.9:1.0", "--box", 128, "--particles", 64, "--steps", 3, "--grid", 64]

    @classmethod
    def prep_words(cls):
        return ["shard", "--input", cls.sim, "--validation", 2, "--test", 2, "--samples-per-shard", 20]

    @classmethod
    def train_words(cls):
        return ["--data", cls.data, "--network", "cosmoflow32", "--global-batch", 8]
