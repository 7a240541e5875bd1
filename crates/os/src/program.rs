//! Which program this is: PEs whose executables differ cannot share static variables.

use std::ops::Range;
use std::path::{Path, PathBuf};

use oxshmem_base::chance::Sum;

use crate::executable::Executable;

const NT_GNU_BUILD_ID: u32 = 3;

/// The path of the executable, as the system knows it.
pub fn path() -> Option<PathBuf> {
    std::fs::read_link("/proc/self/exe").ok()
}

/// Whether the system lets this process execute the file: its permissions are those of this user too, and its file system is not mounted
/// with `noexec`. Only a refusal counts; what else stands against it tells the start itself.
pub fn may_execute(file: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS) != Err(rustix::io::Errno::ACCESS)
}

/// The linker's fingerprint of the executable in hexadecimal digits, if it was asked to leave one.
pub fn build_id() -> Option<String> {
    let note = Executable::this()?.notes().find(|&(kind, owner, _)| kind == NT_GNU_BUILD_ID && owner == b"GNU\0")?;
    Some(note.2.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A fingerprint of where the executable's segments lie relative to each other, and of the [`build_id`]. Equal ones
/// mean that a variable has the same place in the static data of both programs.
pub fn layout() -> u64 {
    let headers = Executable::this().map_or(&[][..], |executable| executable.headers());
    let segments = headers.iter().flat_map(|header| {
        [header.p_type.into(), header.p_flags.into(), header.p_vaddr, header.p_filesz, header.p_memsz, header.p_align]
    });
    let bytes = segments.flat_map(u64::to_le_bytes).chain(build_id().unwrap_or_default().into_bytes());
    Sum::of(bytes)
}

/// Where in the executable's file lies what is loaded from it: code, constants and variables, without names and debug
/// information.
pub fn loaded_parts() -> Vec<Range<u64>> {
    let headers = Executable::this().map_or(&[][..], |executable| executable.headers());
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    loaded.map(|header| header.p_offset..header.p_offset + header.p_filesz).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_knows_itself() {
        assert_eq!(path(), std::env::current_exe().ok());
        assert_ne!(layout(), 0);
        assert_eq!(layout(), layout());
    }

    #[test]
    fn constants_are_loaded_and_the_end_of_the_file_is_not() {
        const TEXT: &[u8] = b"a sentence that only this test has";
        let file = std::fs::read("/proc/self/exe").expect("a running program has a file");
        let parts = loaded_parts();
        let has = |part: &Range<u64>| {
            file[part.start as usize..part.end as usize].windows(TEXT.len()).any(|bytes| bytes == TEXT)
        };
        assert!(parts.iter().any(has), "{parts:?}");
        // The table of sections comes last, and is not loaded.
        assert!(parts.iter().all(|part| part.end < file.len() as u64), "{parts:?}");
    }

    #[test]
    fn the_build_id_is_the_one_in_the_file() {
        let file = path().expect("a running program has a file");
        let Ok(readelf) = std::process::Command::new("readelf").arg("-n").arg(file).output() else {
            return println!("SKIPPED: there is no readelf");
        };
        let notes = String::from_utf8_lossy(&readelf.stdout).into_owned();
        match build_id() {
            Some(id) => assert!(notes.contains(&format!("Build ID: {id}")), "{id}\n{notes}"),
            None => assert!(!notes.contains("Build ID"), "{notes}"),
        }
    }
}
