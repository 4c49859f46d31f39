"""Lists the unittest classes of scripts for CMake, one a line: SCRIPT CLASS PROCESSORS LABEL,LABEL RUN_SERIAL.

A class that times or measures memory says SERIAL = True, and LABELS = ("slow",) if it takes long by design; PROCESSORS
is 1 unless it says otherwise: most wait for processes to start and for mpirun to end. Usage: list_classes.py SCRIPT...
"""

import ast
import sys


def settings(definition):
    """Names that a class assigns constants to."""
    return {statement.targets[0].id: ast.literal_eval(statement.value) for statement in definition.body
            if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") in
            ("SERIAL", "LABELS", "PROCESSORS")}


for script in sys.argv[1:]:
    with open(script) as file:
        tree = ast.parse(file.read())
    for definition in tree.body:
        if isinstance(definition, ast.ClassDef) and any(
                isinstance(member, ast.FunctionDef) and member.name.startswith("test_") for member in definition.body):
            told = settings(definition)
            print(script, definition.name, told.get("PROCESSORS", 1), ",".join(("pipeline", *told.get("LABELS", ()))),
                  "ON" if told.get("SERIAL") else "OFF")
