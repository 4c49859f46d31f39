"""ctest runs every test: its entries, which list_classes.py reads off the scripts, are unittest's own."""

import importlib.util
import pathlib
import unittest

from list_classes import classes

TESTS = pathlib.Path(__file__).resolve().parents[2]


class Classes(unittest.TestCase):
    def test_the_list_is_that_of_unittest(self):
        scripts = sorted([*TESTS.glob("*/test_*.py"), *TESTS.glob("pipeline/*/test_*.py")])
        self.assertGreater(len(scripts), 25)
        for script in scripts:
            spec = importlib.util.spec_from_file_location(script.stem, script)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            expected = {(each.__name__, ("pipeline", *getattr(each, "LABELS", ())), getattr(each, "SERIAL", False))
                        for each in vars(module).values() if isinstance(each, type) and issubclass(each, unittest.TestCase)
                        and each.__module__ == script.stem and unittest.defaultTestLoader.getTestCaseNames(each)}
            self.assertEqual(set(classes(script)), expected, script)


if __name__ == "__main__":
    unittest.main()
