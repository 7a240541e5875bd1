//! Which program this is: PEs whose executables differ cannot share static variables.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use oxshmem_base::chance::Sum;

use crate::executable::Executable;
use crate::mappings;

const NT_GNU_BUILD_ID: u32 = 3;

/// The file that the system takes for the executable's.
const SHOWN: &str = "/proc/self/exe";

/// The path of the executable, as the system knows it.
pub fn path() -> Option<PathBuf> {
    match file() {
        Ok(mapped) if mapped != Path::new(SHOWN) => Some(mapped),
        _ => std::fs::read_link(SHOWN).ok(),
    }
}

/// A path by which the executable's file can be opened.
///
/// The system shows the file that was executed. In `ld.so ./program` that is the loader, whose symbols and bytes are not the program's. The
/// mappings tell the program's own file then.
pub fn file() -> io::Result<PathBuf> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no file is known that has this program's headers");
    let executable = Executable::this().ok_or_else(missing)?;
    let is_its = |path: &Path| File::open(path).and_then(|file| executable.is_in(&file)).unwrap_or(false);
    if is_its(Path::new(SHOWN)) {
        return Ok(SHOWN.into());
    }
    executable.start().and_then(mappings::path_at).filter(|path| is_its(path)).ok_or_else(missing)
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
    use oxshmem_test_folder::{again, not_run, passes};

    #[test]
    fn this_test_knows_itself() {
        assert_eq!(path(), std::env::current_exe().ok());
        assert_ne!(layout(), 0);
        assert_eq!(layout(), layout());
    }

    /// The loader that this test names, if it names one.
    fn loader() -> Option<PathBuf> {
        let headers = Executable::this()?.headers();
        let name = headers.iter().find(|header| header.p_type == libc::PT_INTERP)?;
        let bytes = std::fs::read(SHOWN).ok()?;
        let name = bytes.get(name.p_offset as usize..)?.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8(name.to_vec()).ok()?.into())
    }

    #[test]
    fn a_program_that_the_loader_starts_knows_its_file() {
        const CHILD: &str = "OXSHMEM_LOADER_TEST";
        if let Some(program) = std::env::var_os(CHILD) {
            let program = PathBuf::from(program);
            assert_ne!(std::env::current_exe().expect("the loader"), program);
            assert_eq!((file().expect("it is mapped"), path()), (program.clone(), Some(program)));
            return;
        }
        let program = std::env::current_exe().expect("the test itself");
        assert_eq!((file().expect("it was executed"), path().as_ref()), (SHOWN.into(), Some(&program)));
        let Some(loader) = loader() else { return not_run("this test names no loader") };
        let mut child = again(&[loader.to_str().expect("text")]);
        child.env(CHILD, &program);
        passes(child);
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
