//! What is settled before the first PE starts: which files run where, and where their streams lead.

use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use oxshmem_base::Error;
use oxshmem_os::cpus;

use crate::arguments::{Label, Plan, Program};
use crate::pe::{self, Started, Streams};
use crate::program::{self, Unusable};
use crate::wrapper::quoted;
use crate::{input, say};

/// What every PE runs, found before the first one starts.
pub(crate) struct Prepared<'a> {
    pub(crate) plan: &'a Plan,
    files: Vec<PathBuf>,
    /// The program of each PE.
    pub(crate) apps: Vec<u32>,
    processors: Vec<usize>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Result<Prepared<'a>, Unusable> {
        let file = |program: &Program| program::resolve(&program.command[0], program.wdir.as_deref());
        let files = plan.programs.iter().map(file).collect::<Result<_, _>>()?;
        if let Some(folder) = &plan.output_dir {
            std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let apps =
            plan.programs.iter().zip(0u32..).flat_map(|(program, i)| std::iter::repeat_n(i, program.count as usize));
        Ok(Prepared { plan, files, apps: apps.collect(), processors: cpus::allowed() })
    }

    /// The processor for a PE, if PEs are to be pinned.
    fn processor(&self, pe: u32) -> Option<usize> {
        self.plan.bind.then(|| self.processors[pe as usize % self.processors.len()])
    }

    /// Starts one PE.
    pub(crate) fn start(&self, pe: u32, mark: &str) -> Result<Started, Unusable> {
        let app = self.apps[pe as usize] as usize;
        let streams = streams(self.plan, pe)?;
        let (program, file, processor) = (&self.plan.programs[app], &self.files[app], self.processor(pe));
        pe::start(pe, self.plan.size(), mark, program, file, processor, streams).map_err(unstartable)
    }

    /// `--dry-run`.
    pub(crate) fn show(&self) {
        for (&app, pe) in self.apps.iter().zip(0..) {
            let program = &self.plan.programs[app as usize];
            let set = pe::variables(pe, self.plan.size(), "<random>");
            let mut words: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
            words.extend(program.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value))));
            words.push(quoted(self.files[app as usize].as_os_str()));
            words.extend(program.command[1..].iter().map(|word| quoted(word)));
            let place = self.processor(pe).map(|cpu| format!(" on processor {cpu}")).unwrap_or_default();
            let folder = program.wdir.as_ref().map(|wdir| format!(" in {}", wdir.display())).unwrap_or_default();
            println!("PE {pe}{place}{folder}: {}", words.join(" "));
        }
    }

    /// More PEs than processors is fine, but whoever looks at a terminal wonders about the speed.
    pub(crate) fn note_crowding(&self) {
        let (pes, processors) = (self.apps.len(), cpus::usable());
        if pes > processors && (self.plan.verbose || std::io::stderr().is_terminal()) {
            let s = if processors == 1 { "" } else { "s" };
            say(&format!("{pes} PEs on {processors} processor{s}: waits will yield"));
        }
    }
}

fn streams(plan: &Plan, pe: u32) -> Result<Streams, Unusable> {
    let stdin = input::stream_of(pe, plan.stdin);
    if let Some(folder) = &plan.output_dir {
        let file = |stream| {
            let path = folder.join(format!("pe.{pe}.{stream}"));
            File::create(&path).map(Stdio::from).map_err(|error| unwritable(&path, &error))
        };
        return Ok(Streams { stdin, stdout: file("out")?, stderr: file("err")? });
    }
    let shown = plan.only.as_ref().is_none_or(|only| only.contains(pe));
    let plain = plan.label == Label::None && !plan.timestamps;
    // A PE alone may write to the terminal or file itself: not a byte is touched.
    let stream = || match shown {
        false => Stdio::null(),
        true if plan.size() == 1 && plain => Stdio::inherit(),
        true => Stdio::piped(),
    };
    Ok(Streams { stdin, stdout: stream(), stderr: stream() })
}

fn unwritable(path: &Path, error: &std::io::Error) -> Unusable {
    (2, Error::new(format!("cannot write the PEs' output to {}", path.display())).because(error))
}

/// Why the system did not start a program that looked startable.
fn unstartable(error: std::io::Error) -> Unusable {
    let (status, what) = match error.raw_os_error() {
        Some(libc::ENOENT) => (127, "the program's loader or interpreter is not there"),
        Some(libc::EAGAIN) => (126, "the limit of processes is reached (ulimit -u, or pids.max of the control group)"),
        Some(libc::EMFILE | libc::ENFILE) => (126, "the limit of open files is reached (ulimit -n)"),
        _ => (126, "the system refused it"),
    };
    (status, Error::new(what).because(error))
}
