"""The lines of a program in profiles, timelines, reports and messages of the library."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import List

import oxshmem as shmem

# PE 1 comes to no barrier, so that the others stand in `meet` for ever.
STAND = """import oxshmem as shmem
flags = shmem.zeros(2, dtype=int)

def meet():
    shmem.barrier_all()

if shmem.my_pe() == 1:
    shmem.wait_until(flags, "==", 1)
meet()
"""
COUNT = """import numpy as np
import oxshmem as shmem
from oxshmem import shmem4py

row = shmem.zeros(1000)

def fill(pe):
    for i in range(10):
        shmem.p(row, float(i), pe, index=i)

fill((shmem.my_pe() + 1) % shmem.n_pes())
shmem.put(row, np.ones(1000), 0)
shmem.quiet()
shmem4py.barrier_all()
team = shmem.TEAM_WORLD.split_strided(0, 2, (shmem.n_pes() + 1) // 2)
"""


# A handler makes calls while the program waits, and its last call ends the wait.
HANDLE = """import signal
import oxshmem as shmem
flag, count = shmem.zeros(1, dtype=int), shmem.zeros(1, dtype=int)
calls = 0

def handle(*_):
    global calls
    calls += 1
    if calls <= 3:
        shmem.p(count, calls, 0)
    if calls == 3:
        shmem.p(flag, 1, 0)

signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
shmem.wait_until(flag, "==", 1)
signal.setitimer(signal.ITIMER_REAL, 0)
shmem.p(count, 0, 0)
"""


# PE 0 starts a job of one PE, once with its environment as it is, and once with a copy of it.
OWN_JOB = """import os
import subprocess
import sys
import oxshmem as shmem
alone = len(sys.argv) > 1
shmem.barrier_all()
if alone:
    print(shmem.n_pes(), shmem.g(shmem.zeros(1), 0))
elif shmem.my_pe() == 0:
    child = [sys.executable, sys.argv[0], "alone"]
    subprocess.run(["env", "SHMEM_SINGLETON=1", *child], check=True)
    subprocess.run(child, env={**os.environ, "SHMEM_SINGLETON": "1"}, check=True)
shmem.barrier_all()
"""


# A flag without a fence before it, in a program that does not finalize.
LUCK = """import numpy as np
import oxshmem as shmem
data, flag = shmem.zeros(32, dtype=int), shmem.zeros(1, dtype=int)
if shmem.my_pe() == 0:
    shmem.put(data, np.full(32, 7), 1)
    shmem.p(flag, 1, 1)
elif shmem.my_pe() == 1:
    shmem.wait_until(flag, "==", 1)
    if not np.all(data == 7):
        shmem.global_exit(1)
"""


# Only one PE starts jobs of its own.
@unittest.skipUnless(shmem.n_pes() == 1, "at one PE")
class Lines(unittest.TestCase):
    def setUp(self) -> None:
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)

    def path(self, name: str) -> str:
        return os.path.join(self.holder.name, name)

    def command(self, program: str, *options: str) -> List[str]:
        with open(self.path("lines.py"), "w") as file:
            file.write(program)
        return [sys.executable, "-m", "oxshmem", *options, self.path("lines.py")]

    def job(self, program: str, *options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        command = self.command(program, *options)
        return subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, **variables})

    def test_a_profile_names_the_lines_that_call(self) -> None:
        folder = self.path("profile")
        ended = self.job(COUNT, "-n", "3", f"--profile={folder}")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        tool = os.path.join(os.path.dirname(self.oshrun()), "oxshmem")
        tables = self.path("tables")
        subprocess.run([tool, "profile", folder, "--csv", tables], check=True, capture_output=True)
        with open(os.path.join(tables, "places.csv")) as file:
            rows = [line.split(",")[:3] for line in file.read().split("\n")[1:-1]]
        for row in (["lines.py:9", "shmem_ctx_double_p", "30"], ["lines.py:12", "shmem_ctx_putmem", "3"],
                    ["lines.py:13", "shmem_quiet", "3"], ["lines.py:14", "shmem_barrier_all", "3"],
                    ["lines.py:15", "shmem_team_split_strided", "3"]):
            self.assertIn(row, rows)
        self.assertIn("lines.py:5", [place for place, _, _ in rows])
        # Every call has a place, and what the module asks for its own sake is no call of the program.
        self.assertEqual([row for row in rows if not row[0].startswith("lines.py:")], [["end of the program", "shmem_finalize", "3"]])
        self.assertNotIn("shmem_addr_accessible", [routine for _, routine, _ in rows])
        self.assertIn("of its symmetric heap", ended.stderr)

    def test_a_job_that_a_pe_starts_takes_no_record_of_the_outer_job(self) -> None:
        for pes in (1, 2):
            with self.subTest(pes=pes):
                folder = self.path(f"profile-{pes}")
                ended = self.job(OWN_JOB, "-n", str(pes), f"--profile={folder}")
                self.assertEqual((ended.returncode, ended.stdout.split()), (0, ["1", "0.0"] * 2), ended.stderr)
                self.assertIn(f"profile of {pes} PE", ended.stderr)
                self.assertNotIn("are mixed", ended.stderr)
                self.assertRegex(ended.stderr, rf"shmem_barrier_all +{2 * pes} ")
                self.assertNotIn("double_g", ended.stderr)

    def test_calls_of_a_handler_have_lines_of_their_own(self) -> None:
        ended = self.job(HANDLE, "-n", "1", f"--trace={self.path('trace.json')}")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        with open(self.path("trace.json")) as file:
            events = json.load(file)["traceEvents"]
        told = [event["args"]["at"] for event in events if event["name"].endswith("_p")]
        # Those of the handler are inside of the wait, and the line of the wait is there again when it has returned.
        self.assertEqual(told, ["lines.py:10"] * 3 + ["lines.py:12", "lines.py:18"])
        waits = [event["args"]["at"] for event in events if event["name"].endswith("_wait_until")]
        self.assertEqual(waits, ["lines.py:16"])

    def test_a_timeline_names_the_lines_that_call(self) -> None:
        ended = self.job(COUNT, "-n", "2", f"--trace={self.path('trace.json')}")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        with open(self.path("trace.json")) as file:
            events = json.load(file)["traceEvents"]
        told = [event["args"]["at"] for event in events if event["name"] == "shmem_ctx_double_p"]
        self.assertEqual(told, ["lines.py:9"] * 20)

    def test_a_deadlock_names_the_lines_that_wait(self) -> None:
        ended = self.job(STAND, "-n", "2", SHMEM_DEADLOCK="abort", OPENBLAS_NUM_THREADS="1")
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        self.assertIn("called from lines.py:8", ended.stderr)
        self.assertIn("called from meet at lines.py:5", ended.stderr)

    def test_a_job_that_is_asked_names_the_lines_that_wait(self) -> None:
        tool = os.path.join(os.path.dirname(self.oshrun()), "oxshmem")
        for nodes in ("1", "2"):
            command = self.command(STAND, "-n", "2", "--nodes", nodes, "--timeout", "300")
            quiet = {**os.environ, "SHMEM_DEADLOCK": "off"}
            # Tests that a shell runs in the background ignore SIGINT, and so would the job.
            heeds = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=quiet, preexec_fn=heeds) as job:
                asked = ""
                # Until both PEs stand there; a job that does not come so far ends by its time-out.
                while job.poll() is None and not ("from meet at lines.py:5" in asked and "from lines.py:8" in asked):
                    asked = subprocess.run([tool, "why", str(job.pid)], text=True, capture_output=True).stdout
                    time.sleep(0.2)
                self.assertIsNone(job.poll(), asked)
                job.send_signal(signal.SIGINT)
                self.assertEqual(job.wait(), 130)

    def simulate(self, *options: str) -> str:
        self.command(LUCK)
        tool = os.path.join(os.path.dirname(self.oshrun()), "oxshmem")
        command = [tool, "sim", "-n", "3", "--seeds", "20", *options, sys.executable, self.path("lines.py")]
        variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, env=variables).stdout

    def test_a_seed_of_a_simulation_repeats(self) -> None:
        runs = []
        for _ in range(6):
            told = self.simulate("--digests", "--no-story", "--keep-going")
            # A PE that the system lets wait for longer than a turn is passed over, and such a run is no function of its seed.
            if "for long without a call" not in told:
                digests = [line.partition(": ")[::2] for line in told.split("\n") if line.startswith("seed ")]
                self.assertEqual(len(digests), 20)
                # A job that the system holds up until its time limit has none.
                runs.append({seed: digest for seed, digest in digests if not digest.startswith("none")})
            if len(runs) == 2:
                break
        else:
            self.skipTest("on a machine as busy as this one PEs are passed over")
        both = [seed for seed in runs[0] if seed in runs[1]]
        self.assertGreater(len(both), 10)
        self.assertEqual(*([run[seed] for seed in both] for run in runs))

    def test_the_story_of_a_simulation_names_lines(self) -> None:
        told = self.simulate()
        turn = r"PE [0-2] goes on at (lines.py:\d|end of the program)|The network of PE [0-2] \w+ bytes .* \(lines.py:\d\)"
        self.assertRegex(told, rf"turns at step \d+\. ({turn}), while there were under way:")
        block = r"bytes \d+ to \d+ of the block of \d+ bytes allocated at lines.py:3"
        self.assertRegex(told, rf"put #\d+ to PE 1 {block}, at Heap\S+ \(lines.py:5\)")

    def test_a_program_that_fails_in_a_simulation_ends_with_its_own_status(self) -> None:
        program = "import sys\nimport oxshmem as shmem\nshmem.barrier_all()\nsys.exit(3)\n"
        # The story asks for the line of each call, also of those behind the end of Python.
        ended = self.job(program, "-n", "2", f"--sim=1,story={self.path('story')}", OPENBLAS_NUM_THREADS="1")
        self.assertEqual(ended.returncode, 3, ended.stdout + ended.stderr)

    def test_an_error_of_the_library_names_the_line(self) -> None:
        program = "import oxshmem as shmem\na = shmem.zeros(4)\nif shmem.my_pe() == 0:\n    shmem.barrier_all()\nshmem.sum_reduce(a, a)\n"
        ended = self.job(program, "-n", "2")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertRegex(ended.stderr, "called from: lines.py:[45]")

    def test_an_error_in_a_call_that_is_over_at_once_names_the_line(self) -> None:
        program = "import oxshmem as shmem\na = shmem.zeros(4)\ndef step():\n    shmem.p(a, 1.0, 0)\nshmem.free(a)\nstep()\n"
        ended = self.job(program, "-n", "2", SHMEM_CHECK="3")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("called from: step at lines.py:4\n", ended.stderr)

    def test_a_name_that_is_too_long_is_cut_between_two_characters(self) -> None:
        # The room for a name ends within its eleventh letter of two bytes.
        program = ("import oxshmem as shmem\na = shmem.zeros(4)\ndef step():\n    shmem.p(a, 1.0, 0)\n"
                   "step.__code__ = step.__code__.replace(co_name='n' + chr(0xe9) * 20)\nshmem.free(a)\nstep()\n")
        ended = self.job(program, "-n", "2", SHMEM_CHECK="3")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("called from: n" + chr(0xe9) * 10 + " at lines.py:4\n", ended.stderr)

    def oshrun(self) -> str:
        from oxshmem.__main__ import _oshrun
        return _oshrun()


if __name__ == "__main__":
    unittest.main()
