//! Notices when two jobs are bound to the same cores: each job locks a file for every core of its own in the folder of
//! the user's session, and finds the lock taken. The kernel takes the locks back when the job ends, however it ends.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use oxshmem_os::{OwnDescriptor, locks};

use crate::cpulist;
use crate::node::Node;

/// The cores of a job, locked for as long as this lives.
#[derive(Debug, Default)]
pub struct Claims(#[expect(dead_code, reason = "closing the files unlocks the cores")] Vec<OwnDescriptor>);

/// A core that another job has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenCore {
    /// The core's first processor, by the system's number.
    pub cpu: u32,
    /// The description that the other job gave of itself.
    pub by: String,
}

/// The words of a job to those that find its locks.
#[derive(Clone, Copy, Debug)]
pub struct JobWords<'a> {
    /// The program of one of its PEs.
    pub program: &'a str,
    /// A text that all PEs of the job have in common and no other job has.
    pub job: &'a str,
}

impl fmt::Display for JobWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (job {})", self.program, self.job)
    }
}

impl JobWords<'_> {
    /// Whether these words are of the same job. Each of its nodes may run another program.
    fn are_of(&self, words: &str) -> bool {
        words.ends_with(&format!(" (job {})", self.job))
    }
}

/// How long the first words of another job are doubted: a node of the same job that has just locked the core has not written its own yet.
const DOUBT: Duration = Duration::from_millis(50);

/// Where the locks are: in the user's session's folder. Without one jobs do not notice each other.
pub fn folder() -> Option<PathBuf> {
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir())?;
    Some(session.join("oxshmem"))
}

/// Locks the cores to which these processors belong, and names those that another job has. What cannot be locked for another reason (a full
/// disk, a folder of another user) is left alone.
pub fn claim(folder: &Path, node: &Node, cpus: &[u32], own: JobWords<'_>) -> (Claims, Vec<TakenCore>) {
    let core = |cpu: &u32| node.processor(*cpu).map(|processor| processor.core);
    let cores: BTreeSet<u32> = cpus.iter().filter_map(core).collect();
    let first = |core: u32| node.processors.iter().filter(|p| p.core == core).map(|p| p.cpu).min();
    let (mut files, mut taken) = (Vec::new(), Vec::new());
    if std::fs::create_dir_all(folder).is_err() {
        return (Claims(files), taken);
    }
    let begun = Instant::now();
    for cpu in cores.into_iter().filter_map(first) {
        let path = folder.join(format!("core.{cpu}"));
        let open = File::options().create(true).read(true).write(true).truncate(false).open(path);
        let Ok(mut file) = open else { continue };
        match locks::try_lock(&file) {
            Ok(true) => {
                // Without these words another job notices us all the same.
                let _ = file.set_len(0).and_then(|()| file.write_all(own.to_string().as_bytes()));
                files.extend(OwnDescriptor::new(file.into()));
            }
            Ok(false) => {
                let mut by = words_in(&file);
                while !own.are_of(&by) && begun.elapsed() < DOUBT {
                    thread::sleep(Duration::from_millis(1));
                    by = words_in(&file);
                }
                if !own.are_of(&by) {
                    taken.push(TakenCore { cpu, by });
                }
            }
            Err(_) => {}
        }
    }
    (Claims(files), taken)
}

/// The line in a file, or what is in one that no job of ours has written.
fn words_in(mut file: &File) -> String {
    let mut words = String::new();
    let _ = file.rewind().and_then(|()| file.take(1024).read_to_string(&mut words));
    words
}

/// The sentence about cores that another job has; once for the node.
pub fn warning(taken: &[TakenCore]) -> Option<String> {
    let first = taken.first()?;
    let same: Vec<u32> = taken.iter().filter(|core| core.by == first.by).map(|core| core.cpu).collect();
    let by = if first.by.is_empty() { "another job" } else { &first.by };
    let s = if same.len() == 1 { "core of processor" } else { "cores of processors" };
    Some(format!(
        "{by} is bound to the {s} {} too, so both run at half speed there: give the jobs different processors (taskset \
         -c), or start one of them with --bind none",
        cpulist::written(&same)
    ))
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;
    use crate::node::{FoundProcessor, LoaderFindings};

    /// Two jobs bind to core 0.
    #[test]
    fn problem_24_the_second_job_learns_of_the_first() {
        let processors = (0..4).map(|cpu| FoundProcessor { cpu, core: u64::from(cpu % 2), l3: None, package: 0 });
        let node =
            Node::assemble(LoaderFindings { processors: processors.collect(), ..LoaderFindings::default() }).unwrap();
        let folder = TestFolder::new("claims");
        let words = |job| JobWords { program: "./a", job };
        let (first, taken) = claim(&folder, &node, &[2], words("one"));
        assert_eq!((taken.len(), warning(&taken)), (0, None));
        // Another thread of the same core is the same core.
        let (second, taken) = claim(&folder, &node, &[0, 1], words("two"));
        assert_eq!(taken, [TakenCore { cpu: 0, by: "./a (job one)".into() }]);
        let text = warning(&taken).unwrap();
        assert!(text.starts_with("./a (job one) is bound to the core of processor 0 too,"), "{text}");
        // Another node of the first job, with another program.
        assert_eq!(claim(&folder, &node, &[0], JobWords { program: "./b", job: "one" }).1, []);
        drop(first);
        assert_eq!(claim(&folder, &node, &[0], words("three")).1, []);
        drop(second);
    }
}
