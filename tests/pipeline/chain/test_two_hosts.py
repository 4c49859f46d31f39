"""Two ranks on two hosts, and a link between them that is cut: network namespaces of this machine stand for the hosts.

Skipped where they cannot be made: that takes root, ip and unshare.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from test_lost_peer import IO, LostPeer, Ranks, is_there, report
from toolkit import BIN, SESSIONS, contents, succeed

HOSTS = [f"cosmo-{os.getpid()}-{end}" for end in "ab"]
LINK = "cosmo0"
AGENT = """#!/bin/sh
# Runs words on a host, as ssh does: with its network, its name and its shared memory.
host=$1
shift
exec ip netns exec $host unshare --uts --mount sh -c "hostname $host; mount -t tmpfs none /dev/shm; exec $*"
"""


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def hosts_can_be_made():
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare"))):
        return False
    with contextlib.suppress(subprocess.CalledProcessError):
        ip("netns", "add", HOSTS[0])
        ip("netns", "del", HOSTS[0])
        return True
    return False


def tools_on(host):
    """Processes of ours on a host."""
    pids = map(int, ip("netns", "pids", host).split())
    return [pid for pid in pids if is_there(pid) and pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("cosmo-")]


@unittest.skipUnless(hosts_can_be_made(), "needs root, ip and unshare")
class TwoHosts(LostPeer):
    LABELS = ("slow",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent = cls.root / "agent"
        cls.agent.write_text(AGENT)
        cls.agent.chmod(0o755)
        cls.addClassCleanup(cls.remove_hosts)
        for host in HOSTS:
            ip("netns", "add", host)
        ip("link", "add", LINK, "netns", HOSTS[0], "type", "veth", "peer", "name", LINK, "netns", HOSTS[1])
        for number, host in enumerate(HOSTS, 1):
            ip("-n", host, "addr", "add", f"10.77.0.{number}/24", "dev", LINK)
            ip("-n", host, "link", "set", "lo", "up")
            ip("-n", host, "link", "set", LINK, "up")
        cls.suite = ["generate", "--simulations", 3, "--omega-m", "0.25:0.35", "--box", 128, "--particles", 64, "--steps", 12,
                     "--ranks-per-simulation", 2, "--threads", 1]

    @classmethod
    def remove_hosts(cls):
        for host in HOSTS:
            with contextlib.suppress(subprocess.CalledProcessError):
                for pid in ip("netns", "pids", host).split():
                    os.kill(int(pid), signal.SIGKILL)
                ip("netns", "del", host)

    def start(self, seconds, tool, *words):
        """Starts a tool with a rank on each host and a --peer-timeout of this number of seconds."""
        settings = {"plm_rsh_agent": self.agent, "btl": "self,tcp", "btl_tcp_if_include": LINK, "oob_tcp_if_include": LINK,
                    "orte_tmpdir_base": f"{SESSIONS.name}/hosts"}
        chosen = [word for name, value in settings.items() for word in ("--mca", name, value)]
        words = ["mpirun", *chosen, "--bind-to", "none", "--host", ",".join(HOSTS), BIN / tool, *words,
                 "--peer-timeout", seconds / 60]
        return Ranks([self.agent, HOSTS[0], *map(str, words)])

    def set_link(self, state):
        ip("-n", HOSTS[1], "link", "set", LINK, state)

    def survives_cuts(self, begun, tool, *words):
        """Cuts the link for three seconds, and for good; `begun(output)` is true when a run is in its middle."""
        whole, output = self.root / f"{tool}-whole", self.root / f"{tool}-parts"
        succeed(tool, *words, "--output", whole, ranks=2)
        ranks = self.start(20, tool, *words, "--output", output)
        ranks.wait_for(lambda: begun(output))
        self.set_link("down")
        time.sleep(3)
        self.set_link("up")
        self.assertEqual(ranks.end()[0::2], (0, []), ranks.lines)
        self.assertEqual(contents(output), contents(whole))

        shutil.rmtree(output)
        ranks = self.start(5, tool, *words, "--output", output)
        ranks.wait_for(lambda: begun(output))
        self.set_link("down")
        since = time.monotonic()
        while any(map(tools_on, HOSTS)):
            self.assertLess(time.monotonic() - since, 15)
            time.sleep(0.05)
        gone = time.monotonic() - since
        self.set_link("up")
        code, _, sentences = ranks.end()
        self.assertEqual(code, IO, ranks.lines)
        self.assertIn(f"No sign of life for 5.0 s (--peer-timeout) from rank 1 on {HOSTS[1]}: ", sentences[0][1])
        report(f"{tool}: reported {sentences[0][0] - since:.2f} s after the cut, both ranks gone after {gone:.2f} s, mpirun "
               f"after {time.monotonic() - since:.2f} s\n{sentences}")
        succeed(tool, *words, "--output", output, ranks=2)
        self.assertEqual(contents(output), contents(whole))

    def test_a_training(self):
        self.survives_cuts(lambda output: (output / "manifest.json").exists(), "cosmo-train", *self.training)

    def test_universes(self):
        self.survives_cuts(lambda output: list(output.glob("sim-*/*.h5")), "cosmo-sim", *self.suite)


if __name__ == "__main__":
    unittest.main()
