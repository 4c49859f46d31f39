#!/usr/bin/env python3
"""Fails where CONTRIBUTING's table "to add / touch" is not true: what is there already of each kind stands in the files that the table names, and in no other."""

import pathlib
import re
import sys

from layering import MOST_FILES

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("core", "sim", "histogram", "dataset", "nn", "train", "infer")

# For each row, by its first words: an example's name as a pattern, and files that contain the name for another reason than that it can be
# chosen there: a default, a formula that is used elsewhere, prose.
ROWS = {
    "a network": (r"\bcosmoflow64\b", ()),
    "a kind of layer": (r'"resample"|\bResample&|struct Resample', ()),
    "a loss of labels": (r"LabelError::squared|absolute, squared", ("nn/output/density.cpp",)),
    "a kind of output": (r"\bDensity\b", ("train/evaluate/",)),
    "an option of trainings": (r"\bclip-norm\b", ()),
    "an optimizer": (r"\bsgd\b|\bSgd\b", ()),
    "a cosmological parameter": (r'"w0"', ("histogram/snapshot/snapshot_counts.cpp",)),
    "a transfer function": (r"no_wiggle|no-wiggle", ("sim/linear/spectrum_check.cpp",)),
    "a force kernel": (r'"two-point"', ()),
    "an integrator": (r"\bBullFrogStepper\b", ()),
    "an option of cosmo-sim": (r'"fixed-amplitude', ()),
    "a product": (r"\bCountsMaker\b", ()),
    "a voxel transform": (r'"standard"', ("train/plan/recipe.cpp", "infer/field/field_split.cpp")),
    "an export format": (r"cosmoflow_file|encode_as_cosmoflow", ()),
    "a version of the shard format": (r"\bkShardSchemaVersion\b", ()),
    "another FFT library": (r"fftw3?_|fftwf_", ()),
    "another deep-learning backend": (r"\bdnnl(::|_)", ()),
    "a stage": (r"public core::Stage", tuple(f"{room}/tool/" for room in ROOMS)),
}


def rows():
    """{first words: paths} of the table."""
    table = {}
    for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 5 or cells[1] in ("", "to add", "---"):
            continue
        paths = re.findall(r"`([^`]+)`", cells[2])
        tests = re.findall(r"`(tests/[^`]+)`", cells[3])
        table[next((key for key in ROWS if cells[1].startswith(key)), cells[1])] = paths, tests
    return table


def named(paths):
    """What the paths of a row stand for: files, files of any name (NAME.cpp), folders, and files beside the last one."""
    places, folder = [], ""
    for path in paths:
        if path.startswith("."):  # an ending of the path before
            places.append(places[-1].rpartition(".")[0] + path)
            continue
        if "/" in path:
            folder = path.rpartition("/")[0]
        elif re.fullmatch(r"\w+\.[ch]pp", path):
            path = f"{folder}/{path}"
        else:
            continue  # the name of something in a file
        places.append(path)
    return places


def is_named(source, places):
    for place in places:
        folder, _, name = place.rpartition("/")
        beside = name and "." in name and source.rpartition("/")[0] == folder
        if source == place or (not name and source.startswith(place)) or ("." not in name and source.startswith(place)):
            return True
        if beside and ("NAME" in name or source.rpartition(".")[0] == place.rpartition(".")[0]):
            return True
    return False


def main():
    faults, table = [], rows()
    for key in ROWS:
        if key not in table:
            faults.append(f"CONTRIBUTING.md has no row for {key}")
    for key, (paths, tests) in table.items():
        if key not in ROWS:
            faults.append(f"no check of CONTRIBUTING.md's row for {key}")
            continue
        pattern, elsewhere = ROWS[key]
        places = named(paths)
        for place in places + tests:
            if "NAME" not in place and not (ROOT / place).exists():
                faults.append(f"{key}: {place} is not there")
            if place.endswith("/") and len(list((ROOT / place).glob("*.[ch]pp"))) >= MOST_FILES:
                faults.append(f"{key}: {place} has room for no other file: make a folder for some of them")
        found = [path.relative_to(ROOT).as_posix() for room in ROOMS for path in sorted((ROOT / room).glob("**/*.[ch]pp"))
                 if re.search(pattern, re.sub(r"//.*", "", path.read_text()))]
        if not found:
            faults.append(f"{key}: nothing is called {pattern}")
        for source in found:
            if not is_named(source, places) and not source.startswith(elsewhere):
                faults.append(f"{key}: {source} contains {pattern}, and the table does not name it")
    # The rule itself must bite.
    assert not is_named("sim/tool/suite_plan.cpp", named(["sim/gravity/force_kernel.cpp"])) and is_named("nn/zoo/x.cpp", ["nn/zoo/NAME.cpp"])
    print("\n".join(faults) or f"{len(table)} rows are true")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
