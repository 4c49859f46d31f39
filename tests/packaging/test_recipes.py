"""Recipes, the citation and the changelog: that they can be read, state the same version, and name files that are there."""

import ast
import re
import subprocess
import tomllib
import unittest

import yaml

from toolkit import ROOT, printed

PACKAGING = ROOT / "packaging"
VERSION = re.search(r"project\(cosmo VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


class Versions(unittest.TestCase):
    def test_everywhere_the_same(self):
        spack = ast.parse((PACKAGING / "spack/cosmo/package.py").read_text())
        stated = {
            "cosmo-sim": printed("cosmo-sim", "--version").split()[1],
            "CITATION.cff": yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"],
            "CHANGELOG.md": re.search(r"(?m)^## (\S+?),", (ROOT / "CHANGELOG.md").read_text())[1],
            "python/pyproject.toml": tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]["version"],
            "packaging/conda/recipe.yaml": yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text())["context"]["version"],
            "packaging/spack/cosmo/package.py": next(node.args[0].value for node in ast.walk(spack) if isinstance(node, ast.Call)
                                                     and getattr(node.func, "id", "") == "version"),
        }
        self.assertEqual(stated, dict.fromkeys(stated, VERSION))

    def test_the_date_of_the_release(self):
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
        self.assertEqual(re.search(r"(?m)^## \S+, (\S+)", (ROOT / "CHANGELOG.md").read_text())[1], str(citation["date-released"]))


class Recipes(unittest.TestCase):
    def test_citation(self):
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
        self.assertLessEqual({"cff-version", "message", "title", "authors"}, citation.keys())
        self.assertEqual(citation["type"], "software")

    def test_spack(self):
        text = (PACKAGING / "spack/cosmo/package.py").read_text()
        compile(text, "package.py", "exec")
        package, = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
        self.assertEqual((package.name, package.bases[0].id), ("Cosmo", "CMakePackage"))
        self.check_dependencies({re.split(r"[@+ ]", node.args[0].value)[0] for node in ast.walk(package)
                                 if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "depends_on"})
        for option in re.findall(r'self\.define\("(\w+)"', text):
            self.assertTrue(option in (ROOT / "cmake/machine.cmake").read_text() + (ROOT / "CMakeLists.txt").read_text(), option)

    def test_conda(self):
        recipe = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text())
        self.assertLessEqual({"package", "source", "build", "requirements", "tests", "about"}, recipe.keys())
        self.check_dependencies({name.split()[0] for name in recipe["requirements"]["host"] + recipe["requirements"]["build"]})
        self.assertTrue((PACKAGING / "conda" / recipe["source"]["path"] / "CMakeLists.txt").is_file())

    def check_dependencies(self, names):
        """One for each library that cmake/dependencies.cmake looks for."""
        found = re.findall(r"(?m)^(?:find_package\((\w+)|pkg_\w+\((\w+)|find_path\((\w+)_INCLUDE)", (ROOT / "cmake/dependencies.cmake").read_text())
        wanted = {re.sub("[^a-z0-9]", "", "".join(group).lower()) for group in found} - {"openmp", "pkgconfig"}
        self.assertGreater(len(wanted), 10)
        aliases = {"libboostdevel": "boost", "eigen": "eigen3", "libpng": "png", "openmpi": "mpi", "isal": "isal", "zlibapi": "zlib"}
        given = {re.sub("[^a-z0-9]", "", name.lower()) for name in names}
        given = {aliases.get(name, name) for name in given}
        self.assertEqual(wanted - given, set())

    def test_images(self):
        """Their steps, but for what needs an engine: scripts parse, and files that they name are there."""
        steps = [line for line in (PACKAGING / "Containerfile").read_text().splitlines() if line and line[0] != "#"]
        for step in steps:
            self.assertIn(step.split()[0], ("FROM", "COPY", "RUN", "ENV", "CMD"))
            if step.startswith("RUN "):
                self.check_shell(step[4:])
        definition = (PACKAGING / "cosmo.def").read_text()
        self.assertTrue(re.search(r"(?m)^Bootstrap: docker\nFrom: debian:12$", definition))
        sections = re.split(r"(?m)^%(\w+)\n", definition)[1:]
        self.assertEqual(sections[::2], ["setup", "post", "runscript"])
        for section in sections[1::2]:
            self.check_shell(section)

    def check_shell(self, text):
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), text)
        for script in re.findall(r"/cosmo/(\S+\.sh)", text):
            self.assertTrue((ROOT / script).is_file(), script)

    def test_script(self):
        self.check_shell((PACKAGING / "deb.sh").read_text())


if __name__ == "__main__":
    unittest.main()
