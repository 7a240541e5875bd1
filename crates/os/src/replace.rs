//! Another program in the place of this process.

use std::ffi::{CString, OsStr, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// A program with its arguments and variables, in the form that the kernel takes.
#[derive(Debug)]
pub struct Replacement {
    file: CString,
    arguments: Vec<CString>,
    variables: Vec<CString>,
}

impl Replacement {
    /// The file is not looked up. The first argument is the name by which the program is called. An error if a text has a zero byte.
    pub fn new<'a>(
        file: &Path,
        arguments: impl Iterator<Item = &'a OsStr>,
        variables: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> io::Result<Replacement> {
        let variable =
            |(name, value): (&OsStr, &OsStr)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat());
        Ok(Replacement {
            file: CString::new(file.as_os_str().as_bytes())?,
            arguments: arguments.map(|text| CString::new(text.as_bytes())).collect::<Result<_, _>>()?,
            variables: variables.map(variable).collect::<Result<_, _>>()?,
        })
    }

    /// Becomes the program, or returns why the kernel refuses it. For a file that is none, execvp(3) starts a shell that takes the bytes for
    /// its commands. This function does not.
    ///
    /// Makes one system call and allocates two lists, so it may run between fork and exec.
    pub fn run(&self) -> io::Error {
        let (arguments, variables) = (list(&self.arguments), list(&self.variables));
        // SAFETY: the name and all texts end with a zero byte, both lists with null, and all of them live until the call returns.
        unsafe { libc::execve(self.file.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
        io::Error::last_os_error()
    }
}

fn list(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_file_that_is_no_program_is_refused_and_no_shell_runs_it() {
        let folder = TestFolder::new("replacement");
        let (made, script) = (folder.join("made"), folder.join("script"));
        // Another process writes it: one that this process has open for writing is busy.
        let text = format!("echo ': > {}' > {}; chmod +x {1}", made.display(), script.display());
        assert!(Command::new("sh").args(["-c", &text]).status().expect("a shell").success());
        let next = Replacement::new(&script, ["script".as_ref()].into_iter(), [].into_iter()).expect("texts");
        assert_eq!(next.run().raw_os_error(), Some(libc::ENOEXEC));
        assert!(!made.exists());
    }
}
