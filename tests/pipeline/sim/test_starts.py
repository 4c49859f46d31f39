"""Universes from a third-order start, and with outputs sharpened by gradient descent: what the files hold, and what is refused."""

import json
import unittest

import h5py
import numpy as np

from toolkit import DirectoryTest, contents, error_line, run, succeed

USAGE, CONFIG = 2, 3
SIM = ["generate", "--box", 64, "--particles", 32, "--grid", 32, "--seed", 5]
FITTED = ["--lpt-order", 3, "--gradient-descent", "fitted"]


class Starts(DirectoryTest):
    def made(self, name, *words, ranks=1):
        """The counts at z = 0, and the configuration."""
        succeed("cosmo-sim", *SIM, *words, "--output", self.root / name, ranks=ranks)
        with h5py.File(self.root / name / "sim-00000/counts_z0.h5") as file:
            return file["counts"][...].astype(float), json.loads((self.root / name / "manifest.json").read_text())["config"]

    def test_both_are_part_of_the_request_and_the_same_from_any_ranks(self):
        plain, config = self.made("plain")
        third, third_config = self.made("third", "--lpt-order", 3)
        self.assertEqual(third_config, dict(config, lpt_order=3))
        sharp, sharp_config = self.made("sharp", *FITTED)
        self.assertEqual(sharp_config, dict(third_config, gradient_descent=[0.23, 2, 3, 0.5]))
        self.made("sharp from three", *FITTED, ranks=3)
        self.assertEqual(contents(self.root / "sharp from three"), contents(self.root / "sharp"))
        # A third-order start changes little, and descent makes haloes denser.
        self.assertEqual(third.sum(), plain.sum())
        self.assertTrue(0 < np.abs(third - plain).sum() < 0.3 * plain.sum())
        self.assertGreater((sharp**2).mean(), 1.05 * (third**2).mean())
        self.assertTrue(succeed("cosmo-sim", *SIM, "--lpt-order", 2, "--output", self.root / "plain")["up_to_date"])

    def test_alternating_nodes_have_a_fit_and_the_same_bytes_from_any_ranks(self):
        words = ["--force-kernel", "alternating", "--gradient-descent", "fitted"]
        _, config = self.made("alternating", *words)
        self.assertEqual((config["force_kernel"], config["gradient_descent"]), ("alternating", [0.088, 2, 3, 0.8]))
        self.made("from three", *words, ranks=3)
        self.assertEqual(contents(self.root / "from three"), contents(self.root / "alternating"))

    def test_a_fit_far_from_where_it_was_tested_warns(self):
        words = [*SIM, *FITTED, "--steps", 10]
        for more, warns in (([], False), (["--sigma8", 0.5], True), (["--sigma8", "0.7:0.9", "--simulations", 2], True), (["--f-nl", 100], True)):
            output = self.root / f"fit {len(more)} {more[-1:]}"
            done = run("cosmo-sim", *words, *more, "--output", output)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("fitted has been tested for omega_m" in done.stderr, warns, more)

    def test_an_output_before_the_last_does_not_change_it(self):
        words = ["--steps", 3, "--gradient-descent", "0.2,1,3"]
        alone, _ = self.made("alone", *words)
        both, _ = self.made("both", *words, "--redshifts", "0,1")
        np.testing.assert_array_equal(alone, both)

    def test_what_is_refused(self):
        (self.root / "ends.csv").write_text("h\n0.6\n0.9\n")
        for code, part, words in (
                (CONFIG, "--lpt-order", ["--lpt-order", 4]),
                (USAGE, "give fitted, or three numbers ALPHA,KL,KS", ["--gradient-descent", "0.2,1"]),
                (USAGE, "give fitted, or three numbers ALPHA,KL,KS", ["--gradient-descent", "Fitted"]),
                (CONFIG, "KL and KS between 0.001", ["--gradient-descent", "0.2,0,3"]),
                (CONFIG, "but not 0", ["--gradient-descent", "0,2,3"]),
                (CONFIG, "between -10 and 10", ["--gradient-descent", "1e30,2,3"]),
                (CONFIG, "no fit for --force-kernel two-point", [*FITTED, "--force-kernel", "two-point"]),
                (CONFIG, "--lpt-order 2, particles", ["--gradient-descent", "fitted"]),
                (CONFIG, "--redshifts 0", [*FITTED, "--redshifts", "0,1"]),
                (CONFIG, "only for deconvolved, 3, 2, 2 and 10; alternating, 2, 2, 2 and 10; four-point, 3, 2, 1 and 10; four-point, 3, 2, 1 and 12; four-point, 2, 2, 1 and 12", [*FITTED, "--steps", 11]),
                (CONFIG, "cells of 1.333 Mpc/h", [*FITTED, "--mesh", 48]),
                (CONFIG, "particles 3 Mpc/h apart", [*FITTED, "--box", "106.67Mpc", "--design", "ends.csv"])):
            with self.subTest(words):
                own = SIM if "--box" not in words else [SIM[0], *SIM[3:-2]]
                done = run("cosmo-sim", *own, *words, "--output", self.root / "never", cwd=self.root)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(part, error_line(done, "cosmo-sim"))


if __name__ == "__main__":
    unittest.main()
