//! Memory control groups, of either version, that a test makes for its jobs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::not_run;

/// A control group with a limit of memory. It is removed at the end of the test.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
    /// The file with the most memory that the group has used.
    peak: &'static str,
}

impl MemoryGroup {
    /// Makes a group of `bytes` bytes below this process's own; where none can be made, says so.
    pub fn or_say(bytes: u64) -> Option<MemoryGroup> {
        MemoryGroup::new(bytes).map_err(not_run).ok()
    }

    fn new(bytes: u64) -> Result<MemoryGroup, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("oxshmem-test-{}-{number}", std::process::id());
        let (parent, version) = parent()?;
        let folder = parent.join(name);
        let (limit, peak) = match version {
            1 => ("memory.limit_in_bytes", "memory.max_usage_in_bytes"),
            _ => ("memory.max", "memory.peak"),
        };
        let made = fs::create_dir(&folder).and_then(|()| fs::write(folder.join(limit), bytes.to_string()));
        let group = MemoryGroup { folder, peak };
        made.map_err(|error| format!("no memory control group can be made in {}: {error}", parent.display()))?;
        Ok(group)
    }

    /// Lets the command run inside the group.
    pub fn hold(&self, command: &mut Command) {
        let mut held = Command::new("/bin/sh");
        held.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.door());
        held.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => held.env(name, value),
                None => held.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            held.current_dir(folder);
        }
        *command = held;
    }

    /// The file to which a process writes its number to enter the group.
    pub fn door(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// The most memory that the group has used so far, in bytes; 0 where this kernel does not tell.
    pub fn peak(&self) -> u64 {
        fs::read_to_string(self.folder.join(self.peak)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The kernel refuses while processes of the group are still ending.
        for _ in 0..500 {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                _ => return,
            }
        }
    }
}

/// The folder of this process's own group, and the version of the interface.
fn parent() -> Result<(PathBuf, u32), String> {
    let groups = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("/proc/self/cgroup: {error}"))?;
    let path = |controller: &str| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let found = fields.next()?.split(',').any(|name| name == controller);
            found.then(|| fields.next().unwrap_or("/").trim_start_matches('/').to_owned())
        })
    };
    let v1 = Path::new("/sys/fs/cgroup/memory");
    if let Some(own) = path("memory").filter(|_| v1.is_dir()) {
        let folder = v1.join(own);
        return Ok((if folder.is_dir() { folder } else { v1.into() }, 1));
    }
    let v2 = Path::new("/sys/fs/cgroup");
    let own = v2.join(path("").unwrap_or_default());
    // A group that holds processes can have no controlled children, so the new group goes beside it.
    let candidates = [own.parent().filter(|above| above.starts_with(v2)).map(PathBuf::from), Some(v2.into())];
    let controls = |folder: &PathBuf| {
        let controllers = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        controllers.split_whitespace().any(|name| name == "memory")
    };
    candidates
        .into_iter()
        .flatten()
        .find(controls)
        .map(|folder| (folder, 2))
        .ok_or_else(|| "no control group here hands the memory controller on".into())
}
