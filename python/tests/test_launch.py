"""`python -m oxshmem`: where this Python stands among the words for oshrun."""

import mmap
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import oxshmem as shmem
from oxshmem import __main__ as launch

PES = shmem.n_pes()


class Words(unittest.TestCase):
    def test_python_stands_before_each_program(self) -> None:
        for words in ("-n 4 | a.py 1", "--trace t.json -n 2 | a.py", "--bind | a.py", "--bind numa -n 2 | a.py --bind core", "--bind=core | a.py",
                      "--wdir folder --grace 2 -l | a.py", "-n 2 | -m package", "-n 1 | a.py : -n 2 | b.py 3", "--demo",
                      "-n 2 | -X faulthandler a.py", "-l | -Werror -u a.py", "-ln 4 | a.py", "-vln4 | a.py", "-lx A=1 -n 2 | a.py", "-n"):
            with self.subTest(words=words):
                expected = [sys.executable if word == "|" else word for word in words.split()]
                self.assertEqual(launch._with_python(words.replace("| ", "").split()), expected)
                self.assertEqual(launch._with_python(words.replace("|", "python").split()), expected)

    @unittest.skipUnless(PES == 1, "at one PE")
    def test_the_launcher_is_that_of_the_module_s_installation(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            top = Path(os.path.realpath(folder))
            # As Debian has it, and as pip puts the wheel into an environment.
            for module, library, launcher in (
                    ("usr/lib/oxshmem/lib/python/oxshmem", "usr/lib/x86_64-linux-gnu", "usr/lib/oxshmem/bin/oshrun"),
                    ("venv/lib/python3.11/site-packages/oxshmem", "venv/lib", "venv/bin/oshrun"),
                    ("opt/lib64/python/oxshmem", "opt/lib64", "opt/bin/oshrun")):
                for file in (f"{module}/__main__.py", f"{library}/liboxshmem.so.1", launcher, "usr/bin/oshrun"):
                    (top / file).parent.mkdir(parents=True, exist_ok=True)
                    (top / file).touch()
                self.assertEqual(launch._beside(top / module, top / library / "liboxshmem.so.1"), str(top / launcher))

    @unittest.skipUnless(PES == 1, "at one PE")
    def test_a_mapped_file_whose_path_is_no_text_does_not_hide_the_launcher(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.fsencode(folder) + b"/gr\xc3", "wb+") as file:
                file.write(b"x")
                file.flush()
                with mmap.mmap(file.fileno(), 1):
                    self.assertTrue(os.path.isfile(launch._oshrun()))

    @unittest.skipUnless(PES == 1, "at one PE")
    def test_every_option_that_takes_a_word_is_known(self) -> None:
        told = subprocess.run([launch._oshrun(), "--help"], text=True, capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual(told.returncode, 0, told.stderr)
        options = re.findall(r"^ +(?:-\w, )?(--[a-z-]+) <", told.stdout, re.MULTILINE)
        self.assertGreater(len(options), 15, told.stdout)
        self.assertEqual([option for option in options if option not in launch._TAKE_A_WORD], [])


if __name__ == "__main__":
    unittest.main()
