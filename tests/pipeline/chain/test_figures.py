"""The scripts of docs/figures at their smallest size: that they run, print their tables and draw."""

import importlib.util
import json
import pathlib
import re
import struct
import tempfile
import unittest
import zlib

from test_documented import SIZES
from toolkit import BIN, ROOT, PipelineTest, named_in_runs, run_script, succeed

FIGURES = ROOT / "docs/figures"


class FigureTest(unittest.TestCase):
    def script(self, name, *words):
        """What a script prints."""
        done = run_script(FIGURES / name, *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_picture(self, path, width):
        """A PNG file of `width` pixels per row, in which something is drawn."""
        content = path.read_bytes()
        self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n", path)
        self.assertEqual(struct.unpack(">I", content[16:20])[0], width, path)
        at, data = 8, b""
        while at < len(content):
            size, kind = struct.unpack(">I4s", content[at:at + 8])
            data += content[at + 8:at + 8 + size] if kind == b"IDAT" else b""
            at += size + 12
        self.assertGreater(len(set(zlib.decompress(data))), 50, path)

    def tables(self, text):
        """Markdown tables by the line above them, as lists of rows without the header."""
        found = re.findall(r"(?m)^(\S.*)\n\n((?:\|.*\n)+)", text)
        return {title: [row.strip("|").split("|") for row in rows.splitlines()[2:]] for title, rows in found}


class Convergence(FigureTest):
    LABELS = ("slow",)

    def test_convergence(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            words = ["--program", BIN / "cosmo-sim", "--cache", root / "cache", "--figures", root, "--particles", 32,
                     "--halofit-particles", 32, "--seeds", 1, "--halofit-seeds", 1, "--threads", 1]
            text = self.script("make_convergence_figures.py", *words)
            self.assert_picture(root / "convergence.png", 1350)
            tables = self.tables(text)
            self.assertEqual([len(rows) for rows in tables.values()], [6, 6, 7, 3, 8, 1, 4], text)
            for title, rows in tables.items():
                if not title.startswith("Against halofit"):  # whose boxes are too small here for k = 0.1
                    self.assertNotIn("nan", str(rows), title)


class Integrators(FigureTest):
    LABELS = ("slow",)

    def test_convergence(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            text = self.script("make_integrator_figure.py", "--program", BIN / "cosmo-sim", "--cache", root / "cache",
                               "--figures", root, "--particles", 32, "--seeds", 2, "--threads", 1)
            self.assert_picture(root / "integrators.png", 1350)
            tables = self.tables(text)
            self.assertEqual([len(rows) for rows in tables.values()], [5, 6, 6, 17], text)
            self.assertNotIn("nan", str(tables))


class Reference(FigureTest):
    LABELS = ("slow",)

    def test_tables(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            text = self.script("make_reference_tables.py", "--program", BIN / "cosmo-sim", "--cache", root, "--table",
                               root / "reference.csv", "--particles", 16, "--seeds", 1, "--boxes", "16", "--box-seeds", 2,
                               "--threads", 1)
            tables = self.tables(text)
            self.assertEqual([len(rows) for rows in tables.values()], [1, 18, 7, 5], text)
            lines = (root / "reference.csv").read_text().splitlines()
            kept = (ROOT / "tests/data/reference.csv").read_text().splitlines()
            self.assertEqual([line.split(",")[0] for line in lines], [line.split(",")[0] for line in kept])
            self.assertEqual(lines[0], kept[0])


class Descent(FigureTest):
    LABELS = ("slow",)

    def test_tables(self):
        with tempfile.TemporaryDirectory() as directory:
            text = self.script("fit_gradient_descent.py", "--program", BIN / "cosmo-sim", "--cache", directory, "--particles", 16,
                               "--seeds", 2, "--threads", 1)
            tables = self.tables(text)
            self.assertEqual([len(rows) for rows in tables.values()], [10, 10, 10, 10, 10], text)
            self.assertNotIn("nan", text)


class Cost(FigureTest):
    LABELS = ("slow",)

    def test_front(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            text = self.script("make_cost_figure.py", "--program", BIN / "cosmo-sim", "--cache", root, "--figures", root, "--particles", 16,
                               "--timed-particles", 16, "--seeds", 1, "--repeats", 1, "--threads", 1)
            self.assert_picture(root / "cost.png", 1170)
            tables = self.tables(text)
            self.assertEqual([len(rows) for rows in tables.values()], [31], text)
            self.assertNotIn("nan", text)


class Scaling(FigureTest):
    LABELS = ("slow",)

    def test_model(self):
        """What docs/figures/scaling.json holds can still be drawn."""
        with tempfile.TemporaryDirectory() as directory:
            text = self.script("make_scaling_figure.py", "--figures", directory)
            self.assert_picture(pathlib.Path(directory) / "scaling.png", 1100)
            self.assertIn("tau 3.47 ms from 1 and 128 nodes, 3.89 from all", text)
            self.assertEqual(self.rows(text), [4, 3, 8, 3])

    def test_measurement(self):
        with tempfile.TemporaryDirectory() as directory:
            text = self.script("make_scaling_figure.py", "--measure", BIN.parent, "--figures", directory, "--delay-steps", 2,
                               "--delay-rounds", 1, "--network", "cosmoflow32", "--data-steps", 1, "--data-rounds", 1)
            self.assert_picture(pathlib.Path(directory) / "scaling.png", 1100)
            self.assertEqual(self.rows(text), [4, 3, 8, 3])
            measured = json.loads((pathlib.Path(directory) / "scaling.json").read_text())
            self.assertEqual({name: len(rows) for name, rows in measured.items() if name != "cores"},
                             {"delayed": 12, "data": 3})

    def rows(self, text):
        """The number of rows of each table."""
        return [table.count("\n") - 2 for table in re.findall(r"(?:\|.*\n)+", text)]


class Quickstart(PipelineTest, FigureTest):
    def test_predictions(self):
        model = self.root / "model"
        succeed("cosmo-train", *self.train_words(), "--epochs", 1, "--output", model)
        succeed("cosmo-infer", "--model", model, "--data", self.data, "--output", self.root / "predictions")
        self.script("make_quickstart_figure.py", self.root, self.root / "figure.png")
        self.assert_picture(self.root / "figure.png", 1300)


@unittest.skipUnless(all(map(importlib.util.find_spec, ("pandas", "torch"))), "needs python3-pandas and python3-torch")
class PythonPage(FigureTest):
    LABELS = ("slow",)

    def test_cells(self):
        """The cells of docs/guides/python.md run on fewer and smaller universes, and print where they print in the page."""
        page = (FIGURES.parent / "guides/python.md").read_text()
        for size, smaller in SIZES + [("train_torch.py", "train_torch.py --epochs 1")]:
            page = re.sub(size, smaller, page)
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory) / "python.md"
            copy.write_text(page)
            self.script("run_python_page.py", BIN, "--page", copy)
            made = copy.read_text()
        output = re.compile(r"```text\n.*?```", re.DOTALL)
        self.assertEqual(output.sub("output", made), output.sub("output", page))
        for now, then in zip(output.findall(made), output.findall(page)):
            rows = [set(re.findall(r"(?m)^[a-z][a-z_]*(?: [a-z]+)*", text)) for text in (now, then)]
            self.assertLessEqual(*rows, "run docs/figures/run_python_page.py again")
        self.assertGreater(len(output.findall(made)), 12)


class Complete(unittest.TestCase):
    def test_all_are_run(self):
        """All scripts are run, and all pictures that the documents show are there."""
        scripts = {path.name for path in FIGURES.glob("*.py")}
        self.assertGreater(len(scripts), 2)
        for name in scripts:
            self.assertTrue(name in named_in_runs("chain/test_figures.py"), f"no test runs docs/figures/{name}: add one here")
        pages = [FIGURES.parents[1] / "README.md", *FIGURES.parent.rglob("*.md")]
        shown = {page.parent / name for page in pages for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())}
        self.assertEqual({path.resolve() for path in shown}, {*FIGURES.glob("*.png"), *FIGURES.glob("*.svg")})


if __name__ == "__main__":
    unittest.main()
