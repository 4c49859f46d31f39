"""Suites of universes: redshifts, slices, groups of ranks, memory and full disks."""

import json
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

from toolkit import (ENVIRONMENT, ROOT, DirectoryTest, command, command_with_faults, contents, error_line, run,
                     run_with_faults, sha256, succeed, times)

USAGE, CONFIG, IO = 2, 3, 4
SIM = ["generate", "--simulations", 6, "--omega-m", "0.25:0.35", "--box", 64, "--particles", 16, "--steps", 2]


class Suite(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = cls.root / "whole"
        cls.summary = succeed("cosmo-sim", *SIM, "--output", cls.whole)

    def refused(self, code, parts, *words, ranks=1):
        done = run("cosmo-sim", *words, ranks=ranks)
        self.assertEqual(done.returncode, code, done.stderr)
        line = error_line(done, "cosmo-sim")
        for part in parts:
            self.assertIn(str(part), line)

    def entries(self, directory):
        return json.loads((directory / "manifest.json").read_text())["simulations"]


class Outputs(Suite):
    def test_more_redshifts_leave_the_counts_today_as_they_are(self):
        output = self.root / "redshifts"
        succeed("cosmo-sim", *SIM, "--redshifts", "3,0,0.5,1.5", "--output", output)
        for entry in self.entries(output):
            self.assertEqual(entry["redshifts"], [0, 0.5, 1.5, 3])
            names = [pathlib.Path(path).name for path in entry["files"]]
            self.assertEqual(names, ["counts_z0.h5", "counts_z0.5.h5", "counts_z1.5.h5", "counts_z3.h5",
                                     "power_spectrum.csv"])
            self.assertEqual([(output["redshift"], pathlib.Path(output["counts"]).name, output["snapshot"])
                              for output in entry["outputs"]], [(z, f"counts_z{z}.h5", "") for z in (0, 0.5, 1.5, 3)])
            today = entry["files"][0]
            self.assertEqual(sha256(output / today), sha256(self.whole / today))
            self.assertEqual(len({sha256(output / path) for path in entry["files"]}), 5)
        succeed("cosmo-prep", "shard", "--input", output, "--output", self.root / "data")

    def test_what_is_saved_and_what_it_takes(self):
        plain = ["--dry-run", "--output", self.root / "never"]
        counts = 6 * 8**3 * 2

        def disk(names, *words):
            return succeed("cosmo-sim", *SIM, *plain, "--save", names, *words)["disk_bytes"]

        self.assertEqual(disk("counts,no-power-spectrum"), counts)
        self.assertEqual(disk("counts,no-power-spectrum", "--redshifts", "0,1"), 2 * counts)
        self.assertGreater(disk("counts"), counts)
        self.assertEqual(disk("particles,counts,no-power-spectrum"), disk("particles,no-power-spectrum") + counts)
        for names, files in (("no-power-spectrum,counts", {"counts_z0.h5"}), ("power-spectrum", {"power_spectrum.csv"})):
            output = self.root / names
            succeed("cosmo-sim", *SIM, "--save", names, "--output", output)
            self.assertEqual({path.name for path in output.glob("sim-*/*")}, files)

    def test_what_is_saved_is_named_once_and_exists(self):
        never = ["--output", self.root / "never"]
        names = "counts, particles, initial, velocity, web, power-spectrum, correlation-function, bispectrum, no-power-spectrum"
        for value in ("count", "counts,counts", "counts,", "counts,both"):
            self.refused(USAGE, [f"'{value}'", names, "each once"], *SIM, "--save", value, *never)
        self.refused(USAGE, ["leave out power-spectrum or no-power-spectrum"], *SIM, "--save", "power-spectrum,no-power-spectrum", *never)
        self.refused(USAGE, ["nothing to write"], *SIM, "--save", "no-power-spectrum", *never)

    def test_options_of_earlier_versions_mean_what_they_did(self):
        """With a warning of what to write instead, and in no list of options."""
        plan = [*SIM, "--dry-run", "--json", "--output", self.root / "never"]
        settings = self.root / "former.ini"
        settings.write_text("save = both\ncorrelation-function = on\n")
        for former, warned, today in (
                (["--save", "both"], "--save both is", "counts,particles,power-spectrum"),
                (["--bispectrum"], "--bispectrum is", "counts,power-spectrum,bispectrum"),
                (["--power-spectrum", "off", "--correlation-function=on"], "--power-spectrum and --correlation-function are",
                 "counts,no-power-spectrum,correlation-function"),
                (["--power-spectrum", "--bispectrum", "off"], "--power-spectrum and --bispectrum are", "counts,power-spectrum"),
                (["--save", "particles", "--power-spectrum=off"], "--power-spectrum is", "particles,no-power-spectrum"),
                (["--save", "both", "--power-spectrum=off"], "--save both and --power-spectrum are", "counts,particles,no-power-spectrum"),
                (["--config", settings], "--save both and --correlation-function are",
                 "counts,particles,power-spectrum,correlation-function")):
            done = run("cosmo-sim", *plan, *former)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"\nwarning: {warned} from an earlier version: write --save {today}, since version 0.5 will refuse ",
                          "\n" + done.stderr)
            self.assertEqual(done.stderr.count("earlier version"), 1)
            named = run("cosmo-sim", *plan, "--save", today)
            self.assertNotIn("earlier version", named.stderr)
            self.assertEqual(json.loads(done.stdout)["id"], json.loads(named.stdout)["id"])
        for page in (["generate", "--help"], ["--man"], ["--completion"]):
            text = run("cosmo-sim", *page).stdout.replace("\\-", "-")
            self.assertIn("correlation-function", text)
            for former in ("--power-spectrum", "counts particles both", "or both", "--bispectrum on"):
                self.assertNotIn(former, text)
        self.refused(USAGE, ["--power-spectrum is 'maybe'", "on or off"], *plan, "--power-spectrum", "maybe")

    def test_particles_and_their_spectrum_are_the_same_bytes_from_any_ranks(self):
        one, two = self.root / "particles1", self.root / "particles2"
        words = [*SIM[:1], "--simulations", 2, *SIM[3:], "--save", "counts,particles", "--redshifts", "0,1"]
        succeed("cosmo-sim", *words, "--output", one)
        succeed("cosmo-sim", *words, "--output", two, "--ranks-per-simulation", 2, ranks=2)
        self.assertEqual(contents(two), contents(one))
        for entry in self.entries(one):
            self.assertEqual([pathlib.Path(path).name for path in entry["files"]],
                             ["counts_z0.h5", "counts_z1.h5", "snapshot_z0.hdf5", "snapshot_z1.hdf5",
                              "power_spectrum.csv"])
            with h5py.File(one / entry["files"][2]) as snapshot, h5py.File(one / entry["files"][0]) as counts:
                x = snapshot["PartType1/Coordinates"][...]
                self.assertEqual(snapshot["PartType1/ParticleIDs"].shape, (16**3,))
                self.assertGreater(np.abs(snapshot["PartType1/Velocities"][...]).max(), 1)
                found = np.histogramdd(x, bins=8, range=[(0, 64)] * 3)[0]
                np.testing.assert_array_equal(found, counts["counts"][...])
                self.assertEqual(int(snapshot.attrs["seed"]), entry["seed"])
            table = (one / entry["files"][4]).read_text().splitlines()
            self.assertEqual(table[0], "k_h_mpc,modes,p_input,p_initial,p_z0,p_z1")
            self.assertEqual(len(table), 1 + 8)

    def test_measures_are_tables_that_a_request_may_ask_for(self):
        words = [*SIM, "--redshifts", "0,1", "--save", "counts,correlation-function,bispectrum"]
        plain, one, two = self.root / "plain", self.root / "measured1", self.root / "measured2"
        succeed("cosmo-sim", *SIM, "--redshifts", "0,1", "--output", plain)
        plan = succeed("cosmo-sim", *words, "--output", one, "--dry-run")
        succeed("cosmo-sim", *words, "--output", one)
        succeed("cosmo-sim", *words, "--output", two, "--ranks-per-simulation", 2, ranks=2)
        self.assertEqual(contents(two), contents(one))
        self.assertGreaterEqual(plan["disk_bytes"], sum(path.stat().st_size for path in one.glob("sim-*/*.csv")))
        for entry in self.entries(one):
            names = [pathlib.Path(path).name for path in entry["files"]]
            self.assertEqual(names[2:], ["power_spectrum.csv", "correlation_function.csv", "bispectrum.csv"])
            for path in entry["files"][:3]:
                self.assertEqual((one / path).read_bytes(), (plain / path).read_bytes())
            heads = [(one / path).read_text().splitlines()[0] for path in entry["files"][3:]]
            each = [f"{name}_z{z}" for z in (0, 1) for name in ("p", "b_equilateral", "b_squeezed", "q_equilateral", "q_squeezed")]
            self.assertEqual(heads, ["r_mpc_h,separations,xi_z0,xi_z1", ",".join(
                ["k_h_mpc,k_long_h_mpc,triangles_equilateral,triangles_squeezed", *each])])
        # Requests without them are what they were before there were any.
        config = json.loads((plain / "manifest.json").read_text())["config"]
        self.assertFalse({"correlation_function", "bispectrum"} & config.keys())
        self.refused(CONFIG, ["--save bispectrum", "can be shared by 4"], "generate", "--particles", 6, "--save", "bispectrum", "--output",
                     self.root / "never", ranks=5)

    def test_redshifts_that_cannot_be(self):
        for value, named in (("0,0", "0 twice"), ("0.5,1,0.50", "0.5 twice"), ("-1", "-1"), ("9.5", "--z-initial, 9")):
            self.refused(CONFIG, ["--redshifts", named], *SIM, f"--redshifts={value}", "--output", self.root / "never")
        self.assertFalse((self.root / "never").exists())

    def test_shards_need_counts_today(self):
        output = self.root / "early"
        succeed("cosmo-sim", *SIM, "--redshifts", "1", "--output", output)
        particles = self.root / "particles"
        succeed("cosmo-sim", *SIM, "--save", "particles", "--output", particles)
        for suite in (output, particles):
            done = run("cosmo-prep", "shard", "--input", suite, "--output", self.root / "never")
            self.assertEqual(done.returncode, CONFIG)
            for part in ("z = 0", "--save counts", "--redshifts"):
                self.assertIn(part, error_line(done, "cosmo-prep"))

    def test_a_full_disk(self):
        """The error is one sentence with exit 4, no file with a final name is torn, and a rerun continues."""
        whole, words = self.root / "both", [*SIM, "--save", "counts,particles"]
        succeed("cosmo-sim", *words, "--output", whole)
        for suffix in ("counts_z0.h5.part", "snapshot_z0.hdf5.part", "power_spectrum.csv.part"):
            for room in (0, 300):
                output = self.root / f"full-{suffix}-{room}"
                done = run_with_faults({"DISK_BYTES": room, "DISK_SUFFIX": suffix}, "cosmo-sim", *words, "--output",
                                       output)
                self.assertEqual(done.returncode, IO, done.stderr)
                self.assertIn(suffix, error_line(done, "cosmo-sim"))
                for path in output.glob("sim-*/*"):
                    if path.suffix != ".part":
                        self.assertEqual(sha256(path), sha256(whole / path.relative_to(output)))
                succeed("cosmo-sim", *words, "--output", output)
                self.assertEqual(contents(output), contents(whole))

    def test_a_file_size_limit_is_like_a_full_disk(self):
        output = self.root / "limited"  # MPI itself writes files of some megabytes
        limited = subprocess.run(command(1, "cosmo-sim", *SIM, "--output", output, "--grid", 256), env=ENVIRONMENT,
                                 capture_output=True, text=True, timeout=60,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24)))
        self.assertEqual(limited.returncode, IO, limited.stderr)
        self.assertIn("counts_z0.h5", error_line(limited, "cosmo-sim"))


class Integrators(Suite):
    def test_cola_is_the_default_and_leaves_no_trace(self):
        """Requests from before there was a choice keep their ids."""
        words = [*SIM, "--dry-run", "--output", self.root / "never"]
        self.assertEqual(succeed("cosmo-sim", *words, "--integrator", "cola")["id"], self.summary["id"])
        self.assertNotEqual(succeed("cosmo-sim", *words, "--integrator", "bullfrog")["id"], self.summary["id"])
        self.assertNotIn("integrator", json.loads((self.whole / "manifest.json").read_text())["config"])

    def test_they_give_the_same_bytes_from_any_ranks(self):
        for integrator in ("bullfrog", "fastpm"):
            words = [*SIM[:1], "--simulations", 2, *SIM[3:], "--integrator", integrator, "--save", "counts,particles", "--redshifts", "0,1,9"]
            one = self.root / f"{integrator}1"
            succeed("cosmo-sim", *words, "--output", one)
            self.assertEqual(json.loads((one / "manifest.json").read_text())["config"]["integrator"], integrator)
            for ranks in (2, 4):
                other = self.root / f"{integrator}{ranks}"
                succeed("cosmo-sim", *words, "--output", other, "--ranks-per-simulation", ranks, ranks=ranks)
                self.assertEqual(contents(other), contents(one))

    def test_others_are_refused(self):
        self.refused(USAGE, ["--integrator", "leapfrog", "cola or bullfrog or fastpm"], *SIM, "--integrator", "leapfrog", "--output",
                     self.root / "never")
        self.assertFalse((self.root / "never").exists())


class Groups(Suite):
    def test_any_number_of_ranks_a_simulation_gives_the_same_bytes(self):
        for ranks, groups_of in ((2, 1), (4, 2), (4, 4)):
            output = self.root / f"groups-{ranks}-{groups_of}"
            succeed("cosmo-sim", *SIM, "--ranks-per-simulation", groups_of, "--output", output, ranks=ranks)
            self.assertEqual(contents(output), contents(self.whole))

    def test_groups_are_as_small_as_keeps_every_rank_busy(self):
        for simulations, chosen in ((1, 4), (2, 2), (4, 1)):
            plan = succeed("cosmo-sim", *SIM[:1], "--simulations", simulations, "--dry-run", "--output",
                           self.root / "never", ranks=4)
            self.assertEqual(plan["ranks_per_simulation"], chosen)

    def test_groups_that_cannot_be(self):
        self.refused(CONFIG, ["--ranks-per-simulation 2", "3 ranks"], *SIM, "--ranks-per-simulation", 2, "--output",
                     self.root / "never", ranks=3)

    def test_a_failure_of_one_group_is_everybodys(self):
        for ranks, groups_of in ((2, 1), (4, 2)):
            output = self.root / f"failing-{groups_of}"
            done = run_with_faults({"DISK_BYTES": 0, "DISK_SUFFIX": "sim-00003/counts_z0.h5.part"}, "cosmo-sim", *SIM,
                                   "--ranks-per-simulation", groups_of, "--output", output, ranks=ranks)
            self.assertEqual(done.returncode, IO, done.stderr)
            self.assertIn("sim-00003/counts_z0.h5", error_line(done, "cosmo-sim"))
            again = succeed("cosmo-sim", *SIM, "--output", output)
            self.assertEqual(again["simulations_made"], 3)  # universe 2 of the same round was noted
            self.assertEqual(contents(output), contents(self.whole))

    def test_all_ranks_make_the_few_universes_that_are_left(self):
        output = self.root / "resumed"
        shutil.copytree(self.whole, output)
        (output / "sim-00003/counts_z0.h5").unlink()
        found = succeed("cosmo-sim", *SIM, "--output", output, ranks=4)
        self.assertEqual((found["simulations_made"], found["ranks_per_simulation"]), (1, 4))
        self.assertEqual(contents(output), contents(self.whole))
        tiny = ["generate", "--simulations", 5, "--particles", 4, "--steps", 1, "--output", self.root / "tiny"]
        succeed("cosmo-sim", *tiny)
        (self.root / "tiny/sim-00003/counts_z0.h5").unlink()
        found = succeed("cosmo-sim", *tiny, ranks=5)  # which cannot share 4 planes
        self.assertEqual((found["simulations_made"], found["ranks_per_simulation"]), (1, 1))


class Slices(Suite):
    def test_one_slice_after_the_other(self):
        output = self.root / "slices"
        first = succeed("cosmo-sim", *SIM, "--select", "2:6", "--output", output)
        self.assertEqual((first["simulations_made"], first["simulations_left"]), (4, 2))
        self.assertEqual(first["id"], self.summary["id"])
        self.assertFalse((output / "manifest.json").exists())
        again = run("cosmo-sim", *SIM, "--select", "3:5", "--output", output)
        self.assertEqual(again.returncode, 0)
        self.assertIn("up to date", again.stdout)
        self.assertIn("2 of 6 universes are left", again.stdout)
        last = succeed("cosmo-sim", *SIM, "--select", "0:2", "--output", output)
        self.assertEqual((last["simulations_made"], last["simulations_left"]), (2, 0))
        self.assertEqual(contents(output), contents(self.whole))
        self.assertEqual(json.loads((output / "run.json").read_text())["simulation"]["universes"], 2)  # the last run made two
        for words in ([], ["--select", "0:3"]):
            self.assertIn("up to date", run("cosmo-sim", *SIM, *words, "--output", output).stdout)

    def test_slices_at_once(self):
        for attempt in range(3):
            output = self.root / f"at-once-{attempt}"
            slices = [subprocess.Popen(command(1, "cosmo-sim", *SIM, "--select", piece, "--output", output),
                                       env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                      for piece in ("0:2", "2:4", "4:6")]
            for process in slices:
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, errors)
            self.assertEqual(contents(output), contents(self.whole))

    def test_overlapping_runs_are_refused(self):
        output = self.root / "held"
        # It stops itself before its second universe, where it has no business with the journal.
        stop = {"KILL_UNDER": output / "sim-00002", "KILL_AT": 1, "KILL_SIGNAL": int(signal.SIGSTOP)}
        words = command_with_faults(stop, 1, "cosmo-sim", *SIM, "--select", "1:3", "--output", output, "--quiet")
        holder = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        try:
            self.wait_until_stopped(holder)
            host = subprocess.run(["uname", "-n"], capture_output=True, text=True, check=True).stdout.strip()
            for words in (["--select", "2:4"], ["--select", "0:6"], [], ["--select", "4:5", "--force"]):
                self.refused(IO, [output, f"{host} process {holder.pid}"], *SIM, *words, "--output", output)
            self.refused(CONFIG, ["simulations is 6 there and 7 now"], *SIM[:1], "--simulations", 7, *SIM[3:],
                         "--select", "6:7", "--output", output)
        finally:
            holder.send_signal(signal.SIGCONT)
        self.assertEqual(holder.wait(60), 0)
        succeed("cosmo-sim", *SIM, "--output", output)
        self.assertEqual(contents(output), contents(self.whole))

    def wait_until_stopped(self, process):
        state = pathlib.Path(f"/proc/{process.pid}/stat")
        for _ in range(6000):
            if state.read_text().rpartition(")")[2].split()[0] == "T":
                return
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        self.fail("the holder of the slice does not stop")

    def test_slices_that_cannot_be(self):
        for value, code in (("0:7", CONFIG), ("-1:2", CONFIG), ("2:1", CONFIG), ("0.5:2", USAGE), ("3", USAGE)):
            self.refused(code, ["--select", value, "I:J"], *SIM, f"--select={value}", "--output", self.root / "never")
        self.assertFalse((self.root / "never").exists())


class Repairs(Suite):
    def altered(self, name, alter):
        """A copy of the suite with a changed manifest."""
        output = shutil.copytree(self.whole, self.root / name)
        manifest = json.loads((output / "manifest.json").read_text())
        alter(manifest)
        (output / "manifest.json").write_text(json.dumps(manifest))
        return output

    def test_a_rerun_writes_an_altered_manifest_again(self):
        def other_id(manifest):
            manifest["id"] = manifest["id"][:-4] + "beef"

        def other_config(manifest):
            manifest["config"]["steps"] = 3

        def other_universes(manifest):
            manifest["simulations"][1]["parameters"]["omega_m"] = 0.999
            manifest["simulations"][2]["seed"] = 5

        def other_limits(manifest):
            manifest["parameters"]["high"] = [0.9]

        def fewer_files(manifest):
            del manifest["files"][3]

        def files_elsewhere(manifest):
            for entry in manifest["files"]:
                entry["path"] = entry["path"].replace("sim-00001/counts", "../whole/sim-00001/counts")

        for alter, made in ((other_id, 0), (other_config, 0), (other_universes, 0), (other_limits, 0), (fewer_files, 1),
                            (files_elsewhere, 1)):
            for more in ([], ["--force"]):
                output = self.altered(f"{alter.__name__}{len(more)}", alter)
                words = [*SIM, *more, "--output", output]
                done = run("cosmo-sim", *words, "--json")
                self.assertEqual(json.loads(done.stdout)["simulations_made"], made)
                self.assertEqual(done.stderr.count("manifest.json is to be written again"), 1, done.stderr)
                self.assertEqual(contents(output), contents(self.whole))

    def test_a_dry_run_leaves_an_altered_manifest(self):
        output = self.altered("dry", lambda manifest: manifest.update(id="sha256:0"))
        before = contents(output)
        self.assertEqual(succeed("cosmo-sim", *SIM, "--output", output, "--dry-run")["simulations_to_make"], 0)
        self.assertEqual(contents(output), before)
        succeed("cosmo-sim", *SIM, "--select", "2:3", "--output", output)
        self.assertEqual(contents(output), contents(self.whole))
        done = run("cosmo-sim", *SIM, "--output", output)
        self.assertIn("up to date", done.stdout)
        self.assertNotIn("again", done.stderr)

    def test_files_are_kept_for_their_content_if_the_manifest_was_altered(self):
        output = self.altered("content", lambda manifest: manifest.update(id="sha256:0"))
        counts = output / "sim-00004/counts_z0.h5"
        counts.write_bytes(counts.read_bytes()[:-1] + b"!")
        self.assertEqual(succeed("cosmo-sim", *SIM, "--output", output)["simulations_made"], 1)
        self.assertEqual(contents(output), contents(self.whole))


class DryRuns(Suite):
    def told(self, *words):
        """The summary and the text of a dry run, which touches nothing."""
        before = times(self.root)
        plan = succeed("cosmo-sim", *words, "--dry-run")
        done = run("cosmo-sim", *words, "--dry-run")
        self.assertEqual(times(self.root), before)
        return plan, done.stdout + done.stderr

    def test_it_reports_what_is_there_and_what_is_to_make(self):
        plan, text = self.told(*SIM, "--output", self.root / "never/there")
        self.assertRegex(text, r"memory per rank; [\d.]+ kB to write, ")
        self.assertEqual((plan["up_to_date"], plan["simulations_to_make"], plan["simulations_left"], plan["select"]),
                         (False, 6, 0, [0, 6]))
        self.assertEqual((plan["disk_bytes_to_write"], plan["refusals"]), (plan["disk_bytes"], []))
        self.assertFalse((self.root / "never").exists())
        documented = (ROOT / "docs/reference/formats.md").read_text()
        for field in [*plan, *self.summary]:
            self.assertIn(f"`{field}`", documented)
        plan, text = self.told(*SIM, "--output", self.whole)
        self.assertIn("is up to date", text)
        self.assertEqual((plan["up_to_date"], plan["simulations_to_make"], plan["disk_bytes_to_write"]), (True, 0, 0))
        output = self.root / "some"
        succeed("cosmo-sim", *SIM, "--select", "1:3", "--output", output)
        plan, text = self.told(*SIM, "--select", "2:6", "--output", output)
        self.assertIn("2 of 6 universes are there; to make: 3 of --select 2:6\n", text)
        self.assertEqual((plan["simulations_to_make"], plan["simulations_left"], plan["select"]), (3, 1, [2, 6]))
        self.assertEqual(plan["disk_bytes_to_write"] * 2, plan["disk_bytes"])

    def test_it_reports_the_refusal_of_a_real_run(self):
        words = [*SIM, "--seed", 2, "--output", self.whole]
        plan, text = self.told(*words)
        self.assertIn(plan["refusals"][0], text)
        self.refused(CONFIG, plan["refusals"], *words)
        self.assertIn("seed is 1 there and 2 now", plan["refusals"][0])
        plan, text = self.told(*words, "--force")
        self.assertEqual((plan["refusals"], plan["simulations_to_make"]), ([], 6))
        self.assertIn(" free on disk; removes ", text)
        made = sum(path.stat().st_size for path in self.whole.glob("sim-*/*"))
        self.assertEqual(plan["disk_bytes_to_remove"], made)

    def test_a_disk_that_is_too_small(self):
        """30 TB are refused, but not where they are made already or belong to another slice."""
        words = ["generate", "--particles", 256, "--redshifts", "0,1,2,3,4,5,6,7,8,9", "--save", "particles",
                 "--simulations", 5_000, "--output", self.root / "never/there"]
        plan, _ = self.told(*words)
        self.assertGreater(plan["disk_bytes_to_write"], plan["disk_available_bytes"])
        self.assertIn("TB and the disk of --output", plan["refusals"][0])
        for ranks in (1, 2):
            self.refused(IO, [self.root / "never/there", "TB", "free", "choose another --output"], *words, ranks=ranks)
        self.assertFalse((self.root / "never").exists())
        plan, _ = self.told(*words, "--select", "0:2")
        self.assertEqual((plan["refusals"], plan["disk_bytes_to_write"] * 2_500), ([], plan["disk_bytes"]))


class Memory(Suite):
    LARGE = ["generate", "--particles", 256, "--mesh", 8192]  # terabytes

    def test_what_does_not_fit_is_refused_before_anything_is_touched(self):
        for ranks in (1, 2):
            self.refused(CONFIG, ["--particles 256", "--mesh 8192", "TB", "available", "more nodes"], *self.LARGE,
                         "--output", self.root / "never", ranks=ranks)
        self.assertFalse((self.root / "never").exists())

    def test_a_dry_run_reports_and_warns(self):
        done = run("cosmo-sim", *self.LARGE, "--dry-run", "--json", "--output", self.root / "never")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: --particles 256 with --mesh 8192 and --grid 128 need", done.stderr)
        plan = json.loads(done.stdout)
        self.assertGreater(plan["memory_bytes_per_node"], plan["memory_available_bytes"])
        self.assertGreater(plan["memory_available_bytes"], 10**8)

    def test_grids_and_meshes_without_room_for_the_particles_are_refused_at_once(self):
        for option in ("--grid", "--mesh"):
            words = ["generate", "--particles", 256, option, 7 if option == "--mesh" else 1, "--output", self.root / "never"]
            self.refused(CONFIG, [f"{option} ", "too coarse for --particles 256", "32 particles per side"], *words)
        self.assertFalse((self.root / "never").exists())

    def test_a_mesh_that_beats_with_the_lattice_is_warned_of(self):
        words = ["generate", "--particles", 16, "--box", 64, "--steps", 1, "--output", self.root / "beats"]
        for more, told in (([20, "--dry-run"], 1), ([12, "--dry-run"], 1), ([20], 1), ([16, "--dry-run"], 0),
                           ([24, "--dry-run"], 0), ([28, "--dry-run"], 0), ([32, "--dry-run"], 0), ([48, "--dry-run"], 0)):
            done = run("cosmo-sim", *words, "--mesh", *more)
            self.assertEqual(done.stderr.count(f"warning: --mesh {more[0]} beats"), told, done.stderr)

    def as_if_made(self, output, words):
        """A manifest of a finished suite that claims the options `words`, for which no machine has the memory."""
        shutil.copytree(self.whole, output)
        manifest = json.loads((output / "manifest.json").read_text())
        plan = succeed("cosmo-sim", *words, "--dry-run", "--output", output)
        self.assertGreater(plan["memory_bytes_per_node"], plan["memory_available_bytes"])
        manifest["config"]["mesh_per_side"] = 8192
        manifest["id"] = plan["id"]
        return manifest

    def test_what_is_finished_needs_no_memory(self):
        output, words = self.root / "made", [*SIM, "--mesh", 8192]
        manifest = self.as_if_made(output, words)
        (output / "manifest.json").write_text(json.dumps(manifest))
        journal = [{key: manifest[key] for key in ("stage", "config", "inputs", "id")}, *manifest["files"]]
        for ranks in (1, 2):
            done = run("cosmo-sim", *words, "--output", output, ranks=ranks)
            self.assertEqual((done.returncode, "up to date" in done.stdout), (0, True), done.stderr)
        for ranks in (1, 2):  # stopped between its last universe and its manifest
            (output / "manifest.json").unlink()
            (output / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in journal))
            done = run("cosmo-sim", *words, "--output", output, ranks=ranks)
            self.assertEqual((done.returncode, "up to date" in done.stdout), (0, True), done.stderr)
            self.assertEqual(json.loads((output / "manifest.json").read_text())["id"], manifest["id"])
        (output / "sim-00003/counts_z0.h5").unlink()
        self.refused(CONFIG, ["--mesh 8192", "available"], *words, "--output", output, ranks=2)
        self.refused(CONFIG, ["--mesh 8192", "available"], *words, "--seed", 2, "--force", "--output", output)
        self.assertTrue((output / "sim-00002/counts_z0.h5").exists())

    def test_memory_that_the_system_does_not_give(self):
        limit = 700 << 20  # address space; the run needs 640 MB besides its libraries
        words = command(1, "cosmo-sim", "generate", "--particles", 192, "--mesh", 384, "--threads", 1, "--output",
                        self.root / "starved")
        done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn("Memory ran out", error_line(done, "cosmo-sim"))

    def test_predicted_and_measured_memory_agree(self):
        words = ["generate", "--particles", 96, "--mesh", 192, "--steps", 1]
        for number, (ranks, least, more) in enumerate(((1, 0.7, []), (2, 0.6, ["--redshifts", "0,1", "--save", "counts,particles"]),
                                   (1, 0.7, ["--save", "counts,bispectrum"]), (1, 0.7, ["--threads", 300]))):
            output = self.root / f"measured{number}"
            found = succeed("cosmo-sim", *words, *more, "--output", output, ranks=ranks)
            ratio = found["peak_rss_bytes"] / found["memory_bytes_per_rank"]
            self.assertTrue(least < ratio < 1.3, f"{ratio} of what was predicted for {ranks} ranks, {more}")
            self.assertEqual(found["memory_bytes_per_node"], ranks * found["memory_bytes_per_rank"])

    def test_memory_does_not_grow_with_the_number_of_universes(self):
        found = succeed("cosmo-sim", "generate", "--particles", 64, "--box", 128, "--grid", 64, "--steps", 2, "--threads", 1, "--simulations", 24,
                        "--omega-m", "0.25:0.35", "--output", self.root / "many")
        self.assertLess(found["peak_rss_bytes"], 1.02 * found["memory_bytes_per_rank"])

    def test_memory_suffices_where_particles_gather_in_some_ranks_slabs(self):
        found = succeed("cosmo-sim", "generate", "--particles", 128, "--box", 32, "--grid", 64, "--steps", 5, "--threads", 1,
                        "--output", self.root / "gathered", ranks=4)
        self.assertLess(found["peak_rss_bytes"], found["memory_bytes_per_rank"])


class MemoryOfIntegrators(Suite):
    LABELS = ("slow",)

    def test_the_memory_of_both_integrators_is_predicted_to_a_percent(self):
        for integrator in ("cola", "bullfrog"):
            found = succeed("cosmo-sim", "generate", "--particles", 192, "--mesh", 384, "--steps", 1, "--threads", 1,
                            "--save", "particles", "--integrator", integrator, "--output", self.root / integrator)
            self.assertAlmostEqual(found["peak_rss_bytes"] / found["memory_bytes_per_rank"], 1, delta=0.01)


if __name__ == "__main__":
    unittest.main()
