"""Every program and script of bench/ at its smallest size: that it runs and what it prints, never how fast."""

import csv
import importlib.util
import itertools
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np

from toolkit import BIN, ENVIRONMENT, ROOT, PipelineTest, error_line, has_bf16, named_in_runs, run, run_script, succeed

PROGRAMS = BIN.parent / "bench"
SCRIPTS = ROOT / "bench"
HAS_TORCH = importlib.util.find_spec("torch") is not None
WAYS = {"independent", "barrier", "end", "end-bf16", "buckets", "thread", "thread-bf16"}


def table(text):
    """The rows of a printed table by the names they begin with, without their last figure's unit."""
    return {match[1]: [float(figure) for figure in match[2].split()]
            for match in re.finditer(r"(?m)^ *([a-z][a-z0-9, -]*?)((?: +[0-9.]+)+)%?$", text)}


class BenchTest(unittest.TestCase):
    def assert_positive(self, *numbers):
        for number in numbers:
            self.assertTrue(math.isfinite(number) and number > 0, number)

    def script(self, name, *words):
        """What a script prints."""
        done = run_script(SCRIPTS / name, *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class Programs(BenchTest):
    LABELS = ("slow",)

    def test_sim_step(self):
        for integrator in ("bullfrog", "cola"):
            self.check_sim_step("--particles", 8, "--repeat", 1, "--copy", 1, "--integrator", integrator)

    def check_sim_step(self, *words):
        found = succeed(PROGRAMS / "bench-sim-step", *words)
        self.assert_positive(found.pop("copy_bytes_per_second"))
        self.assertEqual(found.keys(), {"sort", "sort, deposit", "solve", "gather, kick, drift", "step"})
        for part in found.values():
            self.assert_positive(part["seconds"], part["floor_seconds"], part["ratio"])
            self.assertAlmostEqual(part["ratio"] * part["floor_seconds"], part["seconds"])
        done = run(PROGRAMS / "bench-sim-step", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({name: len(row) for name, row in table(done.stdout).items()}, dict.fromkeys(found, 3))

    def test_calibration_power(self):
        found = succeed(PROGRAMS / "bench-calibration-power", "--repeats", 4, "--universes", 600)
        self.assertEqual((found.pop("repeats"), found.pop("universes"), len(found)), (4, 600, 5))
        self.assertLessEqual(found.pop("right")["either"], 0.5)
        for name in ("1.3 times too wide", "1.3 times too narrow"):
            self.assertGreaterEqual(found[name]["coverage"], 0.75)
        self.assertGreaterEqual(found["a correlation of the opposite sign"]["bands"], 0.5)

    def test_loader(self):
        words = ("--size", 8, "--samples", 2, "--repeat", 1)
        found = succeed(PROGRAMS / "bench-loader", *words)
        self.assertEqual(found.keys(), {"plain", "gzip"})
        for shard in found.values():
            self.assertEqual([(line["readers"], line["turning"]) for line in shard["loader"]],
                             [(readers, turning) for turning in (False, True) for readers in (0, 1, 2)])
            for line in shard["loader"]:
                self.assert_positive(line["samples_per_second"], line["ratio"], shard["pread_samples_per_second"])
                self.assertAlmostEqual(line["ratio"] * shard["pread_samples_per_second"] / line["samples_per_second"], 1)
        done = run(PROGRAMS / "bench-loader", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall(r"(?m)^  [012] readers(, turning samples)?: \d+ samples/s, [0-9.]+ of pread$",
                                        done.stdout)), 12, done.stdout)

    def test_shards(self):
        """On one rank and two, which leave nothing in the directory."""
        for ranks in (1, 2):
            with tempfile.TemporaryDirectory() as directory:
                found = succeed(PROGRAMS / "bench-shards", directory, "--grid", 8, "--simulations", 4, "--samples-per-shard",
                                16, "--rounds", 1, ranks=ranks)
                self.assertEqual(found.keys(), {"plain write and fsync", "files", "stage"})
                for way in found.values():
                    self.assert_positive(way["bytes_per_second"], way["ratio"])
                self.assertAlmostEqual(found["plain write and fsync"]["ratio"], 1)
                self.assertEqual(list(pathlib.Path(directory).iterdir()), [])
        done = run(PROGRAMS / "bench-shards", "--samples-per-shard", 5)
        self.assertEqual(done.returncode, 3)
        self.assertIn("192 samples do not fill shards of 5", error_line(done, "bench-shards"))

    def test_reduction(self):
        words = ("--network", "cosmoflow32", "--size", 32, "--rounds", 1, "--steps", 1)
        for ranks in (1, 2):
            found = succeed(PROGRAMS / "bench-reduction", *words, "--threads", 1, "--delay", 1, ranks=ranks)
            self.assertEqual((found.pop("ranks"), found.pop("threads")), (ranks, 1))
            self.assertEqual(found.keys(), WAYS)
            for way in found.values():
                self.assert_positive(way["step_ms"], way["throughput_ratio"])
                self.assertLessEqual(way["hidden_share"], 1)
            self.assertAlmostEqual(found["independent"]["throughput_ratio"], 1)
        found = succeed(PROGRAMS / "bench-reduction", *words, "--way", "thread")
        self.assertEqual(found.keys(), {"ranks", "threads", "independent", "thread"})
        done = run(PROGRAMS / "bench-reduction", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({name: len(row) for name, row in table(done.stdout).items()}, dict.fromkeys(WAYS, 6))

    def test_histogram(self):
        with tempfile.TemporaryDirectory() as directory:
            positions, counts = pathlib.Path(directory) / "positions.raw", pathlib.Path(directory) / "counts.raw"
            particles = np.random.default_rng(1).uniform(0, 4, (1000, 3)).astype("<f4")
            particles.tofile(positions)
            words = ("--positions", positions, "--grid", 4, "--box", 4, "--counts", counts)
            found = succeed(PROGRAMS / "bench-histogram", *words)
            expected = np.histogramdd(particles, bins=4, range=[(0, 4)] * 3)[0]
            np.testing.assert_array_equal(np.fromfile(counts, "<u2").reshape(4, 4, 4), expected)
            self.assertEqual(found["particles"], 1000)
            self.assert_positive(found["read_seconds"], found["count_seconds"], found["threads"])
            done = run(PROGRAMS / "bench-histogram", *words, "--threads", 1)
            self.assertRegex(done.stdout, r"^1000 particles, 1 threads: counted in [0-9.]+ s, ")


class Numpy(BenchTest):
    def test_numpy(self):
        """The script compares the counts itself."""
        text = self.script("compare_numpy.py", "--build", BIN.parent, "--particles", 16, "--grid", 8, "--box", 32,
                           "--rounds", 1, "--threads", 1)
        time = r"([0-9.]+) s"
        rows = re.findall(rf"(?m)^(\w+): histogramdd {time}, bincount {time}, cosmo {time}, read {time}; "
                          r"histogramdd / cosmo (\S+), bincount / cosmo (\S+), cosmo / read (\S+)$", text)
        self.assertEqual([row[0] for row in rows], ["lattice", "random"], text)
        for row in rows:
            self.assert_positive(*map(float, row[5:]))


class Inference(PipelineTest, BenchTest):
    UNIVERSES = 6

    def test_inference(self):
        model = self.root / "model"
        succeed("cosmo-train", *self.train_words(), "--epochs", 1, "--output", model)
        text = self.script("inference.py", BIN, model, self.data, "validation", 1)
        turns = re.findall(r"(?m)^(\d): forward of the benchmark \d+ Gflop/s \([0-9.]+ ms\), inference \d+ "
                           r"\([0-9.]+ samples/s\), ratio (\S+); waited [0-9.]+ % for data; memory predicted (\d+) MB, "
                           r"measured (\d+) MB$", text)
        self.assertEqual([turn[0] for turn in turns], ["1"], text)
        self.assert_positive(*map(float, turns[0][1:]))
        self.assertIn(f"\nmedian ratio {turns[0][1]}, of the best {turns[0][1]}\n", text)


class Losses(PipelineTest, BenchTest):
    UNIVERSES = 6

    def words(self, *compared):
        return (BIN, self.data, self.root / "losses", 2, *compared, "--network", "cosmonet32", "--global-batch", 8,
                "--epochs", 2)

    def test_convolutions(self):
        words = self.words("convolution", "direct", "filtered")
        text = self.script("training_losses.py", *words)
        figures = r"([0-9.]+) \(([0-9.]+) to ([0-9.]+)\)"
        rows = re.findall(rf"(?m)^ +(\d) +{figures} +{figures} *$", text)
        self.assertEqual([row[0] for row in rows], ["1", "2"] * 2, text)
        for row in rows:
            for mean, low, high in (row[1:4], row[4:]):
                self.assertTrue(0 < float(low) <= float(mean) <= float(high), row)
        self.assertEqual(re.findall(r"(?m)^(\w+) loss", text), ["training", "validation"])
        self.assertEqual(len(re.findall(r"two seeds with direct [0-9.]+, filtered and direct of a seed [0-9.]+ ", text)), 2)
        last = re.findall(r"filtered - direct of a seed ([-+][0-9.]+) \+- ([0-9.]+)\n", text)
        self.assertEqual(len(last), 2)
        for number in itertools.chain(*last):
            self.assertTrue(math.isfinite(float(number)))
        self.assertEqual(self.script("training_losses.py", *words), text)  # trains nothing again

    @unittest.skipIf(has_bf16(), "the CPU has AVX512_BF16")
    def test_a_value_that_cosmo_train_refuses(self):
        done = run_script(SCRIPTS / "training_losses.py", *self.words("precision", "f32", "bf16"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("AVX512_BF16", error_line(done, "cosmo-train"))


class PythonReader(PipelineTest, BenchTest):
    UNIVERSES = 6

    def test_ways(self):
        ways = ["pread", "voxels, checked", "not turned, no worker", "turned, no worker", "turned, workers 2", "turned, workers 2, reuse"]
        for more in ((["turned, DataLoader of 2"], ()), ([], ("--no-torch",))):
            if not (HAS_TORCH or more[1]):
                continue
            text = self.script("python_reader.py", self.data, "--samples", 6, "--rounds", 1, *more[1])
            rows = re.findall(r"(?m)^([a-zA-Z0-9, ]+?) +([0-9.e+-]+) samples/s, ([0-9.]+) of pread$", text)
            self.assertEqual([row[0] for row in rows], ways + more[0], text)
            self.assert_positive(*(float(row[1]) for row in rows))


class Limits(BenchTest):
    LABELS = ("slow",)

    def test_limits(self):
        text = self.script("convolution_limits.py", BIN, "--channels", "16,16", "--tiles", "1", "--rounds", 1, "--seconds", 0.1)
        rows = re.findall(r"(?m)^ +(\d) +16,16 +1 +([0-9.]+) +([0-9.]+) +([0-9.]+)$", text)
        self.assertEqual([row[0] for row in rows], ["3", "4"], text)
        for row in rows:
            self.assert_positive(*map(float, row[1:]))


class Cores(BenchTest):
    """bench/socket.sh: that its tables agree with each other."""

    LABELS = ("slow",)

    @staticmethod
    def start(*words):
        return subprocess.run(["bash", SCRIPTS / "socket.sh", *map(str, words)], env=dict(ENVIRONMENT, PATH="/usr/bin:/bin"),
                              capture_output=True, text=True, timeout=600)

    def test_tables(self):
        with tempfile.TemporaryDirectory() as directory:
            out, cores = pathlib.Path(directory), sorted({1, min(2, len(os.sched_getaffinity(0)))})
            done = self.start(out, "--bin", BIN, "--small", "--rounds", 1, "--cores", cores[-1])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({path.name for path in out.iterdir()}, {"socket.md", "socket.csv"})
            with open(out / "socket.csv", newline="") as file:
                rows = {(row["what"], row["way"], int(row["cores"])): row for row in csv.DictReader(file)}
            page = (out / "socket.md").read_text()
        self.assertEqual(done.stdout, page)
        ways = [("trainer", "threads"), ("loader", "threads"), ("universe", "threads"), ("suite", "ranks"), ("copy", "processes")]
        self.assertEqual(rows.keys(), {(*way, number) for way in ways for number in cores} | {("trainer", "ranks", n) for n in cores if n > 1})
        for (what, way, number), row in rows.items():
            alone = rows[what, "threads" if what == "trainer" else way, 1]
            self.assert_positive(float(row["rate"]))
            self.assertAlmostEqual(float(row["speedup"]), float(row["rate"]) / float(alone["rate"]))
            self.assertAlmostEqual(float(row["efficiency"]), float(row["speedup"]) / number)
            self.assertNotEqual(row["limit"], "")
            if what != "copy":
                self.assert_positive(float(row["share"]))
        for cell in ("trainer | threads", "suite | ranks", "copy | processes"):
            self.assertEqual(page.count(f"\n| {cell} | "), len(cores), page)
        if 2 in cores:
            for what in ("trainer", "universe"):
                share = 2 / float(rows[what, "threads", 2]["speedup"]) - 1
                self.assertIn(f"Serial share of the {what}, from 1 and 2 threads: {100 * share:.1f} %." if share < 1 else
                              f"The {what} was slower on 2 threads than on 1.", page)
        self.assertRegex(page, r"^\d+ cores of .+, medians of 1 round; other work took -?[0-9.]+ cores beside")
        self.assertRegex(page, r"Not run on a GPU: there is no PyTorch with CUDA here\.|On the GPU, beside all cores:")

    def test_refusals(self):
        done = self.start("out", "--bin", ROOT)
        self.assertEqual((done.returncode, done.stderr), (4, "socket.sh: there is no cosmo-sim: give --bin, or add its directory to PATH.\n"))
        self.assertEqual(self.start().returncode, 2)
        with tempfile.TemporaryDirectory() as directory:
            for words, code, sentence in ((("--cores", 4096), 2, "--cores names 4096 to 4096 cores and there are"),
                                          (("--minutes", 0), 1, "0.0 minutes are too few for one core: give more")):
                done = run_script(SCRIPTS / "socket_cores.py", pathlib.Path(directory) / "out", "--small", *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(sentence, error_line(done, "socket_cores.py"))


class Search(PipelineTest, BenchTest):
    UNIVERSES = 6

    def test_networks(self):
        names = ["zoo", "means of the last level only", "a second convolution, added", "learning rate 1e-2"]
        words = ("search_networks.py", BIN, self.data, self.root / "search", "--epochs", 1, "--seeds", 1, "--only", ";".join(names))
        text = self.script(*words)
        rows = {row[0]: row[1:] for row in re.findall(r"(?m)^\| ([^|]+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9,]+) \| \d+ \|$", text)}
        self.assertEqual(list(rows), names)
        self.assertEqual(rows["zoo"][2], "55,315")  # parameters of cosmonet32
        self.assertEqual(len({row[0] for row in rows.values()}), len(names))
        self.assertEqual(self.script(*words), text)
        done = run_script(SCRIPTS / "search_networks.py", *words[1:-1], "zoo;worse")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no variant 'worse'", done.stderr)


class Complete(unittest.TestCase):
    """What bench/ has."""

    PROGRAMS = set(re.findall(r"cosmo_benchmark\((\S+)", (SCRIPTS / "CMakeLists.txt").read_text()))
    SCRIPTS = {path.name for path in SCRIPTS.glob("*.py")}

    def test_all_are_run(self):
        run_by_tests = named_in_runs("chain/test_benchmarks.py", "train/test_benchmark.py")
        self.assertGreater(len(self.PROGRAMS | self.SCRIPTS), 8)
        for name in self.PROGRAMS | self.SCRIPTS:
            self.assertTrue(name in run_by_tests, f"no test runs bench/{name}: add one to test_benchmarks.py")

    def test_unknown_words_are_refused(self):
        for name in self.PROGRAMS:
            done = run(PROGRAMS / name, "--no-such-option")
            self.assertEqual(done.returncode, 2, name)
            self.assertIn("--no-such-option", error_line(done, name))
        for name in self.SCRIPTS:
            done = run_script(SCRIPTS / name, "--no-such-option")
            self.assertEqual(done.returncode, 2, name)
            self.assertIn("--no-such-option" if name.startswith("compare") else "are required", error_line(done, name))


if __name__ == "__main__":
    unittest.main()
