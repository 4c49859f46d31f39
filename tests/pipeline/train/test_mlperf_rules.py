"""MLPerf HPC's rules for a log of CosmoFlow, key by key, on logs of each optimizer.

Source: mlcommons/logging, mlperf_logging/compliance_checker: hpc_1.0.0/common.yaml, open_common.yaml and closed_cosmoflow.yaml, which the
open division has, too, and the two keys that hpc_3.0.0/closed_common.yaml adds. These are rules of a format: no log here is a result of MLPerf.
"""

import json
import unittest

from toolkit import PipelineTest, cosmo_train

ONCE, SOME, ANY = "exactly once", "at least once", "any number"
INIT_LIMIT = 30 * 60 * 1000  # ms


def positive(event):
    return event["value"] > 0


def at_least_0(event):
    return event["value"] >= 0


def given(event):
    return event["value"] != ""


def anything(_):
    return True


def one_of(*values):
    return lambda event: event["value"] in values


def has(name):
    return lambda event: name in event["metadata"]


# {key: (how often, what each of its lines must be)}
COMMON = {
    "submission_org": (ONCE, given),
    "submission_platform": (ONCE, given),
    "submission_division": (ONCE, one_of("closed", "open")),
    "submission_status": (ONCE, one_of("cloud", "onprem", "preview", "research")),
    "submission_benchmark": (ONCE, one_of("deepcam", "cosmoflow", "oc20")),
    "cache_clear": (SOME, lambda event: "value" in event),
    "init_start": (SOME, anything),
    "init_stop": (ONCE, anything),
    "run_start": (ONCE, anything),
    "run_stop": (ONCE, has("status")),
    "epoch_start": (SOME, has("epoch_num")),
    "epoch_stop": (SOME, has("epoch_num")),
    "eval_start": (SOME, has("epoch_num")),
    "eval_stop": (SOME, has("epoch_num")),
    "eval_accuracy": (SOME, has("epoch_num")),
    "train_samples": (ONCE, given),
    "eval_samples": (ONCE, given),
    "gradient_accumulation_steps": (ANY, positive),
}
COSMOFLOW = {
    "global_batch_size": (ONCE, positive),
    "opt_name": (ONCE, one_of("sgd", "SGD")),
    "opt_base_learning_rate": (ONCE, at_least_0),
    "opt_learning_rate_warmup_epochs": (ONCE, at_least_0),
    "opt_learning_rate_warmup_factor": (ONCE, at_least_0),
    "opt_learning_rate_decay_boundary_epochs": (ONCE, anything),
    "opt_learning_rate_decay_factor": (ONCE, anything),
    "dropout": (ANY, lambda event: 0 <= event["value"] < 1),
    "opt_weight_decay": (ANY, at_least_0),
}
CLOSED_3_0 = {"number_of_nodes": (ONCE, positive), "accelerators_per_node": (ONCE, at_least_0)}
TARGET = -0.124  # eval_accuracy that one line at least must reach, and stay below 0


def events_of(path):
    return [json.loads(line.removeprefix(":::MLLOG ")) for line in path.read_text().splitlines()]


def broken(events, rules):
    """Names of the rules that a log breaks."""
    found = set()
    for key, (number, check) in rules.items():
        lines = [event for event in events if event["key"] == key]
        if number == ONCE and len(lines) != 1 or number == SOME and not lines or not all(map(check, lines)):
            found.add(key)
    return found


def broken_order(events):
    """The same of the rules about what comes before what."""
    at = {}
    for place, event in enumerate(events):
        at.setdefault(event["key"], place)
    time = {key: events[place]["time_ms"] for key, place in at.items()}
    orders = [("init_start", "init_stop"), ("init_stop", "run_start"), ("run_start", "staging_start"), ("staging_start", "staging_stop"),
              ("run_start", "run_stop"), ("run_start", "epoch_start")]
    found = {f"{first} before {then}" for first, then in orders if then in at and not at.get(first, len(events)) < at[then]}
    if time["init_stop"] - time["init_start"] >= INIT_LIMIT:
        found.add("init within 30 minutes")
    return found


def reaches(events, target=TARGET):
    return any(target <= event["value"] < 0 for event in events if event["key"] == "eval_accuracy")


class Rules(PipelineTest):
    UNIVERSES = 6
    OPTIMIZERS = {"sgd": ("sgd:0.9", 0.01, 0), "adamw": ("adamw:0.003", 0.002, 0.003), "larc-adam": ("larc-adam:paper", 0.001, 0)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.logs = {}
        for ranks, name in ((1, "sgd"), (2, "sgd"), (1, "adamw"), (1, "larc-adam")):
            log = cls.root / f"{name}-{ranks}.log"
            optimizer, rate, _ = cls.OPTIMIZERS[name]
            cosmo_train(*cls.train_words(), "--epochs", 2, "--threads", 1, "--optimizer", optimizer, "--learning-rate", rate, "--min-learning-rate",
                        rate / 8, "--decay", "linear", "--warmup-epochs", 1, "--drops", "1:0.5", "--clip-norm", 2, "--stage", cls.root / "stage",
                        "--output", cls.root / f"{name}-{ranks}", "--mllog", log, ranks=ranks)
            cls.logs[name, ranks] = events_of(log)

    def test_common_rules(self):
        for run, events in self.logs.items():
            with self.subTest(run=run):
                self.assertEqual(broken(events, COMMON), set())
                self.assertEqual(broken_order(events), set())

    def test_rules_of_cosmoflow(self):
        """All but the optimizer, for which the rules take SGD alone."""
        for (name, _), events in self.logs.items():
            with self.subTest(optimizer=name):
                self.assertEqual(broken(events, COSMOFLOW), set() if name == "sgd" else {"opt_name"})

    def test_keys_of_the_closed_division(self):
        """Those that 3.0 added."""
        for run, events in self.logs.items():
            with self.subTest(run=run):
                self.assertEqual(broken(events, CLOSED_3_0), set())

    def test_the_target(self):
        """Four universes do not teach that much: the rule is not met, and a log with a better epoch would."""
        events = self.logs["sgd", 1]
        errors = [event["value"] for event in events if event["key"] == "eval_error"]
        self.assertEqual([event["value"] for event in events if event["key"] == "eval_accuracy"], [-error for error in errors])
        self.assertEqual(reaches(events), min(errors) <= -TARGET)
        self.assertTrue(reaches(events, -min(errors)))
        self.assertFalse(reaches(events, -min(errors) + 1e-6))

    def test_what_the_keys_state_is_what_was_given(self):
        for (name, _), events in self.logs.items():
            values = {event["key"]: event["value"] for event in events}
            _, rate, decay = self.OPTIMIZERS[name]
            expected = {"opt_name": name, "opt_base_learning_rate": rate, "opt_end_learning_rate": rate / 8, "opt_weight_decay": decay,
                        "opt_learning_rate_decay_schedule": "linear", "opt_learning_rate_warmup_epochs": 1, "opt_learning_rate_warmup_factor": 0,
                        "opt_learning_rate_decay_boundary_epochs": [1], "opt_learning_rate_decay_factor": [0.5], "opt_gradient_clip_norm": 2,
                        "global_batch_size": 8, "seed": 1, "number_of_nodes": 1, "accelerators_per_node": 0,
                        **({"opt_momentum": 0.9} if name == "sgd" else {"opt_adam_beta_1": 0.9, "opt_adam_beta_2": 0.999, "opt_adam_epsilon": 1e-8}),
                        **({"opt_larc": "paper"} if name == "larc-adam" else {})}
            self.assertEqual({key: values[key] for key in expected}, expected)

    def test_the_rules_find_what_is_wrong(self):
        events = self.logs["sgd", 1]
        without = [event for event in events if event["key"] != "train_samples"]
        self.assertEqual(broken(without, COMMON), {"train_samples"})
        twice = events + [event for event in events if event["key"] == "run_stop"]
        self.assertEqual(broken(twice, COMMON), {"run_stop"})
        wrong = [dict(event, value=-1) if event["key"] == "opt_weight_decay" else event for event in events]
        self.assertEqual(broken(wrong, COSMOFLOW), {"opt_weight_decay"})
        nameless = [dict(event, metadata={}) if event["key"] == "eval_stop" else event for event in events]
        self.assertEqual(broken(nameless, COMMON), {"eval_stop"})
        late = sorted(events, key=lambda event: event["key"] == "run_start")
        self.assertEqual(broken_order(late), {f"run_start before {then}" for then in ("staging_start", "run_stop", "epoch_start")})


if __name__ == "__main__":
    unittest.main()
