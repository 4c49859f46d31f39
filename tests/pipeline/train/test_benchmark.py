"""The benchmark's contract: the paper's counts of the paper's network, and every field of the summary."""

import json
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from toolkit import BIN, ENVIRONMENT, ROOT, command, error_line, has_avx512, run, succeed

BENCH = ROOT / "bench"

FIELDS = {"parameters", "weights", "useful_gflop", "paper_gflop", "steps", "step_ms", "useful_gflops", "forward_ms", "forward_gflops", "peak_gflops", "peak_unit",
          "fraction_of_peak", "peak_rss_bytes", "filtered", "layers", "breakdown_ms", "operations"}
PARTS = {"convolution", "other_compute", "reorders", "waiting", "communication", "input"}


def has_torch():
    return subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0


class IdleThreads(unittest.TestCase):
    """Threads that wait sleep after a while, unless the user decides."""

    VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")

    def variables(self, **given):
        """What a run has of them, and its name."""
        environment = {name: value for name, value in ENVIRONMENT.items() if name not in self.VARIABLES} | given
        process = subprocess.Popen(command(1, "cosmo-train", "--benchmark", "--network", "cosmonet64", "--quiet"), env=environment, stdout=subprocess.PIPE)
        try:
            for _ in range(600):
                found = dict(entry.split("=", 1) for entry in pathlib.Path(f"/proc/{process.pid}/environ").read_text().split("\0") if "=" in entry)
                name = pathlib.Path(f"/proc/{process.pid}/comm").read_text().strip()
                if name == "cosmo-train" and set(given or ["GOMP_SPINCOUNT"]) <= found.keys():  # empty while exec runs
                    break
                time.sleep(0.1)
            return name, {key: found[key] for key in self.VARIABLES if key in found}
        finally:
            process.kill()
            process.communicate()

    def test_they_spin_for_a_bounded_time(self):
        name, found = self.variables()
        self.assertEqual((name, found.keys()), ("cosmo-train", {"GOMP_SPINCOUNT", "KMP_BLOCKTIME"}))
        self.assertTrue(100 < int(found["GOMP_SPINCOUNT"]) < 100_000, found)

    def test_what_the_user_sets_stays(self):
        for given in ({"OMP_WAIT_POLICY": "active"}, {"GOMP_SPINCOUNT": "7"}, {"KMP_BLOCKTIME": "3"}):
            self.assertEqual(self.variables(**given), ("cosmo-train", given))


class PapersNetwork(unittest.TestCase):
    SERIAL = True  # times are compared

    def test_the_papers_network(self):
        found = succeed("cosmo-train", "--benchmark", 0, "--network", "cosmoflow", "--size", 128)
        self.assertLessEqual(FIELDS, found.keys())
        self.assertEqual(found["steps"], 7)
        self.assertEqual((found["weights"], found["parameters"]), (7038128, 7041443))
        self.assertEqual((round(found["useful_gflop"], 2), round(found["paper_gflop"], 2)), (62.17, 69.33))
        self.assertGreater(found["step_ms"], 0)
        self.assertAlmostEqual(found["useful_gflops"], found["useful_gflop"] / found["step_ms"] * 1e3, places=6)
        self.assertAlmostEqual(found["fraction_of_peak"], found["useful_gflops"] / found["peak_gflops"], places=9)
        self.assertAlmostEqual(found["forward_gflops"] * found["forward_ms"] / 1e3, 21.2987, places=3)
        self.assertLess(found["forward_ms"], found["step_ms"])
        self.assertGreater(found["peak_rss_bytes"], 4 * found["parameters"])

        self.check_tables(found)

    def check_tables(self, found):
        """The layers of Table I are sums of operations, their rates those of the paper's network, and the parts of
        Fig. 3 make up a step."""
        layers = {layer["layer"]: layer for layer in found["layers"]}
        self.assertEqual(list(layers), [f"conv{i}" for i in range(1, 8)] + [f"dense{i}" for i in range(1, 4)])
        for name, layer in layers.items():
            phases = {"forward", "weight gradient"} | ({"input gradient"} if name != "conv1" else set())
            self.assertEqual(layer["ms"].keys(), phases)
            for phase in phases:
                self.assertAlmostEqual(layer["ms"][phase], sum(
                    operation["ms"] for operation in found["operations"]
                    if (operation["layer"], operation["phase"]) == (name, phase)
                    and operation["work"] in ("convolution", "dense")), places=9)
        self.assertAlmostEqual(layers["conv2"]["gflops"]["forward"] * layers["conv2"]["ms"]["forward"], 14155.776, places=3)
        parts = found["breakdown_ms"]
        self.assertEqual(parts.keys(), PARTS)
        self.assertGreater(parts["convolution"], 0.5 * sum(parts.values()))
        self.assertLess(parts["communication"] + parts["waiting"], 0.01 * sum(parts.values()))
        self.assertTrue(0.4 < sum(parts.values()) / found["step_ms"] < 2.5, found)


class Benchmark(unittest.TestCase):
    LABELS = ("slow",)

    def test_channels(self):
        """The channels of mlperf are its default."""
        for words in ([], ["--channels", 4]):
            found = succeed("cosmo-train", "--benchmark", "--network", "mlperf", "--size", 128, *words, "--dry-run")
            self.assertEqual(found["parameters"], 8907556)

    def test_memory_is_predicted_and_what_is_not_filtered_is_named(self):
        words = ["--benchmark", 0, "--network", "cosmonet64", "--micro-batch", 4, "--convolution", "filtered"]
        predicted = succeed("cosmo-train", *words, "--dry-run")["memory_bytes_per_rank"]
        done = run("cosmo-train", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertLess(abs(found["peak_rss_bytes"] / predicted - 1), 0.1)
        self.assertEqual(list(found["filtered"]), [f"conv{i}" for i in range(2, 6)])
        self.assertIn("--convolution filtered leaves these as they are: conv1 reads the network's input.", done.stderr)

    def test_options_of_a_training_are_refused(self):
        """They are refused on the command line and in a file; so are the benchmark's options without --benchmark."""
        words = ["--benchmark", "--network", "cosmoflow32", "--size", 32, "--dry-run"]
        with tempfile.TemporaryDirectory() as directory:
            config = pathlib.Path(directory) / "train.ini"
            config.write_text("epochs = 3\n")
            for more, option in ((["--data", "data"], "--data"), (["--epochs", 3], "--epochs"), (["--resume"], "--resume"),
                                 (["--reduction-precision", "f32"], "--reduction-precision"),
                                 (["--config", config], "--epochs")):
                done = run("cosmo-train", *words, *more)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{option} does not concern --benchmark", error_line(done, "cosmo-train"))
            config.write_text("size = 32\nnetwork = cosmoflow32\nthreads = 1\n")
            succeed("cosmo-train", "--benchmark", "--dry-run", "--config", config)
            done = run("cosmo-train", "--data", directory, "--output", directory, "--config", config, ranks=2)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--size applies only with --benchmark", error_line(done, "cosmo-train"))

    def test_memory(self):
        """What does not fit is refused before it is allocated, the same on two ranks."""
        for ranks in (1, 2):
            done = run("cosmo-train", "--benchmark", "--network", "cosmoflow", "--micro-batch", 60000, ranks=ranks)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("more memory on a node", done.stderr)

    def test_text(self):
        """What runs each layer on standard error, the tables on standard output; slow code gets a warning."""
        done = run("cosmo-train", "--benchmark", 0, "--network", "cosmoflow32", "--size", 32, "--threads", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^  conv2 +jit:\S+ +jit:\S+ +reorder ")
        # With AVX2, oneDNN has no better code for the input's gradient of a convolution with a stride.
        slow = re.findall(r"(?m)^warning: .*", done.stderr)
        known = "warning: oneDNN has only slow code here for conv2 (input gradient, x64:gemm:jit)."
        self.assertEqual(slow, [] if has_avx512() else [known])
        self.assertRegex(done.stdout, r"(?m)^  conv1( +[0-9.]+){6}$")
        self.assertRegex(done.stdout, r"(?m)^  conv2( +[0-9.]+){9}$")
        self.assertRegex(done.stdout, r"(?m)^  total( +[0-9.]+){9}$")
        self.assertRegex(done.stdout, r"(?m)^  other compute +[0-9.]+ ms +[0-9.]+ %$")

    def test_two_ranks(self):
        found = succeed("cosmo-train", "--benchmark", 0, "--network", "cosmoflow32", "--size", 32, "--micro-batch", 4,
                        "--threads", 1, ranks=2)
        self.assertEqual((found["ranks"], found["batch"], found["ranks_per_sample"]), (2, 4, 1))

    def test_seconds(self):
        """Steps of a few milliseconds are timed for that long; the fewest are those of PapersNetwork."""
        words = ["--network", "cosmoflow32", "--size", 32, "--threads", 1, "--benchmark"]
        found = succeed("cosmo-train", *words, 1)
        self.assertGreater(found["steps"], 7)
        done = run("cosmo-train", *words, -1)
        self.assertEqual(done.returncode, 3)
        self.assertIn("Option --benchmark is negative", error_line(done, "cosmo-train"))

    def test_samples_in_slabs(self):
        """Two ranks share each sample; all rates are those of one group, a layer's those of one rank's share."""
        def conv2(found):
            return next(layer for layer in found["layers"] if layer["layer"] == "conv2")

        def flop(layer):
            return layer["gflops"]["forward"] * layer["ms"]["forward"]

        words = ["--benchmark", 0.5, "--network", "cosmoflow64", "--threads", 1]
        whole = conv2(succeed("cosmo-train", *words))
        words += ["--ranks-per-sample", 2]
        for more in ([], ["--deterministic", "any"]):
            predicted = succeed("cosmo-train", *words, *more, "--dry-run", ranks=2)["memory_bytes_per_rank"]
            found = succeed("cosmo-train", *words, *more, ranks=2)
            self.assertEqual((found["ranks"], found["ranks_per_sample"], found["slabs"]), (2, 2, 2))
            self.assertAlmostEqual(found["useful_gflops"], found["useful_gflop"] / found["step_ms"] * 1e3, places=6)
            self.assertAlmostEqual(2 * flop(conv2(found)) / flop(whole), 1, places=6)
            self.assertLess(abs(found["peak_rss_bytes"] / predicted - 1), 0.15)
            exchanging = sum(operation["ms"] for operation in found["operations"] if operation["work"] == "exchange")
            self.assertTrue(0 < exchanging < 1.5 * found["breakdown_ms"]["communication"], exchanging)  # sums of medians

    def test_one_sample_at_a_time(self):
        done = run("cosmo-train", "--benchmark", "--network", "cosmoflow32", "--micro-batch", 2, "--deterministic", "any", "--dry-run")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("--deterministic any computes one sample at a time, not 2", error_line(done, "cosmo-train"))


def has_cuda():
    return subprocess.run(["/usr/bin/python3", "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"], capture_output=True).returncode == 0


@unittest.skipUnless(has_torch(), "needs python3-torch")
class PyTorch(unittest.TestCase):
    LABELS = ("slow",)

    def compare(self, *words, code=0):
        done = subprocess.run(["/usr/bin/python3", BENCH / "compare_pytorch.py", *words, "--rounds", "1", "--steps", "1", "--seconds", "0", "--threads", "1",
                               "--cosmo-train", BIN / "cosmo-train"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    @unittest.skipIf(has_cuda(), "PyTorch has a GPU")
    def test_without_a_gpu(self):
        done = self.compare("--network", "mlperf", "--size", "32", "--device", "cuda", code=1)
        self.assertEqual(len(re.findall(r"not possible: .*CUDA", done.stderr)), 2, done.stderr)  # both layouts that a GPU has

    def test_the_network_of_fields(self):
        done = self.compare("--network", "reconet", "--size", "16", "--layouts", "default", "channels_last_3d")
        self.assertRegex(done.stdout, r"(?m)^  ratio to PyTorch's best \(\w+\): [0-9.]+$")

    def test_comparison_with_pytorch(self):
        done = self.compare("--network", "mlperf", "--size", "32", "--batch", "2")
        self.assertRegex(done.stdout, r"(?m)^PyTorch \d\S* with \S*")
        self.assertRegex(done.stdout, r"(?m)^  cosmo-train +[0-9.]+ ms +[0-9.]+ Gflop/s +\d+ % of the measured peak$")
        self.assertRegex(done.stdout, r"(?m)^  ratio to PyTorch's best \(\w+\): [0-9.]+$")
        for layer in [f"conv{i}" for i in range(1, 6)] + [f"dense{i}" for i in range(1, 4)]:
            self.assertRegex(done.stdout, rf"(?m)^  {layer}( +[0-9.]+){{4}}$")


if __name__ == "__main__":
    unittest.main()
