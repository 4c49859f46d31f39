"""Tables as other people have them: spectra, designs, suites, arrays of many universes."""

import csv
import json
import unittest

import h5py
import numpy as np

from eisenstein_hu import transfer, wavenumbers
from toolkit import DirectoryTest, error_line, run, succeed

GENERATE = ["cosmo-sim", "generate", "--particles", 8, "--grid", 8, "--box", 128, "--steps", 2]
H, N_S = 0.703, 0.9667


def warnings_of(done):
    return [line for line in done.stderr.splitlines() if line.startswith("warning: --transfer")]


class Spectra(DirectoryTest):
    def generate(self, text, *words):
        """The initial spectrum and the warnings."""
        path = self.root / "table.dat"
        path.write_text(text)
        output = self.root / "sim"
        done = run(*GENERATE, "--transfer", path, *words, "--output", output, "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader((output / "sim-00000/power_spectrum.csv").read_text().splitlines()))
        return np.array([float(row["p_input"]) for row in rows]), warnings_of(done)

    def rows(self, k_unit=1.0, p_unit=1.0, scale=2.688e6, n_s=N_S, line="{:.8e} {:.8e}\n".format, **universe):
        at = transfer(**universe)
        return "".join(line(k * k_unit, p_unit * scale * k**n_s * at(k)**2) for k in wavenumbers(rows=300))

    def test_numbers_as_they_are_written(self):
        right, warnings = self.generate(self.rows())
        self.assertEqual(warnings, [])
        for line in (lambda k, p: f"{k:.8e} {p:.8e}\n".replace("e", "D"), lambda k, p: f"{k:.8e},{p:.8e}\n", lambda k, p: f"  +{k:.8e}   +{p:.8e}\n",
                     lambda k, p: f"{k:.8e}, {p:.8e}\n"):
            found, warnings = self.generate(self.rows(line=line))
            np.testing.assert_allclose(found, right, rtol=1e-6)
            self.assertEqual(warnings, [])
        for title in ("k,P\n", "k  P(k)\n"):
            found, warnings = self.generate(title + self.rows())
            np.testing.assert_allclose(found, right, rtol=1e-6)
            self.assertEqual(warnings, [])

    def test_units_may_be_stated(self):
        right, _ = self.generate(self.rows())
        in_mpc = self.rows(k_unit=H, p_unit=H**-3)
        found, warnings = self.generate(in_mpc, "--transfer-units", "1/Mpc")
        np.testing.assert_allclose(found, right, rtol=1e-5)
        self.assertEqual(warnings, [])
        headed = "# k [1/Mpc]  P [Mpc^3]\n" + in_mpc
        found, _ = self.generate(headed, "--transfer-units", "1/Mpc")
        np.testing.assert_allclose(found, right, rtol=1e-5)
        for comment in ("# k [1/Mpc]  P [Mpc^3]\n", "# H0 = 67.4 km/s/Mpc\n"):  # what is stated is believed
            found, _ = self.generate(comment + self.rows(), "--transfer-units", "h/Mpc")
            np.testing.assert_allclose(found, right, rtol=1e-5)
        (self.root / "headed.dat").write_text(headed)
        done = run(*GENERATE, "--transfer", self.root / "headed.dat", "--output", self.root / "no")
        self.assertEqual(done.returncode, 5)
        self.assertIn("--transfer-units 1/Mpc", error_line(done, "cosmo-sim"))
        done = run(*GENERATE, "--transfer-units", "1/Mpc", "--output", self.root / "no")
        self.assertEqual(done.returncode, 3)

    def test_what_cannot_be_the_spectrum_is_warned_of(self):
        for rows, parts, words in ((self.rows(k_unit=H, p_unit=H**-3), ["sigma_8", "shape"], []), (self.rows(k_unit=H), ["shape"], []),
                                   (self.rows(omega_m=0.25), ["shape"], []), (self.rows(), ["shape"], ["--omega-m", 0.25]),
                                   (self.rows(n_s=1.3), ["shape"], []), (self.rows(scale=1.9e6), ["sigma_8"], [])):
            _, warnings = self.generate(rows, *words)
            found = [part for part in ("sigma_8", "shape") if any(part in line for line in warnings)]
            self.assertTrue(set(parts) <= set(found), (parts, warnings))

    def test_tables_of_the_stated_universe_are_silent(self):
        for rows, words in ((self.rows(), ["--w0", -0.8, "--wa", 0.2]), (self.rows(), ["--sigma8", 0.78]), (self.rows(omega_m=0.3), ["--omega-m", 0.3]),
                            (self.rows(n_s=0.95), ["--n-s", 0.95]), (self.rows(omega_b=0.05, h=0.67), ["--omega-b", 0.05, "--h", 0.67])):
            rows_of = rows
            _, warnings = self.generate(rows_of, *words)
            self.assertEqual([line for line in warnings if "shape" in line], [])


class Tables(DirectoryTest):
    def universes(self, text, *words):
        table = self.root / "design.txt"
        table.write_text(text)
        output = self.root / "designed"
        done = run(*GENERATE, "--design", table, *words, "--output", output, "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [universe["parameters"] for universe in json.loads((output / "manifest.json").read_text())["simulations"]]

    def test_designs_with_other_words_and_separators(self):
        values = [[0.21, 0.051, 0.71, 0.93, 0.81], [0.34, 0.043, 0.66, 1.01, 0.74]]
        names = ["omega_m", "omega_b", "h", "n_s", "sigma8"]
        for header, line in (("#Om Ob h ns s8", " "), ("# Om Ob h ns s8", "   "), ("Omega_m,Omega_b,h,n_s,sigma_8", ","), ("Om;Ob;h;ns;s8", ";"),
                             ("Om\tOb\th\tns\ts8", "\t"), ('"omega_m","omega_b","h","n_s","sigma8"', ",")):
            found = self.universes(header + "\n" + "".join(line.join(f"{value:+}" for value in row) + "\n" for row in values))
            for universe, row in zip(found, values):
                self.assertEqual([universe[name] for name in names], row)
        seeded = self.universes("omega_m,seed\n0.3,7.0\n0.25,8.0\n")
        self.assertEqual(len(seeded), 2)
        indexed = self.universes(",omega_m,sigma8\n0,0.3,0.8\n1,0.25,0.9\n")  # as pandas writes it
        self.assertEqual([universe["omega_m"] for universe in indexed], [0.3, 0.25])
        named = self.universes("#Name Omega_m sigma_8\nLH_0 0.3 0.8\nLH_1 0.25 0.9\n")  # as CAMELS does
        self.assertEqual([universe["sigma8"] for universe in named], [0.8, 0.9])

    def test_tables_without_names_or_with_others_are_refused(self):
        for text, part in (("0.3 0.8\n0.25 0.9\n", "begin the table with a line of 2 names"), ("omega_m,S8\n0.3,0.8\n", "S8"), ("omega_m,Om\n0.3,0.3\n", "twice"),
                           ("# made by me\n0.3 0.8\n", "begin the table with a line of 2 names"), ("omega_m,strange\n0.3,1\n", "strange"), ("Omega_cdm,omega_b\n0.26,0.05\n", "cold matter plus omega_b")):
            table = self.root / "bad.txt"
            table.write_text(text)
            done = run(*GENERATE, "--design", table, "--output", self.root / "no")
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-sim"))

    def test_many_universes_in_one_array(self):
        folder = self.root / "grids"
        folder.mkdir()
        grids = np.random.default_rng(3).lognormal(0, 1, (12, 8, 8, 8)).astype("f4")
        np.save(folder / "Grids_LH.npy", grids)
        rows = ",".join(["", "file", "record", "simulation", "omega_m"]) + "\n"
        rows += "".join(f"{i},Grids_LH.npy,{i},{i},{0.1 + 0.03 * i:.2f}\n" for i in range(12))
        (folder / "samples.csv").write_text(rows)
        words = ["cosmo-prep", "import", "--format", "npy", "--voxels", "field", "--box", 25, "--input", folder, "--samples", folder / "samples.csv",
                 "--parameters", "omega_m=0.1:0.5"]
        output = self.root / "imported"
        succeed(*words, "--output", output)
        seen = 0
        for shard in output.glob("*/*.h5"):
            with h5py.File(shard) as file:
                for simulation, voxels in zip(file["simulation"][...], file[next(name for name in ("x", "voxels", "fields", "counts") if name in file)][...]):
                    np.testing.assert_array_equal(voxels.reshape(8, 8, 8), grids[simulation])
                    seen += 1
        self.assertEqual(seen, 12)
        (folder / "samples.csv").write_text(rows.replace("Grids_LH.npy,11", "Grids_LH.npy,12"))
        done = run(*words, "--output", self.root / "no")
        self.assertEqual(done.returncode, 5)
        self.assertIn("no record 12, only 12", error_line(done, "cosmo-prep"))


if __name__ == "__main__":
    unittest.main()
