"""What a training reports: MLPerf's log, its speed, a live line, and a figure of its losses."""

import json
import os
import pty
import subprocess
import unittest
import xml.etree.ElementTree

from toolkit import ENVIRONMENT, PipelineTest, command, contents, cosmo_train, error_line, run, succeed

EPOCHS = 3
ONCE = ["submission_benchmark", "submission_org", "submission_division", "submission_status", "submission_platform",
        "cache_clear", "init_start", "init_stop", "run_start", "run_stop", "seed", "global_batch_size", "train_samples",
        "eval_samples", "opt_name", "opt_base_learning_rate", "opt_learning_rate_warmup_epochs",
        "opt_learning_rate_warmup_factor", "opt_learning_rate_decay_boundary_epochs", "opt_learning_rate_decay_factor"]


def events(path):
    """The log's lines, parsed; fails unless each is a line of MLPerf's."""
    parsed = []
    for line in path.read_text().splitlines():
        token, text = line.split(" ", 1)
        assert token == ":::MLLOG", line
        parsed.append(json.loads(text))
        assert list(parsed[-1]) == ["namespace", "time_ms", "event_type", "key", "value", "metadata"], line
    return parsed


def check_nesting(case, found):
    """Every interval that starts stops, innermost first, under the same epoch; times never fall."""
    begun = []
    for event in found:
        if event["event_type"] == "INTERVAL_START":
            begun.append((event["key"].removesuffix("_start"), event["metadata"].get("epoch_num")))
        elif event["event_type"] == "INTERVAL_END":
            case.assertEqual((event["key"].removesuffix("_stop"), event["metadata"].get("epoch_num")), begun.pop())
        else:
            case.assertEqual(event["event_type"], "POINT_IN_TIME")
    case.assertEqual(begun, [])
    times = [event["time_ms"] for event in found]
    case.assertEqual(times, sorted(times))


class Telemetry(PipelineTest):
    def train(self, name, *words, **keywords):
        return cosmo_train(*self.train_words(), "--epochs", EPOCHS, "--threads", 1, "--output", self.root / name, *words, **keywords)

    def test_mlperf_log(self):
        for ranks, loss in ((1, "mae"), (2, "mse")):
            log = self.root / f"mllog{ranks}"
            self.train(f"logged{ranks}", "--mllog", log, "--stage", self.root / "stage", "--loss", loss,
                       "--optimizer", "sgd", "--warmup-epochs", 1, "--drops", "2:0.5", ranks=ranks)
            found = events(log)
            check_nesting(self, found)
            keys = [event["key"] for event in found]
            values = {event["key"]: event["value"] for event in found}
            for key in ONCE:
                self.assertEqual(keys.count(key), 1, key)
            self.assertEqual(keys[0], "init_start")
            self.assertEqual(keys[keys.index("init_stop") + 1:][:3], ["run_start", "staging_start", "staging_stop"])
            epoch = ["epoch_start", "eval_start", "eval_stop", "eval_error", "eval_accuracy", "epoch_stop"]
            self.assertEqual(keys[keys.index("staging_stop") + 1:], EPOCHS * epoch + ["run_stop"])
            self.assertEqual(found[-1]["metadata"], {"status": "success"})
            self.assertEqual([event["metadata"]["epoch_num"] for event in found if event["key"] == "epoch_start"],
                             [1, 2, 3])
            self.assertEqual((values["train_samples"], values["eval_samples"], values["global_batch_size"]), (48, 16, 8))
            self.assertEqual((values["opt_name"], values["opt_learning_rate_decay_boundary_epochs"]), ("sgd", [2]))
            self.assertEqual((values["opt_weight_decay"], values["opt_gradient_clip_norm"]), (0, 1))
            self.assertEqual((values["opt_learning_rate_decay_schedule"], values["opt_end_learning_rate"]),
                             ("cosine", values["opt_base_learning_rate"]))
            errors = [event["value"] for event in found if event["key"] == "eval_error"]
            losses = [float(line.split(",")[4])
                      for line in (self.root / f"logged{ranks}" / "history.csv").read_text().splitlines()[1:]]
            for error, loss_value in zip(errors, losses, strict=True):
                if loss == "mae":
                    self.assertAlmostEqual(error, loss_value, places=7)  # the loss compares with labels of float32
                else:  # the mean absolute error all the same
                    self.assertLess(error, loss_value ** 0.5)
                    self.assertGreater(error, loss_value)

    def test_mlperf_log_has_the_settings_of_adamw(self):
        log = self.root / "adamw.log"
        self.train("adamw", "--mllog", log, "--optimizer", "adamw:0.003")
        values = {event["key"]: event["value"] for event in events(log)}
        self.assertEqual((values["opt_name"], values["opt_weight_decay"], values["opt_end_learning_rate"]), ("adamw", 0.003, 1e-5))

    def test_mlperf_log_of_a_stopped_and_of_a_failed_training(self):
        log = self.root / "stopped.log"
        self.train("stopped", "--mllog", log, "--time-limit", 0)
        self.assertEqual((events(log)[-1]["key"], events(log)[-1]["metadata"]["status"]), ("run_stop", "aborted"))
        failed = run("cosmo-train", *self.train_words(), "--output", self.root / "failed", "--mllog", log,
                     "--learning-rate", 1e30)
        self.assertEqual(failed.returncode, 6, failed.stderr)
        self.assertEqual((events(log)[-1]["key"], events(log)[-1]["metadata"]["status"]), ("run_stop", "aborted"))

    def test_mlperf_log_that_cannot_be_written(self):
        for ranks in (1, 2):
            done = run("cosmo-train", *self.train_words(), "--output", self.root / "unlogged", "--mllog",
                       self.root / "nowhere" / "log", ranks=ranks)
            self.assertEqual(done.returncode, 4)
            self.assertIn("--mllog", error_line(done, "cosmo-train"))
            self.assertFalse((self.root / "unlogged").exists())
        for log in (self.root / "nowhere" / "log", self.root):
            done = run("cosmo-train", *self.train_words(), "--output", self.root / "unlogged", "--mllog", log, "--dry-run")
            self.assertEqual(done.returncode, 4)
            self.assertIn(f"{log} of --mllog cannot be written", error_line(done, "cosmo-train"))
        succeed("cosmo-train", *self.train_words(), "--output", self.root / "unlogged", "--mllog", self.root / "new.log",
                "--dry-run")
        self.assertFalse((self.root / "new.log").exists())
        os.mkfifo(self.root / "pipe")
        for dry in ([], ["--dry-run"]):
            done = run("cosmo-train", *self.train_words(), "--output", self.root / "unlogged", "--mllog", self.root / "pipe", *dry)
            self.assertEqual(done.returncode, 4)
            self.assertIn("of --mllog is a pipe", error_line(done, "cosmo-train"))
        full = run("cosmo-train", *self.train_words(), "--output", self.root / "unlogged", "--mllog", "/dev/full")
        self.assertEqual(full.returncode, 4)
        self.assertIn("disk full", error_line(full, "cosmo-train"))

    def test_mlperf_log_that_would_destroy_something(self):
        """Refused before anything is written; files are as before."""
        stage, notes, link = self.root / "stage-of-log", self.root / "notes", self.root / "link"
        notes.write_text("mine\n")
        link.symlink_to(self.data)
        before, output = contents(self.data), self.root / "spared"
        shard = next(self.data.rglob("*.h5"))
        inside = [(shard, "--data"), (self.data / "new.log", "--data"), (link / "new.log", "--data"),
                  (output, "--output"), (output / "new.log", "--output"), (stage / "a" / "b.log", "--stage")]
        for ranks in (1, 2):
            for log, option in [*inside, (notes, "not an MLPerf log")]:
                if ranks == 2 and log != shard:
                    continue
                done = run("cosmo-train", *self.train_words(), "--output", output, "--stage", stage, "--mllog", log,
                           ranks=ranks)
                self.assertEqual(done.returncode, 3, done.stderr)
                for part in (str(log), "--mllog", option, "choose"):
                    self.assertIn(part, error_line(done, "cosmo-train"))
        self.assertEqual(contents(self.data), before)
        self.assertEqual(notes.read_text(), "mine\n")
        self.assertFalse(output.exists() or stage.exists())

    def test_mlperf_log_in_place_of_an_earlier_or_an_empty_one(self):
        log = self.root / "again.log"
        log.write_text("")
        for name in ("again1", "again2"):
            self.train(name, "--mllog", log)
            self.assertEqual([event["key"] for event in events(log)].count("run_start"), 1)

    def test_speed(self):
        """The rates are consistent, and stand in run.json too."""
        for ranks in (1, 2):
            found = self.train(f"speed{ranks}", ranks=ranks)
            self.assertGreater(found["samples_per_second"], 0)
            self.assertEqual(found["samples_per_s"], found["samples_per_second"], "the key of earlier versions")
            self.assertAlmostEqual(found["useful_gflops"] / found["samples_per_second"], 34.278e-3, delta=1e-3)
            self.assertAlmostEqual(found["fraction_of_peak"], found["useful_gflops"] / found["peak_gflops"], places=9)
            facts = json.loads((self.root / f"speed{ranks}" / "run.json").read_text())
            self.assertGreater(facts["training"]["samples_per_second"], 0)

    def test_a_line_an_epoch_and_a_live_line_on_a_terminal(self):
        quiet = run("cosmo-train", *self.train_words(), "--epochs", EPOCHS, "--output", self.root / "lines")
        self.assertEqual(quiet.returncode, 0)
        self.assertEqual([line.split(":")[0] for line in quiet.stderr.splitlines() if line.startswith("epoch ")],
                         [f"epoch {epoch}" for epoch in range(1, EPOCHS + 1)])
        self.assertNotIn("\r", quiet.stderr)
        ours, theirs = pty.openpty()
        process = subprocess.Popen(command(1, "cosmo-train", *self.train_words(), "--epochs", EPOCHS, "--output",
                                           self.root / "live"), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the terminal's other end is closed
                break
            shown += chunk
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        live = rb"\r\x1b\[K\x1b\[\?7l144 / 144 samples, [0-9.]+ per second, in [^,]+, epoch 3, loss [0-9.]+, [0-9.e+]+ Gflop/s, \d+ % of the peak\x1b\[\?7h"
        self.assertRegex(shown, live)
        self.assertRegex(shown, rb"\r\x1b\[Kepoch 3: loss [0-9.]+, validation [0-9.]+, ")

    def test_figure(self):
        """Well-formed, recorded, with a point for each epoch of history.csv."""
        output = self.root / "figure"
        self.train("figure")
        files = [record["path"] for record in json.loads((output / "manifest.json").read_text())["files"]]
        self.assertIn("loss.svg", files)
        image = xml.etree.ElementTree.parse(output / "loss.svg").getroot()
        lines = [node.attrib["points"].split() for node in image.iter("{http://www.w3.org/2000/svg}polyline")]
        self.assertEqual([len(points) for points in lines], [EPOCHS, EPOCHS])
        for reference in ("href", "<script", "<style"):  # self-contained
            self.assertNotIn(reference, (output / "loss.svg").read_text())


if __name__ == "__main__":
    unittest.main()
