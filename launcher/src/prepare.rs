//! Preparation of a host before its first PE starts: which files run where, and where their streams lead.

use std::io::{self, IsTerminal, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;

use oxshmem_base::Error;
use oxshmem_os::{cpus, descriptors, process};
use oxshmem_topology::cpulist::written;

use crate::binding::Binding;
use crate::link::frame::{HostPes, JobDescription};
use crate::link::remote_shell::{self, SSH_CONNECTION};
use crate::pe::{self, Bound, Started, Streams};
use crate::plan::{BindTo, Display, JobPlan, Label, ProgramSpec, Stdin};
use crate::profile::{self, gathering};
use crate::program::{self, NOT_EXECUTABLE, Unusable};
use crate::verdict::counted_as;
use crate::wrapper::quoted;
use crate::{input, kept_output, linked, refused, results, screen};

/// The program and the environment of every PE of a host, found before the first one starts.
pub(crate) struct Prepared {
    description: Rc<JobDescription>,
    own: HostPes,
    /// Whether the launcher itself is on this host, without a pipe between.
    pub(crate) directly: bool,
    /// The file of each program that runs here.
    files: Vec<Option<PathBuf>>,
    /// The program of each PE of the job.
    program_numbers: Vec<u32>,
    binding: Option<Binding>,
    /// The folder in which PEs of this host are recorded.
    records: Option<PathBuf>,
    /// The address by which this host was reached, where another one did so.
    reached: Option<IpAddr>,
    /// Notes for the user about the programs, each a sentence. The words of an agent itself have no reader.
    pub(crate) notes: Vec<String>,
}

impl Prepared {
    /// For the PEs of the first host of a description.
    pub(crate) fn new(description: &Rc<JobDescription>, directly: bool) -> Result<Prepared, Unusable> {
        let (description, own) = (Rc::clone(description), description.host_pes[0].clone());
        let program_numbers = program_numbers(&description.plan);
        let here: Vec<u32> = own.pes.iter().map(|&pe| program_numbers[pe as usize]).collect();
        let file = |(program, number): (&ProgramSpec, u32)| {
            if here.contains(&number) {
                program::resolve(&program.command[0], program.wdir.as_deref(), description.path.as_deref()).map(Some)
            } else {
                Ok(None)
            }
        };
        let files: Vec<Option<PathBuf>> =
            description.plan.programs.iter().zip(0..).map(file).collect::<Result<_, _>>()?;
        // The host of a program's first PE speaks for all.
        let first = |number: u32| program_numbers.iter().position(|&other| other == number).map(|pe| pe as u32);
        let told = files.iter().zip(0..).filter(|(_, number)| first(*number).is_some_and(|pe| own.pes.contains(&pe)));
        let notes = told.filter_map(|(file, _)| Some(linked::note(file.as_deref()?)?.to_string())).collect();
        if let Some(folder) = &description.plan.output_dir {
            results::folder(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let records = match &description.plan.recording {
            Some(recording) if directly => Some(recording.folder.clone()),
            Some(_) => {
                let folder = gathering::folder(&description.mark, own.host);
                gathering::make(&folder).map_err(|error| (2, error))?;
                Some(folder)
            }
            None => None,
        };
        let binding = Binding::wanted(&description.plan, own.pes.len()).map_err(|error| (2, error))?;
        let ssh = std::env::var(SSH_CONNECTION).ok();
        let reached = if directly { None } else { remote_shell::reached(ssh.as_deref(), &own.name) };
        Ok(Prepared { description, own, directly, files, program_numbers, binding, records, reached, notes })
    }

    pub(crate) fn plan(&self) -> &JobPlan {
        &self.description.plan
    }

    pub(crate) fn pes(&self) -> &[u32] {
        &self.own.pes
    }

    /// Which program of the command line a PE runs.
    pub(crate) fn program_of(&self, pe: u32) -> u32 {
        self.program_numbers[pe as usize]
    }

    /// The processors for the host's PE number `local`, if PEs are to be bound.
    fn processors(&self, local: usize) -> Option<&[u32]> {
        self.binding.as_ref().and_then(|binding| binding.processors(local))
    }

    /// `--display`: what the user wants to see of this host.
    pub(crate) fn map(&self) -> Option<String> {
        Some(self.binding.as_ref()?.shown(&self.own.name, self.pes(), self.plan().nodes, self.plan().display?))
    }

    /// Whether there is only something to be shown, and no PE to be started.
    pub(crate) fn is_only_shown(&self) -> bool {
        self.plan().display == Some(Display::Picture)
    }

    /// Starts PE `pe`, which is the host's number `local`.
    pub(crate) fn start(&self, pe: u32, local: usize, mark: &str) -> Result<Started, Unusable> {
        let number = self.program_of(pe) as usize;
        if local == 0 {
            self.clear_output();
        }
        let streams = self.streams(pe)?;
        let mut program = self.plan().programs[number].clone();
        if !self.directly {
            // The agent's own is that of the remote shell, which began elsewhere. A value of the user comes behind it and wins.
            program.variables.insert(0, ("PWD".into(), self.description.folder.clone()));
        }
        if let (Some(recording), Some(folder)) = (&self.plan().recording, &self.records) {
            profile::record(recording, folder, &mut program);
        }
        let processors = self.processors(local).map(<[u32]>::to_vec);
        let bound = Bound { word: self.plan().bind.map(BindTo::word), processors };
        let file = self.files[number].as_deref().expect("programs of this host's PEs have been found");
        let (size, here) = (self.plan().size(), self.own.pes.len() as u32);
        pe::start(pe, size, mark, self.reached, &program, file, bound, streams)
            .map_err(|error| refused::unstartable(error, file, program.wdir.as_deref(), here, self.files()))
    }

    /// Removes what earlier jobs have left in the folder of the PEs' output. A job that cannot start leaves it alone, so this comes with
    /// the first PE of the host. The folder may be one of several hosts, of which another one has begun already: then files of the
    /// job's own PEs stay for these to replace.
    fn clear_output(&self) {
        if let Some(folder) = &self.plan().output_dir {
            kept_output::clear(folder, if self.directly { 0 } else { self.plan().size() });
        }
    }

    fn streams(&self, pe: u32) -> Result<Streams, Unusable> {
        let plan = self.plan();
        let stdin = match (self.directly, plan.stdin) {
            (true, wish) => input::stream_of(pe, wish),
            (false, Stdin::All) => Stdio::piped(),
            (false, Stdin::Pe(reader)) if reader == pe => Stdio::piped(),
            (false, _) => Stdio::null(),
        };
        if let Some(folder) = &plan.output_dir {
            let file = |stream| {
                let path = kept_output::path(folder, pe, stream);
                results::fresh(&path).map_err(|error| unwritable(&path, &error))
            };
            let [out, err] = kept_output::STREAMS;
            let files = Some([file(out)?, file(err)?]);
            return Ok(Streams { stdin, stdout: Stdio::piped(), stderr: Stdio::piped(), files, at_once: false });
        }
        let shown = plan.only.as_ref().is_none_or(|only| only.contains(pe));
        let plain = plan.label == Label::None && !plan.timestamps;
        // A PE alone may write to the terminal or file itself: not a byte is touched. Only the launcher is in the foreground.
        let is_stopped = || process::stops_writers(&io::stdout()) || process::stops_writers(&io::stderr());
        // Its writes would fail where there is no room, and the launcher's wait.
        let loses = || screen::is_nonblocking(&io::stdout()) || screen::is_nonblocking(&io::stderr());
        let alone = self.directly && plan.size() == 1 && plain && !is_stopped() && !loses();
        let stream = || match shown {
            false => Stdio::null(),
            true if alone => Stdio::inherit(),
            true => Stdio::piped(),
        };
        Ok(Streams { stdin, stdout: stream(), stderr: stream(), files: None, at_once: shown && !alone })
    }

    /// `--dry-run` on this machine alone.
    pub(crate) fn show(&self, output: &mut dyn Write) -> io::Result<()> {
        for (&pe, local) in self.pes().iter().zip(0..) {
            let number = self.program_of(pe) as usize;
            let file = self.files[number].as_deref().unwrap_or(Path::new(&self.plan().programs[number].command[0]));
            let place =
                self.processors(local).map(|cpus| format!(" on processors {}", written(cpus))).unwrap_or_default();
            show_pe(output, &self.description, pe, number, file, &place)?;
        }
        Ok(())
    }

    /// Files that a PE takes in this process: the PMI socket, what holds the process, and its streams. Output that is kept takes a
    /// pipe and a file.
    fn files_of_a_pe(&self) -> u64 {
        let outputs = if self.plan().output_dir.is_some() { 4 } else { 2 };
        2 + outputs + u64::from(self.plan().stdin == Stdin::All)
    }

    /// Files that this process takes for all PEs of this host, for agents below it and for itself.
    fn files(&self) -> u64 {
        let agents = self.description.agents_below() as u64;
        self.files_of_a_pe() * self.pes().len() as u64 + OF_AN_AGENT * agents + OWN
    }

    /// Whether the limits of this host leave room for its PEs. The user shall learn that before hundreds of starts.
    pub(crate) fn check_room(&self) -> Result<(), Unusable> {
        let pes = self.pes().len() as u64;
        let refused =
            |what: &str, why: String, fix: String| Err((NOT_EXECUTABLE, Error::new(what).because(why).fix(fix)));
        let (each, files) = (self.files_of_a_pe(), self.files());
        // Where the limit suffices the PEs shall inherit it as it is. Some PEs may try although it looks too low.
        if files > descriptors::limit()
            && let Ok(limit) = descriptors::raise_limit()
            && limit < files
            && pes > SOME_PES
        {
            let fit = limit.saturating_sub(files - each * pes) / each;
            return refused(
                "the limit of open files is too low for the PEs of this host",
                format!("{pes} PEs take {files} files here, and the limit is {limit} (ulimit -Hn)"),
                format!("raise the limit, or start at most {fit} PEs on a host"),
            );
        }
        // A PE has one thread at least, and a job a guardian.
        if let Some((left, limit, file)) = process::processes_left_by_groups()
            && left < pes + 1
        {
            return refused(
                "the control group's limit of processes is too low for the PEs of this host",
                format!("{pes} PEs and a guardian are {} processes, and {left} of {limit} are left ({file})", pes + 1),
                format!("raise the limit, or start at most {} PEs on a host", left.saturating_sub(1)),
            );
        }
        let is_alone = self.plan().nodes <= 1 && self.description.host_pes.len() == 1;
        match process::processes().and_then(|limit| beyond_processes(pes, is_alone, limit)) {
            Some((why, fix)) => refused("the limit of processes is too low for the PEs of this host", why, fix),
            None => Ok(()),
        }
    }

    /// A note about more PEs than processors, which are allowed: it tells a user at a terminal why the job is slow. Of
    /// several hosts only that of PE 0 has it, unless the user wants to know of each.
    pub(crate) fn crowding(&self) -> Option<String> {
        let (pes, verbose) = (self.own.pes.len(), self.plan().verbose);
        let of = if self.directly { String::new() } else { format!(" of host {}", self.own.name) };
        if let Some(cores) = self.binding.as_ref().and_then(Binding::cores)
            && self.plan().bind == Some(BindTo::Core)
            && pes > cores
        {
            let (told, cores) = (verbose || self.own.pes.contains(&0), counted_as(cores, "core"));
            return told.then(|| format!("note: {pes} PEs on {cores}{of}: --bind core binds several PEs to one core"));
        }
        let (places, what) = match self.binding.as_ref().and_then(Binding::cores) {
            Some(cores) => (cores.min(cpus::usable()), "core"),
            None => (cpus::usable(), "processor"),
        };
        let told = pes > places && (verbose || (self.directly && std::io::stderr().is_terminal()));
        let places = counted_as(places, what);
        told.then(|| format!("{pes} PEs on {places}{of}: oversubscribed, waits will yield"))
    }
}

/// One line of `--dry-run`.
pub(crate) fn show_pe(
    output: &mut dyn Write,
    description: &JobDescription,
    pe: u32,
    number: usize,
    file: &Path,
    place: &str,
) -> io::Result<()> {
    let program = &description.plan.programs[number];
    let set = pe::variables(pe, description.plan.size(), "<random>");
    let mut words: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.extend(program.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value))));
    words.push(quoted(file.as_os_str()));
    words.extend(program.command[1..].iter().map(|word| quoted(word)));
    let folder = program.wdir.as_ref().map(|wdir| format!(" in {}", wdir.display())).unwrap_or_default();
    writeln!(output, "PE {pe}{place}{folder}: {}", words.join(" "))
}

/// The program of each PE of the job.
pub(crate) fn program_numbers(plan: &JobPlan) -> Vec<u32> {
    let numbered = plan.programs.iter().zip(0u32..);
    numbered.flat_map(|(program, i)| std::iter::repeat_n(i, program.count as usize)).collect()
}

fn unwritable(path: &Path, error: &std::io::Error) -> Unusable {
    let error = Error::new(format!("cannot write the PEs' output to {}", path.display())).because(error);
    (2, error.fix("name a directory of your own, on every host: oshrun --output-dir=DIR"))
}

/// Threads of this process and the guardian, which count among the processes of a user.
const OWN_PROCESSES: u64 = 4;
/// The most that a PE counts among them on several nodes: itself, the thread that serves peers, and one of the network's library.
const BETWEEN_NODES: u64 = 3;

/// Why a user who may have `limit` processes cannot have the PEs of this host, and what to do. Threads of the network do not decide: the
/// programs may have none.
fn beyond_processes(pes: u64, is_alone: bool, limit: u64) -> Option<(String, String)> {
    let least = pes + OWN_PROCESSES;
    if limit >= least {
        return None;
    }
    let (each, threads) =
        if is_alone { (1, "") } else { (BETWEEN_NODES, " and, on several nodes, for one or two threads of each PE") };
    let enough = pes * each + OWN_PROCESSES;
    let fewer = match limit.saturating_sub(OWN_PROCESSES) / each {
        0 => String::new(),
        fit => format!("; or start at most {} on a host", counted_as(fit as usize, "PE")),
    };
    Some((
        format!(
            "{pes} PEs, a guardian and 3 threads of oshrun are {least} processes, and the limit is {limit} (ulimit -u)"
        ),
        format!("raise the limit: {enough} and those of your other programs are enough for these{threads}{fewer}"),
    ))
}

/// The number of PEs that are started even if the limit of open files looks too low for them.
const SOME_PES: u64 = 200;
/// Files of this process itself.
const OWN: u64 = 60;
/// Files that an agent takes: its three streams, and what holds the process that leads to it.
const OF_AN_AGENT: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guardian_and_threads_count_among_the_processes_of_a_user() {
        assert_eq!((beyond_processes(2, true, 6), beyond_processes(2, false, 6)), (None, None));
        let (why, fix) = beyond_processes(2, true, 5).expect("one is missing");
        assert!(
            why.starts_with("2 PEs, a guardian and 3 threads of oshrun are 6 processes, and the limit is 5"),
            "{why}"
        );
        assert!(fix.contains("raise the limit: 6 and") && fix.ends_with("at most 1 PE on a host"), "{fix}");
        let (_, fix) = beyond_processes(2, false, 5).expect("one is missing");
        assert!(fix.contains("raise the limit: 10 and") && fix.ends_with("one or two threads of each PE"), "{fix}");
        let (_, fix) = beyond_processes(20, false, 16).expect("8 are missing");
        assert!(fix.contains("raise the limit: 64 and") && fix.ends_with("at most 4 PEs on a host"), "{fix}");
    }

    #[test]
    fn agents_below_count_among_the_files_of_a_host() {
        let files = |hosts: u32| {
            let words = ["-n", "2", "true"].map(std::ffi::OsString::from).to_vec();
            let plan = JobPlan::from_arguments(words).expect("the words are well formed");
            let host_pes: Vec<HostPes> =
                (0..hosts).map(|host| HostPes { host, name: format!("h{host}"), pes: vec![0, 1] }).collect();
            let path = std::env::var_os("PATH");
            let (mark, space, folder) = (String::new(), String::new(), "/".into());
            let description = JobDescription { plan, mark, space, mapping: None, folder, path, host_pes };
            Prepared::new(&Rc::new(description), false).expect("there is `true`").files()
        };
        assert_eq!(files(1), 2 * 4 + OWN);
        assert_eq!(files(4) - files(1), 3 * OF_AN_AGENT);
        assert_eq!(files(1000) - files(1), 32 * OF_AN_AGENT);
    }
}
