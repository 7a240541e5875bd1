"""A job of PEs behind a notebook: each cell runs on all PEs, and what each one prints comes back, with the value of the last line.

In Jupyter this file is imported: `from notebook import Job; job = Job(4); print(job("shmem.my_pe()"))`. Jupyter has a package
`notebook` of its own: the folder of this file comes first in the path, by `sys.path.insert(0, folder)`. PEs are started by oshrun and
hear of cells through a pipe to PE 0, which broadcasts them; so the kernel needs no library and can be restarted alone.

A cell is any text of Python. An exception is the answer of its PE, and the job goes on. If one PE alone has it, and the others wait
for that PE in a call of the library, the job ends. The terminal, in newer kernels the output of the cell, too, has the exception
in one line, and what the library says.
"""

import ast
import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from typing import Any, Dict, List

# Bytes of a cell, and of the answer of a PE.
ROOM = 1 << 16


class Job:
    """PEs that wait for cells."""

    def __init__(self, pes: int) -> None:
        command = [sys.executable, "-m", "oxshmem", "-n", str(pes), __file__]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, cell: str) -> List[str]:
        """Runs a cell on all PEs; returns for each what it has printed and the value of the last line, or the traceback."""
        assert self.process.stdin and self.process.stdout
        line = json.dumps(cell) + "\n"
        if len(line) > ROOM:
            raise ValueError(f"a cell of {len(line)} bytes, and a PE takes {ROOM}: put its functions into a module")
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise RuntimeError(f"the job has ended with status {self.process.wait()}; its last words are below the cell or on the terminal")
        answers: List[str] = json.loads(answer)
        return answers

    def end(self) -> int:
        """Ends the PEs."""
        with self.process:  # closes both pipes, and waits
            pass
        return self.process.returncode


def run(cell: str, names: Dict[str, Any], me: int) -> str:
    """Runs a cell on this PE; returns what it has printed and the value of the last line, or the traceback."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            tree = ast.parse(cell, "cell")
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "cell", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
                if value is not None:
                    print(repr(value))
        except (Exception, SystemExit) as error:
            is_read = not isinstance(error, SyntaxError) or error.filename != "cell"
            of_cell = error.__traceback__.tb_next if is_read and error.__traceback__ else None
            print("".join(traceback.format_exception(type(error), error, of_cell)))
            # The answer is lost if the others wait for this PE in the cell.
            print(f"PE {me}: {traceback.format_exception_only(type(error), error)[-1].rstrip()}", file=sys.stderr, flush=True)
    return said.getvalue().rstrip("\n")


def serve() -> None:
    """What each PE does: cells come until there are no more."""
    import numpy as np
    import oxshmem as shmem

    # The pipe is for answers. What C functions and other processes print goes to the terminal.
    answers_to = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cell, answers = shmem.zeros(ROOM, dtype="u1"), shmem.zeros(ROOM * shmem.n_pes(), dtype="u1")
    mine, names = shmem.zeros(ROOM, dtype="u1"), {"shmem": shmem, "np": np}
    while True:
        text = sys.stdin.readline() if shmem.my_pe() == 0 else ""
        mine[:] = np.frombuffer(text.encode().ljust(ROOM, b"\0"), dtype="u1")
        shmem.broadcast(cell, mine, root=0)
        line = cell.tobytes().rstrip(b"\0").decode()
        if not line:
            return
        # Names of files may have bytes that are no text: they are escaped.
        answer = run(json.loads(line), names, shmem.my_pe()).encode(errors="backslashreplace")[:ROOM]
        mine[:] = np.frombuffer(answer.ljust(ROOM, b"\0"), dtype="u1")
        shmem.fcollect(answers, mine)
        if shmem.my_pe() == 0:
            rows = answers.reshape(shmem.n_pes(), ROOM)
            print(json.dumps([row.tobytes().rstrip(b"\0").decode(errors="ignore") for row in rows]), file=answers_to, flush=True)


if __name__ == "__main__":
    serve()
