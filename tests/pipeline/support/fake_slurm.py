#!/usr/bin/python3
"""Slurm for tests: sbatch, srun, scontrol or squeue, by the name of the link that it is called by. Jobs run at once, in sbatch itself.

Its directory, $FAKE_SLURM, has calls.jsonl, one line per call, and may have failures.json, {tool: [exit codes of its next runs]},
of which null lets it run; and queue, the ids that squeue prints.
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

STATE = pathlib.Path(os.environ["FAKE_SLURM"])


def note(**call):
    with open(STATE / "calls.jsonl", "a") as file:
        print(json.dumps(call), file=file)


def calls():
    path = STATE / "calls.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def split(words):
    """({option: value}, the words from the first one that is not an option on)."""
    first = next((i for i, word in enumerate(words) if not word.startswith("--")), len(words))
    return {name: value for name, _, value in (word.partition("=") for word in words[:first])}, words[first:]


def sbatch(words):
    options, (script, *arguments) = split(words)
    lines = [line for line in pathlib.Path(script).read_text().splitlines() if line.startswith("#SBATCH ")]
    header = shlex.split(" ".join(line[len("#SBATCH "):].partition("#")[0] for line in lines))
    options = {**split(header)[0], **options}
    job = 100 + sum(call["program"] == "sbatch" for call in calls())
    note(program="sbatch", script=pathlib.Path(script).name, job=job, options=options)
    print(job)
    condition, _, before = options.get("--dependency", "").partition(":")
    assert condition in ("", "afterok"), condition
    if before and any(call["exit"] for call in calls() if call["program"] == "end" and call["job"] == int(before)):
        note(program="end", job=job, exit="cancelled")
        return 0
    spool = STATE / f"script-{job}"
    shutil.copy(script, spool)  # as Slurm does: a script cannot find its own directory
    first, _, last = options.get("--array", "").partition("-")
    for task in range(int(first), int(last) + 1) if first else [None]:
        while not run_job(job, task, spool, arguments, options):
            pass
    return 0


def run_job(job, task, script, arguments, options):
    """Lets a job, or one array task, run once; returns whether it is over, not requeued."""
    # The last task of an array has the array's own number.
    is_array = task is not None
    number = job if not is_array or options["--array"].endswith(f"-{task}") else 1000 + task
    name = f"{job}_{task}" if is_array else str(job)
    restarts = sum(call["program"] == "scontrol" and call["words"] == ["requeue", name] for call in calls())
    settings = {"SLURM_JOB_ID": number, "SLURM_NNODES": options["--nodes"], "SLURM_CPUS_PER_TASK": options["--cpus-per-task"]}
    if is_array:
        settings.update(SLURM_ARRAY_JOB_ID=job, SLURM_ARRAY_TASK_ID=task)
    if restarts:
        settings["SLURM_RESTART_COUNT"] = restarts
    log = options["--output"].replace("%j", str(number)).replace("%A", str(job)).replace("%a", str(task))
    before = len(calls())
    with open(log, "a" if options.get("--open-mode") == "append" else "w") as output:
        code = subprocess.run(["bash", script, *arguments], env={**os.environ, **{name: str(value) for name, value in settings.items()}},
                              stdout=output, stderr=subprocess.STDOUT).returncode
    if any(call["program"] == "scontrol" for call in calls()[before:]):
        return False
    note(program="end", job=job, task=task, exit=code)
    return True


def srun(words):
    options, command = split(words)
    tool = pathlib.Path(command[0]).name
    note(program="srun", job=os.environ["SLURM_JOB_ID"], options=options, tool=tool, words=command[1:])
    failures = json.loads((STATE / "failures.json").read_text()) if (STATE / "failures.json").exists() else {}
    if failures.get(tool):
        code = failures[tool].pop(0)
        (STATE / "failures.json").write_text(json.dumps(failures))
        if code is not None:
            return code
    return subprocess.run(command).returncode


def scontrol(words):
    note(program="scontrol", words=words)
    return 0


def squeue(words):
    note(program="squeue", options=split(words + ["-"])[0])
    print((STATE / "queue").read_text() if (STATE / "queue").exists() else "", end="")
    return 0


if __name__ == "__main__":
    sys.exit({"sbatch": sbatch, "srun": srun, "scontrol": scontrol, "squeue": squeue}[pathlib.Path(sys.argv[0]).name](sys.argv[1:]))
