"""Lists the unittest classes of scripts for CMake, one per line: SCRIPT|CLASS|LABEL,LABEL|RUN_SERIAL.

A class that compares times sets SERIAL = True, and one that takes long, while shorter tests cover its subject,
LABELS = ("slow",). The scripts are read, not imported, since what they import may be missing where the tests are only
built; test_classes.py holds this list against unittest's own. Usage: list_classes.py SCRIPT...
"""

import ast
import sys


def settings(definition):
    """Names that a class assigns constants to."""
    return {statement.targets[0].id: ast.literal_eval(statement.value) for statement in definition.body
            if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") in ("SERIAL", "LABELS")}


def classes(script):
    """(name, labels, whether it runs alone) of each class of a script that defines tests."""
    with open(script) as file:
        tree = ast.parse(file.read())
    for definition in tree.body:
        if isinstance(definition, ast.ClassDef) and any(
                isinstance(member, ast.FunctionDef) and member.name.startswith("test_") for member in definition.body):
            told = settings(definition)
            yield definition.name, ("pipeline", *told.get("LABELS", ())), told.get("SERIAL", False)


if __name__ == "__main__":
    for script in sys.argv[1:]:
        found = list(classes(script))
        if not found:
            sys.exit(f"{script} has no class with tests")
        for name, labels, serial in found:
            print(script, name, ",".join(labels), "ON" if serial else "OFF", sep="|")
