//! Files that the kernel does not execute, and the reasons that stand in them.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};
use oxshmem_base::Error;

use crate::program::{NOT_EXECUTABLE, NOT_FOUND, Unusable};

/// The first bytes of a file, as many as there are. Scripts are told from other files by these.
struct FileHead {
    bytes: [u8; 256],
    length: usize,
}

impl FileHead {
    /// Allocates nothing for a path of some hundred bytes.
    fn read(file: &Path) -> io::Result<FileHead> {
        let (mut file, mut head) = (File::open(file)?, FileHead { bytes: [0; 256], length: 0 });
        loop {
            match file.read(&mut head.bytes[head.length..])? {
                0 => return Ok(head),
                length => head.length += length,
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn is_elf(&self) -> bool {
        self.bytes().starts_with(&elf::ELFMAG)
    }

    /// Whether a shell may take it for commands. A text has no zero byte, and nothing at all does nothing.
    fn is_script(&self) -> bool {
        !self.bytes().is_empty() && !self.is_elf() && !self.bytes().contains(&0)
    }

    /// A number of two bytes at this offset, in the order that the file names.
    fn half(&self, at: usize) -> Option<u16> {
        let bytes = self.bytes().get(at..at + 2)?.try_into().ok()?;
        let is_big = self.bytes().get(BYTE_ORDER) == Some(&elf::ELFDATA2MSB);
        Some(if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }
}

/// Offsets in the header of a program.
const BYTE_ORDER: usize = 5;
const TYPE: usize = 16;
const MACHINE: usize = 18;
/// Its length for machines with addresses of 64 bits.
const HEADER: usize = 64;

/// The limit that has been reached where the system starts nothing more.
pub(crate) fn limit(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::EAGAIN => Some("the limit of processes (ulimit -u, or pids.max of the control group)"),
        libc::EMFILE | libc::ENFILE => Some("the limit of open files (ulimit -n)"),
        _ => None,
    }
}

/// Why the system did not start a program that looked startable. `files` are enough for `pes` PEs here.
pub(crate) fn unstartable(error: io::Error, file: &Path, wdir: Option<&Path>, pes: u32, files: u64) -> Unusable {
    // The system does not say which of the files it means.
    if let Some((folder, error)) = wdir.and_then(|folder| Some((folder, std::fs::metadata(folder.join(".")).err()?))) {
        let what = format!("the working directory {} cannot be entered", folder.display());
        return (
            NOT_EXECUTABLE,
            Error::new(what).because(error).fix("name one that every host has: oshrun --wdir=DIR"),
        );
    }
    if let Some(limit) = limit(&error) {
        let fix = match error.raw_os_error() {
            Some(libc::EAGAIN) => format!("end other programs, or raise it by {pes} processes at least"),
            _ => format!("raise it: {files} are enough for {pes} PEs on one host"),
        };
        return (NOT_EXECUTABLE, Error::new(format!("{limit} is reached")).because(error).fix(fix));
    }
    let (status, what, fix) = match error.raw_os_error() {
        Some(libc::ENOEXEC) => return (NOT_EXECUTABLE, explain(file, error)),
        Some(libc::ENOENT) if !Path::new("/dev/null").exists() => {
            let what = "there is no /dev/null, from which a PE reads that has no input";
            (NOT_EXECUTABLE, what, "mount /dev in this container".into())
        }
        Some(libc::ENOENT) => {
            if let Some(loader) = loader(file).filter(|loader| !loader.exists()) {
                let error = Error::new("the program's loader is not there").because(loader.display());
                let fix = "compile it on this host, or on one with the same C library";
                return (NOT_FOUND, error.fix(fix));
            }
            let fix = format!("install what the first line of {} names, or compile it on this host", file.display());
            (NOT_FOUND, "the program's loader or interpreter is not there", fix)
        }
        _ => {
            let fix = format!("see whether {} starts on this host without oshrun", file.display());
            (NOT_EXECUTABLE, "the system refused it", fix)
        }
    };
    (status, Error::new(what).because(error).fix(fix))
}

/// Whether a file that the kernel has refused may be a script for the shell.
pub(crate) fn is_script(file: &Path) -> bool {
    FileHead::read(file).is_ok_and(|head| head.is_script())
}

/// Why the kernel has refused a file as no program (`ENOEXEC`).
fn explain(file: &Path, refusal: io::Error) -> Error {
    let error = Error::new(format!("the system does not take {} for a program", file.display()));
    let Ok(head) = FileHead::read(file) else { return error.because(refusal) };
    let unfinished = "build or copy it again: the last attempt may have failed";
    if head.length == 0 {
        return error.because("the file is empty").fix(unfinished);
    }
    if !head.is_elf() {
        return error.because(if head.is_script() {
            refusal.to_string()
        } else {
            "it is neither a program nor a script".into()
        });
    }
    let (Some(kind), Some(machine), true) = (head.half(TYPE), head.half(MACHINE), head.length >= HEADER) else {
        let why = format!("the file ends after {} bytes, within the header of a program", head.length);
        return error.because(why).fix(unfinished);
    };
    let (made_for, here) = (machine_name(machine), std::env::consts::ARCH);
    if made_for != here {
        let why = format!("it is a program for {made_for}, and this machine is {here}");
        return error.because(why).fix(format!("compile it on this machine, or for {here}"));
    }
    match kind {
        elf::ET_REL => {
            error.because("it is an object file, which has not been linked").fix("link it: oshcc -o PROGRAM")
        }
        _ => error.because(refusal),
    }
}

/// A machine by the name that Rust has for it.
fn machine_name(machine: u16) -> String {
    let name = match machine {
        elf::EM_X86_64 => "x86_64",
        elf::EM_AARCH64 => "aarch64",
        elf::EM_RISCV => "riscv64",
        elf::EM_PPC64 => "powerpc64",
        elf::EM_S390 => "s390x",
        elf::EM_LOONGARCH => "loongarch64",
        elf::EM_386 => "x86",
        elf::EM_ARM => "arm",
        other => return format!("machine number {other} of ELF"),
    };
    name.into()
}

/// The loader that a program names.
fn loader(file: &Path) -> Option<PathBuf> {
    let file = ReadCache::new(File::open(file).ok()?);
    named::<FileHeader64<Endianness>, _>(&file).or_else(|| named::<FileHeader32<Endianness>, _>(&file))
}

fn named<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(file: R) -> Option<PathBuf> {
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let mut headers = header.program_headers(endian, file).ok()?.iter();
    let name = headers.find_map(|header| header.interpreter(endian, file).ok()?)?;
    Some(std::ffi::OsStr::from_bytes(name).into())
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_program_that_the_system_does_not_start_has_a_remedy() {
        let file = Path::new("/bin/sh");
        let told = |code, wdir| {
            let (status, error) = unstartable(io::Error::from_raw_os_error(code), file, wdir, 2, 100);
            (status, error.to_string())
        };
        for (code, wdir, expected, fix) in [
            (libc::ENOENT, Some(Path::new("/no/such")), NOT_EXECUTABLE, "--wdir=DIR"),
            (libc::ENOENT, None, NOT_FOUND, "first line of /bin/sh"),
            (libc::EAGAIN, None, NOT_EXECUTABLE, "raise it by 2 processes"),
            (libc::EMFILE, None, NOT_EXECUTABLE, "100 are enough for 2 PEs"),
            (libc::EPERM, None, NOT_EXECUTABLE, "/bin/sh starts on this host"),
        ] {
            let (status, error) = told(code, wdir);
            assert!(status == expected && error.contains("\n  to fix:  ") && error.contains(fix), "{status}: {error}");
        }
    }

    #[test]
    fn a_machine_has_the_name_that_programs_of_it_say() {
        let this = FileHead::read(Path::new("/proc/self/exe")).expect("a running program has a file");
        assert_eq!(machine_name(this.half(MACHINE).expect("a whole header")), std::env::consts::ARCH);
        assert!(this.is_elf() && !this.is_script());
    }

    #[test]
    fn a_refused_file_says_why_the_kernel_refused_it() {
        let folder = TestFolder::new("refused");
        let program = std::fs::read("/proc/self/exe").expect("a running program has a file");
        let with = |at: usize, value: u16| {
            let mut bytes = program[..200].to_vec();
            bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
            bytes
        };
        let alien =
            if cfg!(target_arch = "aarch64") { (elf::EM_X86_64, "x86_64") } else { (elf::EM_AARCH64, "aarch64") };
        for (bytes, why) in [
            (Vec::new(), "the file is empty"),
            (program[..40].to_vec(), "ends after 40 bytes, within the header"),
            (with(MACHINE, alien.0), alien.1),
            (with(MACHINE, 9999), "machine number 9999"),
            (with(TYPE, elf::ET_REL), "an object file"),
            (vec![0; 5000], "neither a program nor a script"),
            (b"text\0".to_vec(), "neither a program nor a script"),
            (b"text\n".to_vec(), "Exec format error"),
        ] {
            let file = folder.write("file", &bytes);
            let said = explain(&file, io::Error::from_raw_os_error(libc::ENOEXEC)).to_string();
            assert!(said.contains(why), "{said}");
            assert_eq!(is_script(&file), bytes == b"text\n", "{said}");
        }
    }
}
