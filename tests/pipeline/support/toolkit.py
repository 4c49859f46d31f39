"""What the end-to-end tests share: running the tools and reading what they wrote."""

import ast
import fcntl
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

STOPPED = 75  # the exit code of what was stopped before all was done
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL, signal.SIGKILL)  # the same after a kill: alone, by mpirun of Open MPI, of MPICH
BIN = pathlib.Path(os.environ["COSMO_BIN"])
TESTS = BIN.parent / "tests"
FAULTS = TESTS / "libfaults.so"
ROOT = pathlib.Path(__file__).resolve().parents[3]
# Several tests share the cores: threads and ranks that wait let others compute.
ENVIRONMENT = dict(os.environ, OMP_WAIT_POLICY="passive", OMPI_MCA_mpi_yield_when_idle="1", **dict(
    line.split("=", 1) for line in (ROOT / "pipelines/mpi.env").read_text().splitlines() if not line.startswith("#")))
# Each mpirun meets in a directory of its own, one that a script starts in this script's: the last to end would remove a
# common one under another that starts.
SESSIONS = tempfile.TemporaryDirectory(prefix="cosmo-mpi-")
ENVIRONMENT["OMPI_MCA_orte_tmpdir_base"] = SESSIONS.name
SESSION = (f"OMPI_MCA_orte_tmpdir_base={SESSIONS.name}/{number}" for number in itertools.count())


def command(ranks, tool, *words):
    """The words that start a tool (or a program, by its path), under mpirun if it is to have several ranks."""
    start = [] if ranks == 1 else [next(SESSION), "mpirun", "-n", str(ranks), "--bind-to", "none"]
    return ["env", *start, str(BIN / tool), *map(str, words)]


def run(tool, *words, ranks=1, cwd=None):
    """Runs a tool to its end and returns the finished process, with text output."""
    return subprocess.run(command(ranks, tool, *words), env=ENVIRONMENT, capture_output=True, text=True, timeout=300,
                          cwd=cwd)


def run_script(path, *words, timeout=1200):
    """Runs a Python script, which may start mpirun itself, to its end and returns the finished process, with text output."""
    return subprocess.run([sys.executable, str(path), *map(str, words)], env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=timeout)


def printed(tool, *words, ranks=1, cwd=None):
    """Runs a tool that must succeed; returns its standard output."""
    done = run(tool, *words, ranks=ranks, cwd=cwd)
    assert done.returncode == 0, f"{tool} {words}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


def options_in(text):
    """{option: whether it takes a value}, as a tool's --help lists them."""
    return {option: bool(value) for option, value in re.findall(r"(?m)^  (--[\w-]+)( \S+(?: \.\.\.)?)?  ", text)}


def succeed(tool, *words, ranks=1, cwd=None):
    """Runs a tool that must succeed; returns its JSON summary."""
    return json.loads(printed(tool, *words, "--json", ranks=ranks, cwd=cwd))


def cosmo_train(*words, ranks=1):
    """Runs a training, perhaps to a --time-limit, that must be able to go on or be done; returns its JSON summary."""
    done = run("cosmo-train", *words, "--json", ranks=ranks)
    assert done.returncode in (0, STOPPED), f"cosmo-train {words}: exit {done.returncode}\n{done.stderr}"
    summary = json.loads(done.stdout)
    assert done.returncode == (0 if summary.get("complete", True) else STOPPED), f"exit {done.returncode}: {summary}"
    return summary


def make_suite(directory, simulations, grid, *more):
    """A suite of clustered random particles; see tests/dataset/make_suite.cpp."""
    printed(TESTS / "make_suite", directory, simulations, grid, *more)


def command_with_faults(faults, ranks, tool, *words):
    """The same with tests/support/faults.cpp preloaded; `faults` are its settings, without COSMO_."""
    settings = [f"COSMO_{name}={value}" for name, value in faults.items()]
    words = command(ranks, tool, *words)
    at = words.index(str(BIN / tool))
    words[at:at] = ["env", f"LD_PRELOAD={FAULTS}", *settings]
    return words


def run_with_faults(faults, tool, *words, ranks=1, cwd=None):
    """Runs a tool as run() does, with faults as in command_with_faults()."""
    return subprocess.run(command_with_faults(faults, ranks, tool, *words), env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=300, cwd=cwd)


def kill_after(seconds, tool, *words):
    """Starts a tool and kills it after this number of seconds, if it is not done by then; returns whether that killed it."""
    process = subprocess.Popen(command(1, tool, *words), env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() == -signal.SIGKILL


def children(pid):
    """Processes that a process has started, as the ranks of an mpirun on this machine, which MPICH's starts by a proxy."""
    found = []
    for child in map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        try:
            is_proxy = pathlib.Path(f"/proc/{child}/comm").read_text() == "hydra_pmi_proxy\n"
            found += children(child) if is_proxy else [child]
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found


def error_line(done, tool):
    """The one sentence with which a tool refused; fails if there is none or more than one."""
    lines = [line for line in done.stderr.splitlines() if line.startswith(f"{tool}: error: ")]
    assert len(lines) == 1, f"expected one error line, got:\n{done.stderr}"
    return lines[0]


def has_avx512():
    return "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text()


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


def make_once(root, *runs):
    """Runs tools, each given by its words, that write below the directory `root`; or copies what another script of this ctest
    run has made there with the same words (COSMO_FIXTURES, tests/pipeline/CMakeLists.txt)."""
    if "COSMO_FIXTURES" not in os.environ:
        for words in runs:
            succeed(*words)
        return
    key = hashlib.sha256(repr([[str(word).replace(str(root), "") for word in words] for words in runs]).encode())
    made = pathlib.Path(os.environ["COSMO_FIXTURES"]) / key.hexdigest()[:16]
    made.parent.mkdir(exist_ok=True)
    with open(f"{made}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            for words in runs:
                succeed(*words)
            shutil.copytree(root, f"{made}.part", dirs_exist_ok=True)
            os.rename(f"{made}.part", made)
            return
    shutil.copytree(made, root, dirs_exist_ok=True)


def small_settings(source, smaller, directory):
    """Settings files of a pipeline with other values, {file: {name: value}}, in a new directory."""
    directory.mkdir()
    for file, values in smaller.items():
        text = (source / file).read_text()
        for name, value in values.items():
            text, found = re.subn(rf'(?m)^{name}( ?= ?)("[^"]*"|\S+)', rf"{name}\g<1>{value}", text)
            assert found == 1, f"{file} has no {name}: name another value here"
        (directory / file).write_text(text)


def flip(path, at):
    """Flips a bit of the byte at this place."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def named_in_runs(*tests):
    """The strings in what these files of tests/pipeline give to run(), run_script(), succeed() and script(): what they run is among
    them."""
    trees = [ast.parse((ROOT / "tests/pipeline" / test).read_text()) for test in tests]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)
             and getattr(node.func, "attr", getattr(node.func, "id", None)) in ("run", "run_script", "succeed", "script")]
    return {node.value for call in calls for node in ast.walk(call) if isinstance(node, ast.Constant)}


class DirectoryTest(unittest.TestCase):
    """Gives each class a directory that is removed."""

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="cosmo-pipeline-")
        cls.root = pathlib.Path(cls.holder.name)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()


def record_again(directory, path):
    """Writes size and sha256 of a file that was altered on purpose into the manifest."""
    manifest = json.loads((directory / "manifest.json").read_text())
    record, = [record for record in manifest["files"] if record["path"] == path.relative_to(directory).as_posix()]
    record.update(bytes=path.stat().st_size, sha256=sha256(path))
    for state in manifest.get("checkpoints", []):  # a model records it twice
        if state["path"] == record["path"]:
            state["sha256"] = record["sha256"]
    (directory / "manifest.json").write_text(json.dumps(manifest))


class PipelineTest(DirectoryTest):
    """Gives each class one suite of small universes and its shards, in a directory that is removed."""

    UNIVERSES = 10

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sim = cls.root / "sim"
        cls.data = cls.root / "data"
        make_once(cls.root, ["cosmo-sim", *cls.sim_words(), "--output", cls.sim],
                  ["cosmo-prep", *cls.prep_words(), "--output", cls.data])

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


class PrepTest(DirectoryTest):
    """Gives each class a suite of random particles, "sim", and its shards, "data"; cosmo-prep runs beside them."""

    SUITE = [10, 12]  # simulations and their grid
    SHARD = ["--samples-per-shard", 9, "--validation", 2, "--test", 2]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_suite(cls.root / "sim", *cls.SUITE)
        cls.prep("shard", "--input", "sim", "--output", "data", *cls.SHARD)

    @classmethod
    def prep(cls, *words, ranks=1):
        """What cosmo-prep prints, which must succeed."""
        return printed("cosmo-prep", *words, ranks=ranks, cwd=cls.root)

    @classmethod
    def summary(cls, *words, ranks=1):
        """The JSON summary of cosmo-prep, which must succeed."""
        return succeed("cosmo-prep", *words, ranks=ranks, cwd=cls.root)

    def complaints(self, code, *words, ranks=1):
        """The warnings of cosmo-prep and, last, its error; it must end with this exit code and print nothing else."""
        done = run("cosmo-prep", *words, ranks=ranks, cwd=self.root)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return [line for line in done.stderr.splitlines() if "warning: " in line] + [error_line(done, "cosmo-prep")]

    def refused(self, code, parts, *words):
        """Checks the sentence with which cosmo-prep refuses."""
        line = self.complaints(code, *words)[-1]
        for part in parts:
            self.assertIn(part, line)
        return line

    def refused_alike(self, code, parts, *words):
        """Checks that one rank and two refuse with the same sentence."""
        line = self.refused(code, parts, *words)
        self.assertEqual(self.complaints(code, *words, ranks=2)[-1], line)

    def contents(self, name):
        return contents(self.root / name)

    @classmethod
    def manifest(cls, name):
        return json.loads((cls.root / name / "manifest.json").read_text())
