//! The mappings of a process.

use std::path::PathBuf;

use oxshmem_flight::index;
use oxshmem_os::kernel_text;

/// The mappings of a process as `/proc` lists them.
pub(super) struct Maps {
    pid: u32,
    lines: Vec<Mapping>,
}

struct Mapping {
    start: u64,
    end: u64,
    /// Where in the file it begins.
    offset: u64,
    /// The file, or a name in brackets, or nothing.
    name: String,
}

impl Maps {
    /// Of a process that runs.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let text = kernel_text::read(format!("/proc/{pid}/maps")).ok()?;
        Some(Self { pid, lines: text.lines().filter_map(Mapping::parse).collect() })
    }

    /// Whether the process has the control windows of a job.
    pub(super) fn is_pe(&self) -> bool {
        self.control().is_some()
    }

    /// Where the control windows are, and how many bytes they have.
    pub(super) fn control(&self) -> Option<(u64, u64)> {
        let name = index::FILE.to_str().ok()?;
        let mut windows = self.lines.iter().filter(|line| line.is_memory(name));
        let first = windows.next().filter(|line| line.offset == 0)?;
        let end = windows.next_back().map_or(first.end, |last| last.end);
        Some((first.start, end - first.start))
    }

    pub(super) fn is_in(&self, address: u64, name: &str) -> bool {
        self.at(address).is_some_and(|line| line.is_memory(name))
    }

    /// The executable, and where it is loaded.
    pub(super) fn executable(&self) -> Option<(PathBuf, u64)> {
        let path = std::fs::read_link(format!("/proc/{}/exe", self.pid)).ok()?;
        // As the lines have it.
        let name = path.to_string_lossy();
        let first = self.lines.iter().find(|line| line.name == name && line.offset == 0)?;
        // The file may have another name by now; the link still leads to it.
        Some((format!("/proc/{}/exe", self.pid).into(), first.start))
    }

    /// The file that is mapped at an address, and where its first byte is loaded.
    pub(super) fn file(&self, address: u64) -> Option<(PathBuf, u64)> {
        let line = self.at(address).filter(|line| line.name.starts_with('/'))?;
        let first = self.lines.iter().find(|one| one.name == line.name && one.offset == 0)?;
        match self.executable() {
            Some((path, start)) if start == first.start => Some((path, start)),
            _ => {
                // In a container another file may have this name. That of a process in a folder of its own (chroot) is ours.
                let inside = PathBuf::from(format!("/proc/{}/root{}", self.pid, line.name));
                Some((if inside.exists() { inside } else { line.name.clone().into() }, first.start))
            }
        }
    }

    fn at(&self, address: u64) -> Option<&Mapping> {
        self.lines.iter().find(|line| (line.start..line.end).contains(&address))
    }
}

impl Mapping {
    /// `start-end rights offset device inode name`.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
        let offset = hexadecimal(fields.nth(1)?)?;
        let name = fields.nth(2).unwrap_or_default().trim_start().to_owned();
        Some(Self { start: hexadecimal(start)?, end: hexadecimal(end)?, offset, name })
    }

    fn is_memory(&self, name: &str) -> bool {
        self.name.strip_prefix("/memfd:").is_some_and(|file| file.trim_end_matches(" (deleted)") == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_name_and_what_belongs_to_a_file_is_found() {
        let line = "7f00-7f80 rw-s 00000010 00:01 4242                     /memfd:oxshmem control (deleted)";
        let mapping = Mapping::parse(line).expect("a line");
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f00, 0x7f80, 0x10));
        assert!(mapping.is_memory("oxshmem control") && !mapping.is_memory("oxshmem"));
        let own = Maps::of(std::process::id()).expect("this process");
        let (_, base) = own.executable().expect("an executable");
        let code = a_line_is_read_with_its_name_and_what_belongs_to_a_file_is_found as fn() as usize as u64;
        assert_eq!(own.file(code).expect("a file").1, base);
        let (library, _) = own.file(libc::getpid as *const () as usize as u64).expect("the C library");
        assert!(library.exists() && library.starts_with("/proc"), "{}", library.display());
        assert!(!own.is_pe() && !own.is_in(code, "oxshmem heap"));
    }
}
