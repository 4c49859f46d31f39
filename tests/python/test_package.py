"""python/ as a package: that it installs, and what it states where PyTorch or pandas is missing."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from toolkit import ROOT

PYTHON = ROOT / "python"


def python(*words, **settings):
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=300, **settings)


class Package(unittest.TestCase):
    @unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))), "needs python3-pip and python3-wheel")
    def test_it_installs(self):
        with tempfile.TemporaryDirectory(prefix="cosmo-python-") as directory:
            source, target = pathlib.Path(directory) / "source", pathlib.Path(directory) / "target"
            shutil.copytree(PYTHON, source)
            done = python("-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation", "--target", target, source)
            self.assertEqual(done.returncode, 0, done.stderr)
            installed = {path.name for path in (target / "cosmo_data").glob("*.py")}
            self.assertEqual(installed, {path.name for path in (PYTHON / "cosmo_data").glob("*.py")})
            licence, = target.glob("cosmo_data-*.dist-info/**/LICENSE")
            self.assertEqual(licence.read_bytes(), (ROOT / "LICENSE").read_bytes())
            code = f"import sys; sys.path.insert(0, {str(target)!r}); import cosmo_data; print(cosmo_data.__file__)"
            done = python("-c", code, cwd=directory)
            self.assertEqual(done.stdout.strip(), str(target / "cosmo_data/__init__.py"), done.stderr)

    def test_what_is_optional(self):
        for module, missing, package in (("frames", "pandas", "python3-pandas"), ("torch_dataset", "torch", "python3-torch")):
            code = f"import sys; sys.path.insert(0, {str(PYTHON)!r}); sys.modules[{missing!r}] = None; import cosmo_data.{module}"
            done = python("-c", code)
            self.assertEqual(done.returncode, 1)
            last = done.stderr.strip().splitlines()[-1]
            self.assertRegex(last, f"^ImportError: cosmo_data.{module} needs .*: install Debian's {package}, or {missing} from PyPI.$")
            self.assertEqual(done.stderr.count("Traceback"), 1)


if __name__ == "__main__":
    unittest.main()
