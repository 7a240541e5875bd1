//! The Python module, from a wheel in a fresh environment with numpy: its tests, the examples, their types, and the tests of
//! shmem4py, whose names it knows as well.

mod interpreters;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oxshmem_faults::text_of;

use crate::counts::{CheckCounts, skipped};
use crate::product::recipe::VERSION;
use crate::{Outcome, command, disk, target, top};

/// How PEs are spread: options of oshrun.
static SHAPES: [&[&str]; 4] = [&["-n", "1"], &["-n", "2"], &["-n", "4"], &["-n", "2", "--nodes", "2"]];
/// The other binding, whose tests are fetched and never kept.
const OTHER: &str = "shmem4py-1.0.0";
/// Lines of its tests, and those that stand for them here. The last one is an error of its own with numpy 2, which makes no 255 of -1.
const OTHERWISE: [(&str, &str); 4] = [
    ("from shmem4py import shmem\n", "from oxshmem import shmem4py as shmem\n"),
    ("from shmem4py import rc\n", "from oxshmem.shmem4py import rc\n"),
    ("from shmem4py.shmem import ffi\n", "from oxshmem.shmem4py import ffi\n"),
    ("np.full(1, -1, dtype=t)", "np.full(1, np.array(-1).astype(t), dtype=t)"),
];

/// The most files that the wheel may have: pip writes and compares each.
const FILES: usize = 400;

/// An environment of Python with the wheel, numpy and mypy.
struct Environment {
    folder: PathBuf,
    counts: CheckCounts,
}

pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let folder = target().join("python");
    disk::make_folder(&folder)?;
    let mut here = Environment { folder, counts: CheckCounts::default() };
    if let Err(why) = here.make() {
        return Ok(skipped!("Python: there is no environment with numpy 2 and mypy: {why}"));
    }
    here.install(prefix)?;
    for shape in SHAPES {
        here.job("the module's tests", shape, &top().join("python/tests"), &["-m", "unittest", "discover", "-q"]);
    }
    let examples = top().join("examples/python");
    let mut programs = disk::entries(&examples)?;
    programs.retain(|path| path.extension().is_some_and(|ending| ending == "py"));
    for program in &programs {
        here.job("example", SHAPES[2], &examples, &[&program.display().to_string()]);
    }
    here.beside_mpi(&examples.join("beside"));
    here.beside_torch(prefix, &examples.join("beside"));
    here.types(&programs);
    here.other_interpreters();
    match here.fetch_other() {
        Ok(tests) => {
            // The module's own tests have all shapes. With `CHECK_LONG=1` these have, too.
            for shape in if oxshmem_faults::is_long() { &SHAPES[..] } else { &SHAPES[2..] } {
                let options = ["-W", "ignore", "-m", "unittest", "discover", "-q", "-s", "test"];
                here.job("shmem4py's tests", shape, &tests, &options);
            }
        }
        Err(why) => here.counts += skipped!("shmem4py's tests: {OTHER} cannot be fetched: {why}"),
    }
    Ok(here.counts)
}

/// A job of Python, by the programs of an environment.
fn job(bin: &Path, shape: &[&str], arguments: &[&str]) -> Command {
    let mut job = Command::new(bin.join("oshrun"));
    // Threads of numpy's would crowd the processors of the PEs.
    job.env_remove("PYTHONPATH").env_remove("LD_LIBRARY_PATH").env("OPENBLAS_NUM_THREADS", "1").stdin(Stdio::null());
    job.args(shape).args(["--timeout", "300"]).arg(bin.join("python")).args(arguments);
    job
}

fn platform() -> String {
    format!("linux_{}", std::env::consts::ARCH)
}

impl Environment {
    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("environment/bin").join(name)
    }

    /// The environment's Python, which sees nothing else.
    fn python(&self) -> Command {
        let mut python = Command::new(self.program("python"));
        python.env_remove("PYTHONPATH").env_remove("LD_LIBRARY_PATH");
        python
    }

    fn pip(&self, arguments: &[&str]) -> Outcome {
        let always = ["-m", "pip", "--quiet", "--disable-pip-version-check"];
        command::read(self.python().args(always).args(arguments).current_dir(&self.folder)).map(drop)
    }

    fn make(&self) -> Outcome {
        if !self.program("python").exists() {
            command::read(Command::new("python3").args(["-m", "venv", "environment"]).current_dir(&self.folder))?;
        }
        self.pip(&["install", "numpy>=2", "mypy"])
    }

    /// Makes the wheel twice, which must be one file, and installs it.
    fn install(&mut self, prefix: &Path) -> Outcome {
        let platform = platform();
        let name = self.wheel().file_name().expect("a file").to_owned();
        let wheels = ["first", "second"].map(|made| self.folder.join(made).join(&name));
        for wheel in &wheels {
            disk::make_folder(wheel.parent().expect("it lies in a folder"))?;
            let mut script = Command::new("python3");
            script.arg(top().join("ci/packages/wheel.py")).arg(prefix).arg(wheel).args([VERSION, &platform]);
            command::run(script.env("SOURCE_DATE_EPOCH", "1700000000"))?;
        }
        let [first, second] = wheels.each_ref().map(fs::read);
        let are_equal = first.is_ok_and(|first| second.is_ok_and(|second| first == second));
        self.count("the wheel made twice", are_equal, "they differ");
        let list = command::read(Command::new("python3").args(["-m", "zipfile", "-l"]).arg(&wheels[0]))?;
        let files = list.lines().count();
        self.count("the wheel's files", files <= FILES, &format!("{files}, which pip takes long for; at most {FILES}"));
        self.pip(&["install", "--force-reinstall", "--no-deps", &wheels[0].display().to_string()])
    }

    /// The wheel that the tests are run with.
    fn wheel(&self) -> PathBuf {
        self.folder.join("first").join(format!("oxshmem-{VERSION}-py3-none-{}.whl", platform()))
    }

    fn count(&mut self, what: &str, is_well: bool, said: &str) {
        self.counts += CheckCounts::of(what, if is_well { Ok(()) } else { Err(said.to_owned()) });
    }

    fn job(&mut self, what: &str, shape: &[&str], folder: &Path, arguments: &[&str]) {
        let what = format!("{what} {} on {}", arguments.last().unwrap_or(&""), shape.join(" "));
        let bin = self.folder.join("environment/bin");
        self.counts += CheckCounts::of(what, command::read(job(&bin, shape, arguments).current_dir(folder)));
    }

    /// A program that uses mpi4py too, with the MPICH that Python's registry has.
    fn beside_mpi(&mut self, examples: &Path) {
        match self.pip(&["install", "mpi4py", "mpich"]) {
            Ok(()) => self.job("beside mpi4py", SHAPES[2], examples, &["with_mpi.py"]),
            Err(why) => self.counts += skipped!("with_mpi.py: there is no mpi4py with MPICH: {why}"),
        }
    }

    /// A program that uses torch.distributed too, with the system's torch: the registry's has 500 MB and needs drivers.
    fn beside_torch(&mut self, prefix: &Path, examples: &Path) {
        let python = || {
            let mut python = Command::new("/usr/bin/python3");
            python.env("PYTHONPATH", prefix.join("lib/python")).env("OPENBLAS_NUM_THREADS", "1");
            // Younger files in the installation would let the other lane compile all of its programs again.
            python.env("PYTHONDONTWRITEBYTECODE", "1");
            python
        };
        if let Err(why) = command::read(python().args(["-c", "import torch.distributed, oxshmem"])) {
            self.counts += skipped!("with_torch.py: /usr/bin/python3 has no torch (Debian: python3-torch): {why}");
            return;
        }
        let job = ["-m", "oxshmem", "-n", "4", "--timeout", "300", "with_torch.py"];
        self.counts += CheckCounts::of("beside torch", command::read(python().args(job).current_dir(examples)));
    }

    /// Checks the types of the module, its tests and the examples strictly.
    fn types(&mut self, programs: &[PathBuf]) {
        let mut mypy = self.python();
        mypy.env("MYPYPATH", top().join("python"))
            .args(["-m", "mypy", "--strict", "--cache-dir"])
            .arg(self.folder.join("types"));
        mypy.arg(top().join("python/oxshmem")).arg(top().join("python/tests")).args(programs);
        let checked = command::output(&mut mypy);
        let said = checked.as_ref().map_or_else(String::clone, text_of);
        self.count("mypy --strict", checked.is_ok_and(|output| output.status.success()), &said);
    }

    /// Fetches the other binding's sources and changes the lines by which its tests import it. Returns their folder.
    fn fetch_other(&self) -> Outcome<PathBuf> {
        let folder = self.folder.join(OTHER);
        let _ = fs::remove_dir_all(&folder);
        let version = OTHER.replace('-', "==");
        self.pip(&["install", "setuptools", "wheel", "cffi"])?;
        self.pip(&["download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", &version])?;
        command::read(Command::new("tar").arg("xf").arg(format!("{OTHER}.tar.gz")).current_dir(&self.folder))?;
        for path in disk::entries(&folder.join("test"))?.iter().filter(|path| path.is_file()) {
            let text = OTHERWISE.iter().fold(disk::read(path)?, |text, (theirs, ours)| text.replace(theirs, ours));
            disk::write(path, &text)?;
        }
        Ok(folder)
    }
}
