"""What the tests of pipelines/slurm and of the Snakefile share: small settings, and what an unbroken chain makes of them."""

import json
import re
import subprocess

from toolkit import BIN, ENVIRONMENT, ROOT, contents, run

PIPELINES = ROOT / "pipelines"
STAGES = ("sim", "data", "model", "predictions")


def write_settings(path, **values):
    """The settings file of the repository with other values, which are given again below it: the last one counts."""
    text = (PIPELINES / "slurm/settings.env").read_text()
    for name in values:
        assert re.search(rf"(?m)(^|\s){name}=", text), f"settings.env has no {name}: name another value here"
    path.write_text(text + "".join(f'\n{name}="{value}"' for name, value in values.items()) + "\n")


def small(output, **values):
    """Values for a chain of seconds in the directory `output`, and others."""
    jobs = {f"{stage}_{name}": value for stage in ("sim", "shard", "train", "infer")
            for name, value in (("nodes", 1), ("ranks", 1), ("minutes", 10))}
    return {"cosmo": ROOT, "bin": BIN, "output": output, "stage": "", "simulations": 13, "slices": 3, "cores": 1, "slurm": "",
            "sim": "--omega-m 0.25:0.35 --sigma8 0.78:0.95 --box 128 --particles 32 --grid 32 --steps 3",
            "prep": "--subvolumes 1 --validation 2 --test 2 --samples-per-shard 4",
            "train": "--network cosmonet32 --epochs 2 --global-batch 4", **jobs, **values}


def run_unbroken(output, values):
    """Runs the chain of these values without jobs, on the same number of ranks and threads."""
    for tool, ranks, words in (
            ("cosmo-sim", 1, f"generate --simulations {values['simulations']} {values['sim']} --output sim"),
            ("cosmo-prep", 1, f"shard {values['prep']} --input sim --output data"),
            ("cosmo-train", int(values["train_nodes"]) * int(values["train_ranks"]), f"{values['train']} --data data --output model"),
            ("cosmo-infer", 1, "--model model --data data --output predictions")):
        output.mkdir(exist_ok=True)
        done = run(tool, *words.split(), "--threads", 1, ranks=ranks, cwd=output)
        assert done.returncode == 0, done.stderr


def products(output):
    """sha256 of every file of a chain that must not depend on when and where it ran, and the ids of its stages."""
    found = {f"{stage}/{name}": digest for stage in STAGES for name, digest in contents(output / stage).items()}
    assert not any(name.endswith(".part") for name in found), found
    # The report has a table of how long the stages took.
    report = (output / "predictions/report.html").read_text()
    found["predictions/report.html"] = re.sub(r'<tr>.*data-column="time".*</tr>', "", report)
    manifest = json.loads((output / "predictions/manifest.json").read_text())
    manifest["files"] = [record for record in manifest["files"] if record["path"] != "report.html"]
    found["predictions/manifest.json"] = manifest
    ids = {stage: json.loads((output / stage / "manifest.json").read_text())["id"] for stage in STAGES}
    return found, ids


def submit(settings, *stages, environment=ENVIRONMENT):
    """Submits a chain, or some of its stages; returns the jobs' ids by their stages."""
    done = subprocess.run(["bash", PIPELINES / "slurm/submit.sh", settings, *stages], env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split() for line in done.stdout.splitlines())
