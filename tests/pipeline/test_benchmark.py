"""The benchmark's contract: the paper's counts of the paper's network, and every field of the summary."""

import unittest

from toolkit import succeed

FIELDS = {"parameters", "weights", "useful_gflop", "paper_gflop", "step_ms", "useful_gflops", "peak_gflops",
          "fraction_of_peak", "peak_rss_bytes"}


class Benchmark(unittest.TestCase):
    def test_the_papers_network(self):
        found = succeed("cosmo-train", "--benchmark", "--network", "cosmoflow", "--size", 128)
        self.assertLessEqual(FIELDS, found.keys())
        self.assertEqual((found["weights"], found["parameters"]), (7038128, 7041443))
        self.assertEqual((round(found["useful_gflop"], 2), round(found["paper_gflop"], 2)), (62.17, 69.33))
        self.assertGreater(found["step_ms"], 0)
        self.assertAlmostEqual(found["useful_gflops"], found["useful_gflop"] / found["step_ms"] * 1e3, places=6)
        self.assertAlmostEqual(found["fraction_of_peak"], found["useful_gflops"] / found["peak_gflops"], places=9)
        self.assertGreater(found["peak_rss_bytes"], 4 * found["parameters"])

    def test_channels(self):
        found = succeed("cosmo-train", "--benchmark", "--network", "mlperf", "--size", 128, "--channels", 4, "--dry-run")
        self.assertEqual(found["parameters"], 8907556 - 65)  # of the fourth output

    def test_two_ranks(self):
        found = succeed("cosmo-train", "--benchmark", "--network", "cosmoflow32", "--size", 32, "--micro-batch", 4,
                        ranks=2)
        self.assertEqual((found["ranks"], found["batch"]), (2, 4))


if __name__ == "__main__":
    unittest.main()
