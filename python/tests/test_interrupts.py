"""Handlers of signals, and Ctrl-C, while a call waits."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Tuple

import oxshmem as shmem

# Waits for what nobody does; `CALL` is the wait.
WAIT = """import os
import signal
import oxshmem as shmem
flags, arrived = shmem.zeros(2, dtype=int), shmem.new_signal()

def handle(*_):
    BODY

try:
    HANDLER
    if shmem.my_pe() == 0:
        print(os.getpid(), flush=True)
    CALL
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(int(flags[0]), flush=True)
"""


# Only one PE starts jobs of its own.
@unittest.skipUnless(shmem.n_pes() == 1, "at one PE")
class Interrupts(unittest.TestCase):
    def setUp(self) -> None:
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)

    def signalled(self, number: int, pes: str, call: str, handler: str = "", body: str = "pass") -> Tuple[int, str, str]:
        """Sends a signal to PE 0 while it waits. How the job ends, and what it has written after its PE's number."""
        path = os.path.join(self.holder.name, "waits.py")
        with open(path, "w") as file:
            file.write(WAIT.replace("CALL", call).replace("HANDLER", handler or "pass").replace("BODY", body))
        command = [sys.executable, "-m", "oxshmem", "-n", pes, "--timeout", "60", path]
        # Tests that a shell runs in the background ignore SIGINT, and so would the job.
        heeds = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        variables = {**os.environ, "SHMEM_DEADLOCK": "off"}
        with subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=variables, preexec_fn=heeds) as job:
            assert job.stdout
            pid = int(job.stdout.readline())
            time.sleep(0.3)  # it is most likely in the wait then; a signal that comes earlier shows the same
            os.kill(pid, number)
            out, err = job.communicate()
            return job.returncode, out, err

    def test_an_interrupt_ends_a_wait_of_the_only_pe(self) -> None:
        for call in ("shmem.wait_until(flags, '==', 1)", "shmem.signal_wait_until(arrived, '>', 0)",
                     "shmem.wait_until_all(flags, '==', 1)", "shmem.wait_until_any(flags, '==', [1, 1])",
                     "shmem.wait_until_some(flags, '==', 1)"):
            with self.subTest(call=call):
                self.assertEqual(self.signalled(signal.SIGINT, "1", call), (0, "interrupted\n0\n", ""))

    def test_a_handler_runs_in_a_wait_and_may_end_it(self) -> None:
        handler = "signal.signal(signal.SIGUSR1, handle)"
        for body, told in (("raise SystemExit(6)", (6, "")), ("flags[0] = 1", (0, "1\n"))):
            with self.subTest(body=body):
                status, out, err = self.signalled(signal.SIGUSR1, "1", "shmem.wait_until(flags, '==', 1)", handler, body)
                self.assertEqual((status, out), told, err)
        status, _, err = self.signalled(signal.SIGUSR1, "2", "shmem.wait_until(flags, '==', 1)", handler, "raise SystemExit(6)")
        self.assertEqual(status, 6, err)

    def test_a_handler_may_wait_itself(self) -> None:
        body = "shmem.barrier_all(); shmem.p(flags, 1, 0, index=1); shmem.wait_until(flags, '==', 1, index=1); flags[0] = 7"
        handler = "signal.signal(signal.SIGUSR1, handle)"
        ended = self.signalled(signal.SIGUSR1, "1", "shmem.wait_until(flags, '==', 7)", handler, body)
        self.assertEqual(ended, (0, "7\n", ""))

    def deadlocked(self, program: str) -> "subprocess.CompletedProcess[str]":
        path = os.path.join(self.holder.name, "alone.py")
        with open(path, "w") as file:
            file.write("import signal\nimport oxshmem as shmem\nflag = shmem.zeros(1, dtype=int)\n" + program)
        command = [sys.executable, "-m", "oxshmem", "-n", "1", "--timeout", "20", path]
        variables = {**os.environ, "SHMEM_DEADLOCK": "abort", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, env=variables)

    def test_a_wait_of_the_only_pe_is_a_deadlock(self) -> None:
        ended = self.deadlocked("shmem.wait_until(flag, '==', 1)\n")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("the job's only PE waits, and nothing can end that", ended.stderr)
        self.assertIn("called from alone.py:4", ended.stderr)

    def test_a_lock_that_nobody_will_release_is_a_deadlock(self) -> None:
        program = "import threading\nlock = shmem.Lock()\nTAKE\nlock.acquire()\n"
        for take in ("lock.acquire()", "thread = threading.Thread(target=lock.acquire); thread.start(); thread.join()"):
            ended = self.deadlocked(program.replace("TAKE", take))
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertIn("it holds this lock already", ended.stderr)
            self.assertIn("called from alone.py:7", ended.stderr)

    def test_a_wait_that_a_handler_could_end_is_no_deadlock(self) -> None:
        program = "import os, subprocess\ndef handle(*_):\n    flag[0] = 1\nsignal.signal(signal.SIGINT, handle)\n" \
            "subprocess.Popen(['sh', '-c', f'sleep 6; kill -INT {os.getpid()}'])\nshmem.wait_until(flag, '==', 1)\n"
        ended = self.deadlocked(program)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
