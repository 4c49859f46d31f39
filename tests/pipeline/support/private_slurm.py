"""A Slurm of one's own on this machine: munge, a controller and nodes, whose state is in one directory and whose ports are free ones."""

import ctypes
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
SETTINGS = """\
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
TmpFS={root}/%n
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=5
SlurmctldTimeout=10
SlurmdTimeout=6
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 CoresPerSocket=2 RealMemory=4000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 CoresPerSocket=2 RealMemory=4000 State=UNKNOWN
PartitionName=p Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""


def is_there():
    """Whether this machine has what is needed to start one, as root."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return os.geteuid() == 0 and all(shutil.which(name, path=path) for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun"))


def free_ports(number):
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def name_of(process):
    """Name of a process's program; "" if it has ended."""
    try:
        return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def parent_of(process):
    """Process id of a process's parent; 0 if it has ended."""
    try:
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


class PrivateSlurm:
    """Two nodes of two cores. `environment`: that of the programs which submit jobs."""

    def __init__(self, root, environment):
        self.root = pathlib.Path(root)
        self.environment = {name: value for name, value in environment.items() if not name.startswith(("SLURM", "SBATCH"))}
        self.environment.update(SLURM_CONF=str(self.root / "slurm.conf"), PATH=environment["PATH"] + ":/usr/sbin:/sbin")
        self.waiting = {}
        for name in ("state", "n1", "n2"):
            (self.root / name).mkdir(parents=True)
        (self.root / "munge.key").write_bytes(secrets.token_bytes(1024))
        (self.root / "munge.key").chmod(0o400)
        text = SETTINGS.format(root=self.root, host=socket.gethostname().split(".")[0], ports=free_ports(3))
        (self.root / "slurm.conf").write_text(text)
        self.daemons = {}
        self.start("munged", "munged", "--foreground", "--force", *(f"--{name}={self.root}/{file}" for name, file in (
            ("key-file", "munge.key"), ("socket", "munge.socket"), ("pid-file", "munged.pid"), ("log-file", "munged.log"),
            ("seed-file", "munge.seed"))))
        self.start("slurmctld", "slurmctld", "-D", "-c")
        for node in ("n1", "n2"):
            self.start_node(node)
        deadline = time.monotonic() + 60
        while not self.is_ready():
            assert time.monotonic() < deadline, (self.root / "slurmctld.log").read_text()
            time.sleep(0.1)

    def is_ready(self):
        done = subprocess.run(["sinfo", "--noheader", "--format=%D %t"], env=self.environment, capture_output=True, text=True)
        return done.stdout == "2 idle\n"

    def start(self, name, *words):
        """Starts a daemon, which ends with this process."""
        self.daemons[name] = subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                              preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    def start_node(self, node):
        self.start(node, "slurmd", "-D", "-N", node)

    def call(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def processes(self, **variables):
        """Processes of this Slurm's jobs, by their environment."""
        wanted = {f"{name}={value}".encode() for name, value in {"SLURM_CONF": self.root / "slurm.conf", **variables}.items()}
        found = []
        for process in pathlib.Path("/proc").iterdir():
            try:
                if process.name.isdigit() and wanted <= set((process / "environ").read_bytes().split(b"\0")):
                    found.append(int(process.name))
            except OSError:  # it has ended
                pass
        return found

    def stepds(self, **variables):
        """The slurmstepd of steps and batch scripts, by the environment of what they have started."""
        parents = {parent_of(process) for process in self.processes(**variables)}
        return [parent for parent in parents if name_of(parent) == "slurmstepd"]

    def ranks(self, tool, **variables):
        """Processes of a tool, by their environment."""
        return [process for process in self.processes(**variables) if name_of(process) == tool]

    def job_of(self, tool, *words):
        """The job whose rank of a tool has these words among its own, or None."""
        for process in self.ranks(tool):
            try:
                if set(words) <= set(pathlib.Path(f"/proc/{process}/cmdline").read_text().split("\0")):
                    variables = pathlib.Path(f"/proc/{process}/environ").read_text().split("\0")
                    return dict(variable.split("=", 1) for variable in variables if "=" in variable)["SLURM_JOB_ID"]
            except OSError:  # it has ended
                pass
        return None

    def kill_stepd(self, tool, **variables):
        """Kills the slurmstepd of a tool's rank, by the rank's environment."""
        rank, = self.ranks(tool, **variables)
        self.kill(parent_of(rank))

    def kill_node(self, node):
        """Kills all that runs on a node."""
        self.kill(self.daemons[node].pid, *self.stepds(SLURMD_NODENAME=node), *self.processes(SLURMD_NODENAME=node))
        self.daemons[node].wait()

    @staticmethod
    def kill(*processes, number=signal.SIGKILL):
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def jobs(self):
        """{id, or ARRAY_TASK: (state, reason)} of the jobs that are not over."""
        lines = self.call("squeue", "--noheader", "--array", "--format=%i %t %r").split("\n")
        return {line.split()[0]: tuple(line.split()[1:]) for line in lines if line}

    def hurry(self):
        """Lets requeued jobs, which Slurm would keep for two minutes, start after three seconds. Not at once, since nodes refuse a start
        as old as the job's end."""
        waiting = [job for job, state in self.jobs().items() if state == ("PD", "BeginTime")]
        self.waiting = {job: self.waiting.get(job, time.monotonic()) for job in waiting}
        for job, since in self.waiting.items():
            if time.monotonic() - since > 3:
                self.call("scontrol", "update", f"JobId={job}", "StartTime=now")

    def shown(self, job, name):
        """A field of "scontrol show job"."""
        return self.call("scontrol", "show", "job", job).split(f"{name}=")[1].split()[0]

    def wait(self, found, seconds=180):
        """Waits until `found` returns something that is true; requeued jobs need not wait long."""
        deadline = time.monotonic() + seconds
        while not (result := found()):
            assert time.monotonic() < deadline, f"{self.jobs()}\n{(self.root / 'slurmctld.log').read_text()[-3000:]}"
            self.hurry()
            time.sleep(0.05)
        return result

    def stop(self):
        """Ends all its jobs and daemons."""
        for name in reversed(self.daemons):
            self.daemons[name].kill()
            self.daemons[name].wait()
        self.kill(*self.stepds(), *self.processes())
