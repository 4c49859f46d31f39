"""Training is reproducible to the bit: twice, after any stop, and after being killed."""

import json
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

from toolkit import (BIN, ENVIRONMENT, STOPPED, PipelineTest, command, contents, cosmo_train, error_line, has_bf16, kill_after, record_again, run, run_with_faults,
                     sha256, succeed, times)

EPOCHS = 4


def store_again(path, storage):
    """Stores the counts of a shard in another form: keywords of h5py's create_dataset."""
    with h5py.File(path, "r+") as shard:
        counts = shard["x"][:]
        del shard["x"]
        x = shard.create_dataset("x", data=counts, **{"chunks": (1, *counts.shape[1:]), **storage})
        if x.chunks and x.shuffle and x.compression:  # one chunk without the second filter, one without both
            for row, skipped in enumerate((2, 3)):
                plain = counts[row].tobytes()
                shuffled = plain[::2] + plain[1::2]
                x.id.write_direct_chunk((row, 0, 0, 0), plain if skipped == 3 else shuffled, filter_mask=skipped)


class Trained(PipelineTest):
    def train(self, output, *words, ranks=1, epochs=EPOCHS, data=None):
        return cosmo_train(*self.words_with(data or self.data), "--epochs", epochs, "--decay-epochs", EPOCHS, "--threads", 1,
                     "--output", output, *words, ranks=ranks)

    @classmethod
    def words_with(cls, data):
        return ["--data", data, *cls.train_words()[2:]]

    @staticmethod
    def history(output):
        """history.csv as rows of numbers: epoch, step, learning rate, training loss, validation loss, …"""
        lines = (output / "history.csv").read_text().splitlines()
        assert lines[0].startswith("epoch,step,learning_rate,train_loss,validation_loss")
        return [[float(value) for value in line.split(",")] for line in lines[1:]]


class Repeats(Trained):
    """The same bits, from any stop."""

    LABELS = ("slow",)

    def test_a_network_that_is_printed_is_the_one_that_has_the_name(self):
        printed = run("cosmo-train", "--print-network", "cosmoflow32")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        (self.root / "network.json").write_text(printed.stdout)
        ids = [succeed("cosmo-train", "--data", self.data, "--network", name, "--output", self.root / "new", "--dry-run")["id"]
               for name in ("cosmoflow32", self.root / "network.json")]
        self.assertEqual(*ids)
        for words, sentence in ((["--print-network", "cosmo"], "use cosmonet32"), (["--print-network", "mlperf", "--epochs", 2], "--epochs")):
            refused = run("cosmo-train", *words)
            self.assertIn(refused.returncode, (2, 3))
            self.assertIn(sentence, error_line(refused, "cosmo-train"))

    def test_a_training_that_is_resumed_says_that_its_rate_stays(self):
        words = ["--data", self.data, "--network", "cosmoflow32", "--global-batch", 8, "--output", self.root / "stays"]
        for more, said in ((["--epochs", 1], False), (["--epochs", 2, "--resume"], True)):
            done = run("cosmo-train", *words, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("warning: The learning rate stays at 1e-05 after epoch 1, " in done.stderr, said, done.stderr)
            self.assertRegex(done.stdout, r"epochs, epoch \d chosen with validation loss [\d.]+( \(mean of the last 2: [\d.]+\))?, ")

    def test_the_same_layout_gives_the_same_bits(self):
        for ranks in (1, 2):
            first, second = self.root / f"first{ranks}", self.root / f"second{ranks}"
            self.train(first, ranks=ranks)
            self.train(second, ranks=ranks)
            self.assertEqual(contents(first), contents(second))

    def test_a_stop_after_any_epoch_changes_nothing(self):
        for ranks in (1, 2):
            whole = self.root / f"whole{ranks}"
            self.train(whole, ranks=ranks)
            for stop in range(1, EPOCHS):
                parts = self.root / f"parts{ranks}{stop}"
                self.train(parts, epochs=stop, ranks=ranks)
                self.train(parts, "--resume", ranks=ranks)
                self.assertEqual(contents(parts), contents(whole), f"{ranks} ranks, stopped after {stop}")

    def test_two_threads_give_the_same_bits_twice_and_after_a_stop(self):
        words = [*self.train_words(), "--decay-epochs", EPOCHS, "--threads", 2]
        outputs = [self.root / name for name in ("threads1", "threads2", "threads3")]
        for output in outputs[:2]:
            succeed("cosmo-train", *words, "--epochs", EPOCHS, "--output", output)
        succeed("cosmo-train", *words, "--epochs", 2, "--output", outputs[2])
        succeed("cosmo-train", *words, "--epochs", EPOCHS, "--output", outputs[2], "--resume")
        for output in outputs[1:]:
            self.assertEqual(contents(output), contents(outputs[0]))

    def test_filtered_convolutions_give_the_same_bits_twice_and_after_a_stop(self):
        words = ["--data", self.data, "--network", "cosmonet32", "--global-batch", 8, "--decay-epochs", EPOCHS]
        filtered = [*words, "--convolution", "filtered"]
        for ranks in (1, 2):
            outputs = [self.root / f"filtered{ranks}{i}" for i in range(3)]
            for output in outputs[:2]:
                cosmo_train(*filtered, "--epochs", EPOCHS, "--threads", 1, "--output", output, ranks=ranks)
            cosmo_train(*filtered, "--epochs", 2, "--threads", 1, "--output", outputs[2], ranks=ranks)
            cosmo_train(*filtered, "--epochs", EPOCHS, "--threads", 1, "--output", outputs[2], "--resume", ranks=ranks)
            for output in outputs[1:]:
                self.assertEqual(contents(output), contents(outputs[0]))
        direct = run("cosmo-train", *words, "--epochs", EPOCHS, "--output", outputs[0])  # another run's directory
        self.assertEqual(direct.returncode, 3)

    def test_a_resumed_training_filters_what_it_filtered_before(self):
        words = ["--data", self.data, "--network", "cosmonet32", "--global-batch", 8, "--decay-epochs", EPOCHS]

        def alter(output, stated, kept):
            """Lets the manifest state other phases, and its checkpoints hold others: None for none, as in files from before both."""
            path = output / "manifest.json"
            manifest = json.loads(path.read_text())
            del manifest["filtered"]
            path.write_text(json.dumps({**manifest, **({"filtered": stated} if stated else {})}))
            for file in output.glob("checkpoints/*.h5"):
                with h5py.File(file, "r+") as checkpoint:
                    del checkpoint.attrs["filtered"]
                    if kept is not None:
                        checkpoint.attrs["filtered"] = json.dumps(kept)
                record_again(output, file)

        trained = self.root / "trained"
        succeed("cosmo-train", *words, "--epochs", 1, "--output", trained)
        self.assertEqual(set(json.loads((trained / "manifest.json").read_text())["filtered"]["conv2"]),
                         {"forward", "weight gradient", "input gradient"})
        for number, (stated, kept, fault) in enumerate([
                ({"conv2": ["forward"]}, {"conv2": ["forward"]}, ""),
                ({}, {}, ""),
                ({"conv2": ["forward"]}, None, ""),
                ({}, None, ""),  # from before filtered convolutions
                ({"conv2": ["forward"]}, {"conv2": ["weight gradient"]}, "states phases to filter other than its checkpoint checkpoints/epoch-"),
                ({"conv2": ["forward"]}, {}, "states phases to filter other than"),
                ({}, {"conv2": ["forward"]}, "states phases to filter other than"),
                *(({layer: ["forward"]}, {layer: ["forward"]}, f"layer '{layer}', which {reason}")
                  for layer, reason in (("dense1", "is not a convolution"), ("conv1", "reads the network's input"), ("no", "is not a convolution"))),
        ]):
            output = self.root / f"kept{number}"
            shutil.copytree(trained, output)
            alter(output, stated, kept)
            if not fault:
                succeed("cosmo-train", *words, "--epochs", 2, "--output", output, "--resume")
                self.assertEqual(json.loads((output / "manifest.json").read_text()).get("filtered", {}), stated)
                continue
            done = run("cosmo-train", *words, "--epochs", 2, "--output", output, "--resume")
            self.assertEqual(done.returncode, 5)
            self.assertIn(fault, done.stderr)
            planned = succeed("cosmo-train", *words, "--epochs", 2, "--output", output, "--resume", "--dry-run")
            self.assertIn(fault, planned["refusals"][0])

    def test_ranks_with_different_kernels_are_refused(self):
        words = command(2, "cosmo-train", "--data", self.data, "--network", "cosmonet32", "--global-batch", 8, "--epochs", 1,
                        "--output", self.root / "mixed")
        at = words.index(str(BIN / "cosmo-train"))
        words[at:at] = ["sh", "-c", '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || export ONEDNN_MAX_CPU_ISA=SSE41; exec "$@"', "-"]
        done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 3, done.stderr)
        line = error_line(done, "cosmo-train")
        self.assertIn("Ranks 0 and 1 compute with different kernels (conv", line)
        self.assertIn("ONEDNN_MAX_CPU_ISA", line)

    @unittest.skipUnless(has_bf16(), "the CPU has no AVX512_BF16")
    def test_bf16_gives_the_same_bits_twice_and_after_a_stop_and_f32_weights(self):
        outputs = [self.root / name for name in ("bf16-1", "bf16-2", "bf16-3")]
        words = ("--precision", "bf16")
        exact = self.train(self.root / "f32")
        for output in outputs[:2]:
            summary = self.train(output, *words)
            self.assertNotEqual(summary["id"], exact["id"])
        self.train(outputs[2], *words, epochs=2)
        self.train(outputs[2], *words, "--resume")
        for output in outputs[1:]:
            self.assertEqual(contents(output), contents(outputs[0]))
        manifest = json.loads((outputs[0] / "manifest.json").read_text())
        self.assertEqual(manifest["precision"], "bf16")
        with h5py.File(outputs[0] / manifest["checkpoints"][-1]["path"]) as checkpoint:
            self.assertEqual(checkpoint["weights/conv2/weights"].dtype, "float32")
        succeed("cosmo-infer", "--model", outputs[0], "--data", self.data, "--split", "test", "--output",
                self.root / "predictions-bf16")

    def test_bf16_is_refused_where_the_cpu_has_nothing_for_it(self):
        for words in (["--benchmark", "--network", "cosmoflow32", "--size", 32],
                      [*self.train_words(), "--output", self.root / "refused"]):
            done = subprocess.run(command(1, "cosmo-train", *words, "--precision", "bf16"), text=True,
                                  env=dict(ENVIRONMENT, ONEDNN_MAX_CPU_ISA="AVX512_CORE"), capture_output=True)
            self.assertEqual(done.returncode, 3)
            self.assertIn("--precision bf16", error_line(done, "cosmo-train"))
            self.assertIn("choose f32", error_line(done, "cosmo-train"))
        self.assertFalse((self.root / "refused").exists())

    def test_a_finished_training_that_lost_a_file_is_whole_again_after_a_rerun(self):
        output = self.root / "lossy"
        self.train(output)
        before = contents(output)
        for victim in ("history.csv", "manifest.json"):
            (output / victim).unlink()
            if victim == "manifest.json":  # as if stopped before it was published
                self.assertEqual(run("cosmo-train", *self.train_words(), "--output", output).returncode, 3)
                continue
            self.train(output)
            self.assertEqual(contents(output), before)

    def test_resume_extends_a_finished_training(self):
        """Without --decay-epochs the decay stays as it was begun."""
        output = self.root / "extended"
        succeed("cosmo-train", *self.train_words(), "--epochs", 2, "--output", output)
        refused = run("cosmo-train", *self.train_words(), "--epochs", 3, "--output", output)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("--resume", refused.stderr)
        summary = succeed("cosmo-train", *self.train_words(), "--epochs", 3, "--output", output, "--resume")
        self.assertEqual(summary["epochs_done"], 3)
        self.assertAlmostEqual(self.history(output)[2][2], 1e-5, places=12)

    def test_the_time_limit_stops_after_a_step_and_the_rerun_continues(self):
        whole, parts = self.root / "unlimited", self.root / "limited"
        steps = self.train(whole, epochs=2)["steps_done"] // 2
        done = [(0, step) for step in range(1, steps + 1)] + [(1, step) for step in range(steps, 2 * steps + 1)] + [
            (2, 2 * steps)]
        for epochs_and_steps in done:
            summary = self.train(parts, "--time-limit", 0, epochs=2)
            self.assertEqual((summary["epochs_done"], summary["steps_done"]), epochs_and_steps)
            self.assertEqual(summary["complete"], epochs_and_steps == done[-1])
        self.assertEqual(contents(parts), contents(whole))

    def test_a_kill_at_any_time_changes_nothing(self):
        whole = self.root / "unbroken"
        self.train(whole)
        words = [*self.train_words(), "--epochs", EPOCHS, "--decay-epochs", EPOCHS, "--threads", 1]
        for kill, delay in enumerate((None, 0, 0.02, 0.05, 0.1)):  # None: before the first checkpoint; else seconds after it
            parts = self.root / f"killed{kill}"
            if delay is None:
                self.assertTrue(kill_after(0.1, "cosmo-train", *words, "--output", parts))
            else:
                with subprocess.Popen(command(1, "cosmo-train", *words, "--output", parts), env=ENVIRONMENT,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                    while process.poll() is None and not list(parts.glob("checkpoints/*.h5")):
                        time.sleep(0.005)
                    time.sleep(delay)
                    process.kill()
                self.assertTrue(process.returncode == -signal.SIGKILL or delay > 0)
            self.train(parts)
            self.assertEqual(contents(parts), contents(whole))

    def test_resume_needs_something_to_resume(self):
        """It is checked before shards are staged."""
        stage = self.root / "stage-of-nothing"
        for ranks in (1, 2):
            done = run("cosmo-train", *self.train_words(), "--output", self.root / "nothing", "--resume", "--stage", stage,
                       ranks=ranks)
            self.assertEqual(done.returncode, 3)
            self.assertIn("--resume", error_line(done, "cosmo-train"))
            self.assertFalse(stage.exists())

    def test_a_full_disk_is_one_sentence_and_leaves_no_part(self):
        """This holds for every checkpoint; the same command goes on from the one before."""
        whole, output = self.root / "roomy", self.root / "full"
        self.train(whole)
        size = next((whole / "checkpoints").iterdir()).stat().st_size
        for room, epoch in ((0, 1), (size // 2, 1), (3 * size // 2, 2)):
            done = run_with_faults({"DISK_BYTES": room}, "cosmo-train", *self.train_words(), "--epochs", EPOCHS,
                                   "--decay-epochs", EPOCHS, "--threads", 1, "--output", output)
            self.assertEqual(done.returncode, 4, done.stderr)
            line = error_line(done, "cosmo-train")
            self.assertRegex(line, rf"{output}/(baselines|checkpoints/epoch-{epoch:06}).h5 cannot be written: free space")
            self.assertEqual(list(output.rglob("*.part*")), [])
        self.train(output)
        self.assertEqual(contents(output), contents(whole))


class Failed(Trained):
    """What did not learn is named."""

    def test_a_parameter_that_is_not_learned_is_named_last(self):
        model = self.root / "untaught"
        words = ("cosmo-train", *self.train_words(), "--learning-rate", 1e-9, "--epochs", 1, "--output", model)
        done = run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        manifest = json.loads((model / "manifest.json").read_text())
        data = json.loads((self.data / "manifest.json").read_text())
        universes = json.loads((self.sim / "manifest.json").read_text())["simulations"]
        labels = [universes[u]["parameters"] for u in data["splits"]["train"]["simulations"]]
        held_out = [universes[u]["parameters"] for u in data["splits"]["validation"]["simulations"]]
        spread = manifest["labels"]
        self.assertEqual(sorted(spread), ["mean", "standard_deviation", "validation_rms"])
        for p, name in enumerate(data["parameters"]["names"]):
            self.assertAlmostEqual(spread["mean"][p], np.mean([label[name] for label in labels]), delta=1e-6)
            self.assertAlmostEqual(spread["standard_deviation"][p], np.std([label[name] for label in labels]), delta=1e-6)
            distance = np.array([label[name] for label in held_out]) - spread["mean"][p]
            self.assertAlmostEqual(spread["validation_rms"][p], np.sqrt(np.mean(distance ** 2)), delta=1e-6)
        below = [name for name, error, deviation in zip(manifest["parameters"]["names"], manifest["validation"]["rmse_per_universe"],
                                                        manifest["labels"]["validation_rms"]) if error >= deviation]
        self.assertTrue(below)
        self.assertEqual((manifest["below_centre"], manifest["diverged"], manifest["complete"]), (below, False, True))
        sentence = f"The network predicts {', '.join(below)} no better than the mean of the training labels"
        for again in (done, run(*words)):
            self.assertIn(sentence, again.stdout.splitlines()[-1])
        for _ in range(2):  # the second finds what the first has made
            infer = run("cosmo-infer", "--model", model, "--data", self.data, "--output", self.root / "untaught-predictions")
            self.assertEqual(infer.stderr.count(f"the model predicts {', '.join(below)} no better than the mean"), 1, infer.stderr)
        page = (self.root / "untaught-predictions" / "report.html").read_text()
        self.assertIn('<p class="lead"><b>The network predicts', page)

    def test_a_label_that_does_not_vary_is_named(self):
        cubes = self.root / "cubes"
        cubes.mkdir()
        rows = ["file,simulation,split,tilt"]
        for u in range(6):
            np.save(cubes / f"{u}.npy", np.random.default_rng(u).normal(size=(8, 8, 8)).astype("<f4"))
            rows.append(f"{u}.npy,{u},{['train', 'validation', 'test'][u // 2]},{0.5 if u < 2 else u / 8}")
        (cubes / "table.csv").write_text("\n".join(rows) + "\n")
        succeed("cosmo-prep", "import", "--input", cubes, "--samples", cubes / "table.csv", "--format", "npy", "--voxels", "field", "--box", 8,
                "--parameters", "tilt=-1:1", "--output", self.root / "constant-data")
        network = self.root / "dense.json"
        network.write_text(json.dumps({"name": "dense", "input": "voxels", "layers": [
            {"name": "out", "kind": "dense", "inputs": ["voxels"], "outputs": 0, "slope": 1}]}))
        done = run("cosmo-train", "--data", self.root / "constant-data", "--network", network, "--epochs", 1, "--global-batch", 2,
                   "--learning-rate", 1e-6, "--output", self.root / "constant")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: tilt is the same in all training samples: ", done.stderr)

    def test_a_training_that_diverged_is_an_error_and_stays_one(self):
        model = self.root / "diverged"
        words = ("cosmo-train", "--data", self.data, "--network", "cosmonet32", "--global-batch", 8, "--epochs", 2,
                 "--learning-rate", 100, "--output", model)
        for ranks in (1, 2):
            done = run(*words, ranks=ranks)
            self.assertEqual(done.returncode, 6, done.stderr)
            self.assertIn(f"The training in {model} diverged", done.stderr)
            self.assertIn("--learning-rate", done.stderr)
        manifest = json.loads((model / "manifest.json").read_text())
        self.assertEqual((manifest["complete"], manifest["diverged"]), (True, True))
        infer = ("cosmo-infer", "--model", model, "--data", self.data, "--output", self.root / "diverged-predictions")
        refused = run(*infer)
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"{model} holds a training that diverged: train again with a lower --learning-rate, or give --unfinished",
                      refused.stderr)
        succeed(*infer, "--unfinished")
        metrics = json.loads((self.root / "diverged-predictions" / "metrics.json").read_text())
        self.assertIn(f"{model} holds a training that diverged.", metrics["warnings"])


class Layouts(Trained):
    """The same experiment on any ranks, in any micro-batches."""

    LABELS = ("slow",)

    def test_any_number_of_ranks_is_the_same_experiment(self):
        one, two = self.root / "one", self.root / "two"
        self.assertEqual(self.train(one, epochs=2)["id"], self.train(two, ranks=2, epochs=2)["id"])
        first = [self.history(output)[0] for output in (one, two)]
        self.assertAlmostEqual(first[0][3], first[1][3], delta=1e-2 * first[0][3])  # Adam amplifies rounding

    def test_accumulated_micro_batches_are_the_same_experiment(self):
        large, small = self.root / "large", self.root / "small"
        ids = [self.train(large, epochs=2)["id"], self.train(small, "--micro-batch", 2, epochs=2)["id"]]
        self.assertEqual(ids[0], ids[1])
        first = [self.history(output)[0] for output in (large, small)]
        self.assertAlmostEqual(first[0][3], first[1][3], delta=1e-2 * first[0][3])

    def test_gradients_travel_in_bf16_on_request(self):
        exact = self.train(self.root / "exact", ranks=2, epochs=2)
        first, second = self.root / "rounded1", self.root / "rounded2"
        summary = self.train(first, "--reduction-precision", "bf16", ranks=2, epochs=2)
        self.train(second, "--reduction-precision", "bf16", ranks=2, epochs=2)
        self.assertEqual(contents(first), contents(second))
        self.assertNotEqual(summary["id"], exact["id"])
        self.assertEqual(self.train(self.root / "exact", "--reduction-precision", "f32", ranks=2, epochs=2)["id"],
                         exact["id"])
        losses = [self.history(self.root / name)[0][3] for name in ("exact", "rounded1")]
        self.assertNotEqual(*losses)
        self.assertAlmostEqual(*losses, delta=0.05 * losses[0])

    def test_a_training_reports_what_its_ranks_waited_for(self):
        for ranks in (1, 2):
            summary = self.train(self.root / f"times{ranks}", ranks=ranks, epochs=2)
            for part in ("computing", "waiting", "exposed"):
                times = summary[f"step_{part}_ms"]
                self.assertLessEqual(times["min"], times["mean"])
                self.assertLessEqual(times["mean"], times["max"])
            self.assertGreater(summary["step_computing_ms"]["min"], 0)
            self.assertIn(summary["slowest_rank"], range(ranks))
            self.assertTrue(0 <= summary["reduction_hidden_share"] <= 1)

    def test_gradient_descent_with_dropout_is_the_same_experiment_anywhere(self):
        """What is dropped depends on neither ranks, micro-batches nor stops."""
        words = ["--data", self.data, "--network", "mlperf", "--global-batch", 8, "--optimizer", "sgd", "--loss", "mse",
                 "--learning-rate", 0.01, "--warmup-epochs", 1, "--drops", "1:0.25,2:0.125",
                 "--decay-epochs", 3, "--threads", 1, "--output"]
        whole, parts, two, small = (self.root / f"descent{i}" for i in range(4))
        first = succeed("cosmo-train", *words, whole, "--epochs", 3)
        self.assertEqual(succeed("cosmo-train", *words, two, "--epochs", 3, "--dry-run", ranks=2)["id"], first["id"])
        succeed("cosmo-train", *words, two, "--epochs", 1, ranks=2)
        succeed("cosmo-train", *words, small, "--epochs", 1, "--micro-batch", 2)
        losses = [self.history(output)[0][3] for output in (whole, two, small)]
        self.assertAlmostEqual(losses[0], losses[1], delta=1e-4 * losses[0])
        self.assertAlmostEqual(losses[0], losses[2], delta=1e-4 * losses[0])
        succeed("cosmo-train", *words, parts, "--epochs", 1)
        succeed("cosmo-train", *words, parts, "--epochs", 3, "--resume")
        self.assertEqual(contents(parts), contents(whole))
        rates = [row[2] for row in self.history(whole)]
        for found, expected in zip(rates, (0.01, 0.0025, 0.00125), strict=True):
            self.assertAlmostEqual(found, expected, places=12)

    def test_more_ranks_than_samples_are_refused(self):
        few = self.root / "few"
        succeed("cosmo-prep", *self.prep_words()[:3], "--subvolumes", 1, "--validation", 4, "--test", 5, "--output", few)
        done = run("cosmo-train", *self.words_with(few), "--output", self.root / "never", ranks=2)
        self.assertEqual(done.returncode, 3)
        self.assertIn("1 training samples for 2 ranks", error_line(done, "cosmo-train"))


class Reading(Trained):
    """Shards: read ahead, stored otherwise, staged."""

    def test_readers_change_nothing_and_report_how_long_training_waited(self):
        whole, threads = self.root / "no-readers", self.root / "readers"
        self.train(whole, "--readers", 0)
        summary = self.train(threads, "--readers", 2, ranks=2)
        self.train(self.root / "two-ranks", "--readers", 0, ranks=2)
        self.assertEqual(contents(threads), contents(self.root / "two-ranks"))
        self.train(self.root / "three", "--readers", 3)
        self.assertEqual(contents(self.root / "three"), contents(whole))
        samples = json.loads((self.data / "manifest.json").read_text())["splits"]
        epoch = samples["train"]["samples"] + samples["validation"]["samples"]
        self.assertEqual(summary["data_bytes_read"], EPOCHS * epoch * 32**3 * 2)
        self.assertGreater(summary["data_wait_seconds"], 0)
        self.assertLess(summary["data_wait_fraction"], 1)
        self.assertGreater(summary["read_bytes_per_s_needed"], 0)
        self.assertGreater(summary["read_bytes_per_s_measured"], 0)

    def test_how_shards_are_stored_changes_nothing(self):
        """Filters of other programs: what only HDF5 can decode, and chunks that a filter left out."""
        whole = self.root / "as-written"
        self.train(whole, epochs=1)
        for name, storage in {"gzip": {"compression": "gzip"}, "shuffled": {"compression": 9, "shuffle": True},
                              "only-shuffled": {"shuffle": True}, "fletcher32": {"fletcher32": True},
                              "contiguous": {"chunks": None}}.items():
            data = shutil.copytree(self.data, self.root / f"data-{name}")
            manifest = json.loads((data / "manifest.json").read_text())
            for record in manifest["files"]:
                store_again(data / record["path"], storage)
                record.update(bytes=(data / record["path"]).stat().st_size, sha256=sha256(data / record["path"]))
            (data / "manifest.json").write_text(json.dumps(manifest))
            output = self.root / f"of-{name}"
            self.train(output, "--readers", 2, epochs=1, data=data)
            self.assertEqual((output / "history.csv").read_text(), (whole / "history.csv").read_text(), name)

    def test_staged_shards_are_the_same_training(self):
        whole, stage = self.root / "unstaged", self.root / "local-disk"
        self.train(whole, epochs=1)
        words = ["--stage", stage]
        self.train(self.root / "staged", *words, epochs=1)
        self.assertEqual(contents(self.root / "staged"), contents(whole))
        shards = sorted(path for path in stage.rglob("*") if path.is_file())
        self.assertEqual(len(shards), len(list(self.data.glob("train/*"))) + len(list(self.data.glob("validation/*"))))
        before = times(stage)
        shards[0].write_bytes(shards[0].read_bytes()[:-1] + b"?")
        shards[1].unlink()
        self.train(self.root / "staged-again", *words, epochs=1, ranks=2)
        self.train(self.root / "unstaged-again", epochs=1, ranks=2)
        self.assertEqual(contents(self.root / "staged-again"), contents(self.root / "unstaged-again"))
        changed = [path for path, time in times(stage).items() if time != before[path]]
        self.assertEqual(sorted(changed), [str(path) for path in shards[:2]])

    def test_shards_are_not_staged_into_the_directories_of_the_run(self):
        output = self.root / "staged-within"
        for stage, option in ((self.data, "--data"), (self.data / "below", "--data"), (output / "shards", "--output")):
            done = run("cosmo-train", *self.train_words(), "--output", output, "--stage", stage)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(f"{stage} of --stage is inside", done.stderr)
            self.assertIn(option, done.stderr)
        self.assertFalse(output.exists())
        self.assertFalse((self.data / "below").exists())

    def test_what_cannot_be_staged_is_refused(self):
        data = shutil.copytree(self.data, self.root / "damaged")
        shard = data / "validation/shard-00000.h5"
        shard.write_bytes(shard.read_bytes()[:-1] + b"?")
        occupied = self.root / "occupied"
        occupied.write_text("a file")
        for ranks in (1, 2):
            for source, stage, code, name in ((data, self.root / "local", 5, shard), (self.data, occupied, 4, occupied)):
                done = run("cosmo-train", *self.words_with(source), "--stage", stage, "--output", self.root / "never",
                           ranks=ranks)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(str(name), error_line(done, "cosmo-train"))

    def test_a_dry_run_refuses_what_staging_would(self):
        occupied, free = self.root / "occupied-too", self.root / "free" / "below"
        occupied.write_text("a file")
        words = [*self.train_words(), "--output", self.root / "never", "--dry-run", "--stage"]
        for stage in (occupied, occupied / "below"):
            done = run("cosmo-train", *words, stage)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn(f"{stage} of --stage", error_line(done, "cosmo-train"))
        succeed("cosmo-train", *words, free)
        self.assertFalse(free.parent.exists())


class Settings(Trained):
    """Optimizer, rates and history."""

    def test_optimizer_and_dropout_decide_the_outcome(self):
        words = ["--data", self.data, "--network", "mlperf", "--dry-run", "--output", self.root / "never"]
        ids = [succeed("cosmo-train", *words, *more)["id"]
               for more in ([], ["--dropout", 0.5], ["--dropout", 0], ["--optimizer", "sgd"],
                            ["--optimizer", "sgd:0.8"], ["--warmup-epochs", 2], ["--drops", "3:0.5"])]
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(len(set(ids)), len(ids) - 1)

    def test_a_training_ends_at_its_target(self):
        whole, logs = self.root / "to-the-end", [self.root / name for name in ("reached.log", "never.log")]
        self.train(whole)
        losses = [row[4] for row in self.history(whole)]
        target = sorted(losses)[-2]  # not met by the worst epoch
        expected = next(i for i, loss in enumerate(losses, 1) if loss <= target)
        self.assertLess(expected, EPOCHS)
        until = ["--until", f"{self.train_loss()}:{target!r}"]
        found = self.train(self.root / "until", *until, "--mllog", logs[0])
        self.assertEqual((found["until_reached"], found["epochs_done"], found["complete"]), (True, expected, True))
        self.assertEqual(self.history(self.root / "until"), self.history(whole)[:expected])
        manifest = json.loads((self.root / "until/manifest.json").read_text())
        self.assertEqual((manifest["complete"], manifest["config"]["until"]), (True, target))
        self.assertTrue(self.train(self.root / "until", *until)["up_to_date"])
        words = ["cosmo-train", *self.words_with(self.data), "--epochs", EPOCHS, "--decay-epochs", EPOCHS, "--threads", 1, *until,
                 "--output", self.root / "stopped"]
        self.assertEqual(run(*words, "--time-limit", "1e-5").returncode, STOPPED)
        succeed(*words)
        self.assertEqual(contents(self.root / "stopped"), contents(self.root / "until"))
        found = self.train(self.root / "never", "--until", f"{self.train_loss()}:0", "--mllog", logs[1])
        self.assertEqual((found["until_reached"], found["epochs_done"], found["complete"]), (False, EPOCHS, True))
        ends = [json.loads(log.read_text().splitlines()[-1].split(" ", 1)[1]) for log in logs]
        self.assertEqual([(end["key"], end["metadata"]["status"]) for end in ends], [("run_stop", "success"), ("run_stop", "aborted")])
        for code, value in ((2, f"{self.train_loss()}:nan"), (2, f"{self.train_loss()}:x"), (3, "0.1"), (3, "gaussian:1")):
            done = run("cosmo-train", *self.train_words(), "--until", value, "--output", self.root / "never")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(f"--until {self.train_loss()}:X" if code == 3 else "--until", error_line(done, "cosmo-train"))

    def train_loss(self):
        return json.loads((self.root / "to-the-end/manifest.json").read_text())["training"]["loss"]

    def test_a_learning_rate_below_the_usual_minimum_stays(self):
        words = [*self.train_words(), "--recipe", "paper", "--epochs", 2, "--output"]
        small, low = self.root / "small-rate", self.root / "low-rate"
        succeed("cosmo-train", *words, small, "--learning-rate", 5e-5)
        self.assertEqual([row[2] for row in self.history(small)], [5e-5, 5e-5])
        dry = [succeed("cosmo-train", *words, low, "--dry-run", *more)["id"]
               for more in ([], ["--min-learning-rate", 1e-4, "--learning-rate", 2e-3])]
        self.assertEqual(dry[0], dry[1])

    def test_a_recipe_is_its_options_and_stays_that_of_a_training(self):
        words = [*self.words_with(self.data), "--epochs", 2]
        standard = ["--optimizer", "adamw:1e-4", "--loss", "mse", "--decay", "cosine", "--clip-norm", 1,
                    "--average", 0.99, "--choice-epochs", 5, "--augment", "turns", "--warmup-epochs", 0.1]
        paper = ["--optimizer", "larc-adam", "--loss", "mae", "--decay", "linear", "--clip-norm", "off", "--average", "off",
                 "--choice-epochs", 1, "--augment", "turns", "--warmup-epochs", 0]
        never = ["--output", self.root / "never-cooked", "--dry-run"]
        ids = [[succeed("cosmo-train", *words, *never, *more)["id"] for more in pair]
               for pair in (([], standard), (["--recipe", "paper"], ["--recipe", "paper", *paper]))]
        for left, right in ids:
            self.assertEqual(left, right)
        self.assertNotEqual(ids[0][0], ids[1][0])
        output = self.root / "cooked"
        self.train(output, "--recipe", "paper", epochs=1)
        self.train(output, "--resume", epochs=2)  # without the option
        self.assertNotIn("recipe", json.loads((output / "manifest.json").read_text())["config"])

    def test_the_average_of_the_weights_is_kept_and_used(self):
        output = self.root / "averaged"
        self.train(output, "--average", 0.9)
        manifest = json.loads((output / "manifest.json").read_text())
        self.assertEqual((manifest["weights"], manifest["config"]["average"]), ("average", 0.9))
        best, = (state["path"] for state in manifest["checkpoints"] if state["best"])
        with h5py.File(output / best) as checkpoint:
            self.assertEqual(set(checkpoint["average"]), set(checkpoint["weights"]))
            weights, average = (checkpoint[f"{group}/conv1/weights"][...] for group in ("weights", "average"))
        self.assertGreater(np.abs(weights - average).max(), 1e-5)
        predictions = []
        for name, group in (("as-it-is", "average"), ("other", "weights")):
            directory = shutil.copytree(output, self.root / f"averaged-{name}")
            with h5py.File(directory / best, "r+") as checkpoint:
                checkpoint["average/conv1/weights"][...] = checkpoint[f"{group}/conv1/weights"][...]
            record_again(directory, directory / best)
            succeed("cosmo-infer", "--model", directory, "--data", self.data, "--baselines", "centre", "--output",
                    self.root / f"averaged-{name}-predictions")
            predictions.append((self.root / f"averaged-{name}-predictions/predictions.csv").read_text())
        self.assertNotEqual(*predictions)
        with h5py.File(output / best, "r+") as checkpoint:
            del checkpoint["average"]
        record_again(output, output / best)
        done = run("cosmo-train", *self.words_with(self.data), "--epochs", EPOCHS + 1, "--decay-epochs", EPOCHS, "--average", 0.9,
                   "--resume", "--threads", 1, "--output", output)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("holds no average of the weights", error_line(done, "cosmo-train"))

    def test_a_training_begins_with_another_ones_weights(self):
        first, second, other = (self.root / name for name in ("pretrained", "fine-tuned", "other-suite"))
        self.train(first, epochs=2)
        words = ["--init-from", first]
        refused = run("cosmo-train", "--data", self.data, "--network", "cosmonet32", "--epochs", 1, *words, "--output", second)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("give the same --network", error_line(refused, "cosmo-train"))
        summary = self.train(second, *words, epochs=1)
        self.assertLess(summary["validation_loss"], self.history(first)[0][4])  # what it began with, not its first epoch
        manifest = json.loads((second / "manifest.json").read_text())
        self.assertEqual(len(manifest["inputs"]), 2)
        self.assertIn("init_from", manifest["config"])
        self.assertNotEqual(summary["id"], self.train(self.root / "not-fine-tuned", epochs=1)["id"])
        tuned = self.root / "tuned-elsewhere"
        for box, data in ((64, other), (128, self.root / "coarser")):
            suite = self.root / f"suite-of-{box}"
            succeed("cosmo-sim", "generate", "--simulations", 6, "--omega-m", "0.25:0.35", "--sigma8", "0.78:0.95", "--n-s", "0.9:1.0",
                    "--particles", 32, "--grid", 32, "--box", box, "--seed", 77, "--output", suite)
            succeed("cosmo-prep", "shard", "--input", suite, "--grid", 32, "--subvolumes", 1, "--validation", 1, "--test", 1, "--output", data)
        done = run("cosmo-train", "--data", self.root / "coarser", "--network", "cosmoflow32", "--epochs", 1, *words, "--output", tuned)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("voxels of 4 Mpc/h", error_line(done, "cosmo-train"))
        done = run("cosmo-train", "--data", other, "--network", "cosmoflow32", "--epochs", 1, *words, "--output", tuned)
        self.assertEqual(done.returncode, 0, done.stderr)
        seeds = json.loads((tuned / "manifest.json").read_text())["seeds"]["train"]
        self.assertLessEqual(set(json.loads((first / "manifest.json").read_text())["seeds"]["train"]), set(seeds))
        # A network that drops other shares has the same weights.
        network = json.loads((first / "manifest.json").read_text())["network"]
        last = network["layers"][-1]
        network["layers"].insert(-1, {"name": "drop", "kind": "dropout", "inputs": last["inputs"], "probability": 0.1})
        last["inputs"] = ["drop"]
        (self.root / "dropping.json").write_text(json.dumps(network))
        dropping = ["--data", self.data, "--network", self.root / "dropping.json"]
        succeed("cosmo-train", *dropping, "--epochs", 1, "--output", self.root / "dropping")
        succeed("cosmo-train", *dropping, "--epochs", 1, "--dropout", 0.3, "--init-from", self.root / "dropping", "--output", self.root / "dropping-more")
        # One epoch is finished and the training is not.
        run("cosmo-train", *dropping, "--epochs", 3, "--resume", "--time-limit", 0, "--output", self.root / "dropping")
        done = run("cosmo-train", *dropping, "--epochs", 1, "--init-from", self.root / "dropping", "--output", self.root / "never-begun")
        self.assertEqual(done.returncode, 3)
        self.assertIn("not finished", error_line(done, "cosmo-train"))
        # Its test universes are among those that the first one has learned from.
        swapped = self.root / "swapped"
        succeed("cosmo-prep", "shard", "--input", self.sim, "--validation", 2, "--test", 2, "--seed", 5, "--output", swapped)
        done = run("cosmo-train", *self.words_with(swapped), "--epochs", 1, *words, "--output", self.root / "never-tuned")
        self.assertEqual(done.returncode, 3)
        self.assertIn("has learned from the phases of", error_line(done, "cosmo-train"))

    def test_rolls_are_for_whole_boxes(self):
        words = ["--network", "cosmonet32", "--epochs", 1, "--output", self.root / "rolled", "--dry-run"]
        refused = run("cosmo-train", "--data", self.data, *words, "--augment", "rolls")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("--subvolumes 1", error_line(refused, "cosmo-train"))
        whole = self.root / "whole-boxes"
        succeed("cosmo-prep", "shard", "--input", self.sim, "--grid", 32, "--subvolumes", 1, "--validation", 2, "--test", 2,
                "--output", whole)
        ids = [succeed("cosmo-train", "--data", whole, *words, "--augment", augment)["id"]
               for augment in ("on", "rolls", "turns", "off")]
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(len(set(ids)), 3)

    def test_a_drop_after_the_end_is_warned_of(self):
        for epoch, warned in ((1, False), (2, True)):
            done = run("cosmo-train", *self.train_words(), "--epochs", 2, "--output", self.root / f"drop{epoch}",
                       "--drops", f"{epoch}:0.5")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("--drops is after 2 epochs, not before the end of 2" in done.stderr, warned)

    def test_options_of_earlier_versions_request_the_same_with_a_warning(self):
        words = [*self.train_words(), "--epochs", 4, "--dry-run", "--output", self.root / "never-former"]
        listed = run("cosmo-train", "--help").stdout + run("cosmo-train", "--man").stdout + run("cosmo-train", "--completion").stdout
        for former, now in ((["--loss", "mixture", "--components", 2], ["--loss", "mixture:2"]),
                            (["--weight-decay", "1e-3"], ["--optimizer", "adamw:1e-3"]),
                            (["--optimizer", "larc-adam", "--larc", "trust-ratio"], ["--optimizer", "larc-adam:trust-ratio"]),
                            (["--optimizer", "sgd", "--momentum", 0.8], ["--optimizer", "sgd:0.8"]),
                            (["--decay-at", "1,3", "--decay-by", "0.5,0.25"], ["--drops", "1:0.5,3:0.25"]),
                            (["--deterministic", "any", "--slabs", 1], ["--deterministic", "any"])):
            old = run("cosmo-train", *words, *former, "--json")
            self.assertEqual(old.returncode, 0, old.stderr)
            self.assertEqual(json.loads(old.stdout)["id"], succeed("cosmo-train", *words, *now)["id"])
            self.assertIn("earlier version: write --", old.stderr)
            option = former[-2]
            self.assertNotIn(option.replace("-", "\\-"), listed)
            self.assertNotRegex(listed, rf"(?<![\w-]){option}(?![\w-])")

    def test_the_default_network_follows_the_data_and_stays_that_of_a_training(self):
        words = ["--data", self.data, "--global-batch", 8, "--epochs", 1]
        output = self.root / "by-default"
        self.assertEqual(succeed("cosmo-train", *words, "--output", output, "--dry-run")["network"], "cosmonet32")
        own = self.root / "own.json"
        own.write_text(json.dumps({"name": "own", "input": "voxels", "layers": [
            {"name": "out", "kind": "dense", "inputs": ["voxels"], "outputs": 0, "slope": 1}]}))
        succeed("cosmo-train", *words, "--network", own, "--output", output)
        again = run("cosmo-train", *words, "--output", output)
        self.assertEqual((again.returncode, "up to date" in again.stdout), (0, True), again.stderr)

    def test_the_history_is_a_table_with_a_line_an_epoch(self):
        output = self.root / "history"
        self.train(output, "--recipe", "paper")
        rows = self.history(output)
        self.assertEqual([row[0] for row in rows], list(range(1, EPOCHS + 1)))
        rates = [row[2] for row in rows]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertGreaterEqual(rates[-1], 1e-4)
        manifest = json.loads((output / "manifest.json").read_text())
        self.assertTrue(manifest["complete"])
        best = [state for state in manifest["checkpoints"] if state["best"]]
        self.assertEqual([state["validation_loss"] for state in best], [min(row[4] for row in rows)])


if __name__ == "__main__":
    unittest.main()
