//! Which file a program name means, and why it cannot be run if it cannot.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use oxshmem_base::{Error, names};
use oxshmem_os::program::may_execute;

use crate::wrapper::quoted;

/// A program that cannot be started, and the shell's exit status for it.
pub(crate) type Unusable = (i32, Error);

/// The shell's exit status for a program that is not there.
pub(crate) const NOT_FOUND: i32 = 127;
/// The shell's exit status for a program that is there and cannot be started.
pub(crate) const NOT_EXECUTABLE: i32 = 126;

/// The folders in which execvp(3) looks without a PATH.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file to execute. Names with a slash are taken as they are (from `wdir`, where the PE will run), others are
/// looked up in `path`, which is our own PATH unless the PEs get another one.
pub(crate) fn resolve(name: &OsStr, wdir: Option<&Path>, path: Option<&OsStr>) -> Result<PathBuf, Unusable> {
    if let Some(wdir) = wdir.filter(|wdir| !wdir.is_dir()) {
        let error = Error::new(format!("cannot run in {}", wdir.display())).because("there is no such directory");
        return Err((2, error));
    }
    if name.as_encoded_bytes().contains(&b'/') {
        let file = wdir.map_or_else(|| name.into(), |wdir| wdir.join(name));
        usable(&file, name)?;
        // A link keeps its name: a script finds its neighbours, or its task, by the name that it was called by.
        return Ok(if wdir.is_some() { std::path::absolute(&file).unwrap_or(file) } else { file });
    }
    let path = search_path(path, std::env::var_os("PATH"));
    let mut refused = None;
    for folder in std::env::split_paths(&path) {
        // A relative folder is one below that of the PE, and one without a name is that itself. With a slash in the file's name the
        // system does not look it up once more, in the PATH of the PE.
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let file = wdir.map_or_else(|| folder.join(name), |wdir| wdir.join(&folder).join(name));
        match usable(&file, name) {
            Ok(()) => return Ok(if wdir.is_some() { std::path::absolute(&file).unwrap_or(file) } else { file }),
            Err((NOT_EXECUTABLE, error)) if file.is_file() => refused = Some((NOT_EXECUTABLE, error)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| not_in_path(name, wdir.unwrap_or(Path::new(".")))))
}

/// The folders of programs: those of the PEs, else our own, else those of execvp(3), as where no PATH is set.
fn search_path(path: Option<&OsStr>, own: Option<OsString>) -> OsString {
    path.map(OsStr::to_os_string).or(own).unwrap_or_else(|| DEFAULT_PATH.into())
}

fn usable(file: &Path, name: &OsStr) -> Result<(), Unusable> {
    let cannot = |status, why: String| Err((status, Error::new(format!("cannot run {}", name.display())).because(why)));
    match fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(missing(file, name)),
        Err(error) => cannot(NOT_EXECUTABLE, error.to_string()),
        Ok(found) if found.is_dir() => cannot(NOT_EXECUTABLE, "it is a directory".into()),
        // The kernel executes no other, and a read of one may wait for ever.
        Ok(found) if !found.is_file() => cannot(NOT_EXECUTABLE, "it is not a regular file".into()),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => {
            let fix = advice(file).unwrap_or_else(|| format!("chmod +x {}, if it is a program", file.display()));
            let error = Error::new(format!("cannot run {}", name.display()));
            Err((NOT_EXECUTABLE, error.because("the file has no execute permission").fix(fix)))
        }
        Ok(_) if !may_execute(file) => {
            cannot(NOT_EXECUTABLE, "this user may not execute it, or its file system is mounted with noexec".into())
        }
        Ok(_) => match missing_interpreter(file) {
            Some(interpreter) => {
                let error = Error::new(format!("cannot run {}", name.display()))
                    .because(format!("its first line asks for {}, which is not there", interpreter.escape_debug()));
                // Its lines end as those of Windows.
                let mends = interpreter.ends_with('\r');
                let fix =
                    || format!("end its lines as this system does: sed -i 's/\\r$//' {}", quoted(file.as_os_str()));
                Err((NOT_FOUND, if mends { error.fix(fix()) } else { error }))
            }
            None => Ok(()),
        },
    }
}

fn missing(file: &Path, name: &OsStr) -> Unusable {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let error = Error::new(format!("cannot run {}", name.display()));
    if !folder.is_dir() {
        return (NOT_FOUND, error.because(format!("there is no directory {}", folder.display())));
    }
    let error = error.because("there is no such file");
    match nearest_program(&file.file_name().unwrap_or_default().to_string_lossy(), folder) {
        Some(near) => (NOT_FOUND, error.fix(format!("did you mean {}?", folder.join(near).display()))),
        None => (NOT_FOUND, error),
    }
}

fn not_in_path(name: &OsStr, here: &Path) -> Unusable {
    let error = Error::new(format!("cannot run {}", name.display())).because("no directory of PATH holds it");
    let name = name.to_string_lossy();
    match &*name {
        "." | ".." => return (NOT_EXECUTABLE, error.because("it is a directory")),
        "" => {
            return (
                NOT_FOUND,
                error.because("its name is empty").fix("look whether a variable in the command is set"),
            );
        }
        _ => {}
    }
    let is_here = here.join(&*name).is_file();
    if let Some(fix) = advice(Path::new(&*name)).filter(|_| is_here) {
        return (NOT_EXECUTABLE, Error::new(format!("cannot run {name}")).because("it is a source file").fix(fix));
    }
    let near = if is_here { Some(name.to_string()) } else { nearest_program(&name, here) };
    match near {
        Some(near) => (NOT_FOUND, error.fix(format!("did you mean ./{near}?"))),
        None => (NOT_FOUND, error),
    }
}

/// How the program of a source file is run, by the file's ending.
fn advice(source: &Path) -> Option<String> {
    let (shown, made) = (source.display(), source.with_extension(""));
    let run = if made.is_absolute() || made.starts_with(".") {
        made.display().to_string()
    } else {
        format!("./{}", made.display())
    };
    // The options of the command stay, those of `oxshmem sim` too.
    let run_by = |name: &str, interpreter: &str| {
        format!("let {name} run it: the same command with `{interpreter} {shown}` in the place of `{shown}`")
    };
    let compiled =
        |compiler: &str| format!("compile it, `{compiler} {shown} -o {}`, and run `oshrun {run}`", made.display());
    match source.extension()?.to_str()? {
        "py" => Some(run_by("Python", "python3")),
        "sh" => Some(run_by("the shell", "sh")),
        "c" => Some(compiled("oshcc")),
        "cc" | "cpp" | "cxx" | "C" => Some(compiled("oshc++")),
        "f" | "F" | "for" | "f77" | "f90" | "F90" | "f95" | "f03" | "f08" => Some(compiled("oshfort")),
        "rs" => Some("build its package and run it: `cargo oxrun`".into()),
        _ => None,
    }
}

fn nearest_program(name: &str, folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let programs: Vec<String> = entries
        .filter(|entry| entry.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names::nearest(name, programs.iter().map(String::as_str)).map(str::to_string)
}

/// The interpreter that a script names, if it is not there: the kernel would only say that the *script* is missing. As the kernel has it,
/// the name ends at a space or a tab, and a carriage return is a part of it.
fn missing_interpreter(file: &Path) -> Option<String> {
    use std::io::Read;
    let mut head = Vec::new();
    fs::File::open(file).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let interpreter = std::str::from_utf8(line).ok()?.split([' ', '\t']).find(|word| !word.is_empty())?;
    (!Path::new(interpreter).exists()).then(|| interpreter.to_string())
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_source_file_is_told_from_a_program() {
        let folder = TestFolder::new("sources");
        for (name, words) in [
            ("hello.py", "`python3 hello.py` in the place of `hello.py`"),
            ("hello.f90", "`oshfort hello.f90 -o hello`, and run `oshrun ./hello`"),
            ("hello.c", "`oshcc hello.c -o hello`"),
            ("hello.cpp", "`oshc++ hello.cpp -o hello`"),
        ] {
            let path = folder.write(name, "x");
            let (status, error) = resolve(name.as_ref(), Some(&folder), Some("/no/such".as_ref())).unwrap_err();
            assert!(status == NOT_EXECUTABLE && error.to_string().contains(words), "{status} {error}");
            let (status, error) = resolve(path.as_os_str(), None, None).unwrap_err();
            let (begin, _) = words[1..].split_once(' ').expect("two words");
            assert!(status == NOT_EXECUTABLE && error.to_string().contains(begin), "{status} {error}");
        }
        for (name, code, why) in [(".", NOT_EXECUTABLE, "a directory"), ("", NOT_FOUND, "name is empty")] {
            let (status, error) = resolve(name.as_ref(), None, Some("/no/such".as_ref())).unwrap_err();
            assert!(status == code && error.to_string().contains(why), "{status} {error}");
        }
        // A relative folder of PATH is looked up where the PE will run, and its file is found from there.
        let found = |wdir: &Path, path: &str| resolve("tool".as_ref(), Some(wdir), Some(path.as_ref())).ok();
        let tool = folder.write_executable("bin/tool", "#!/bin/sh\n");
        assert_eq!(found(&folder, "bin"), Some(tool.clone()));
        assert_eq!(found(&folder.join("bin"), "/no/such:."), Some(tool));
        assert_eq!(found(Path::new("/"), "bin:."), None);
        let own = std::env::current_exe().expect("a path");
        let (here, name) = (own.parent().expect("a folder"), own.file_name().expect("a name"));
        assert_eq!(resolve(name, Some(here), Some("/no/such:".as_ref())).ok(), Some(own.clone()));
        let source = resolve("Cargo.toml".as_ref(), None, Some(":/no/such".as_ref())).expect_err("no program").1;
        assert!(source.to_string().contains("chmod +x ./Cargo.toml"), "{source}");
        std::os::unix::fs::symlink("bin/tool", folder.join("link")).expect("a link");
        assert_eq!(resolve("./link".as_ref(), Some(&folder), None).ok(), Some(folder.join("link")));
        // One that can be executed is, whatever it is called.
        let script = folder.write_executable("run.py", "#!/bin/sh\n");
        assert!(resolve(script.as_os_str(), None, None).is_ok());
    }

    #[test]
    fn without_a_path_programs_are_looked_for_as_the_system_does() {
        let [pes, own] = ["/pes", "/own"].map(OsString::from);
        assert_eq!(search_path(Some(&pes), Some(own.clone())), pes);
        assert_eq!(search_path(None, Some(own.clone())), own);
        assert_eq!(search_path(None, Some(OsString::new())), "");
        let found = resolve("sh".as_ref(), None, Some(&search_path(None, None)));
        assert!(found.is_ok_and(|file| file.ends_with("bin/sh")));
    }

    #[test]
    fn a_program_that_only_others_may_execute_is_passed_over() {
        let folder = TestFolder::new("permissions");
        let [barred, open] =
            ["barred", "open"].map(|name| folder.write_executable(format!("{name}/tool"), "#!/bin/sh\n"));
        fs::set_permissions(&barred, fs::Permissions::from_mode(0o611)).expect("the file is ours");
        let found = |path: &str| resolve("tool".as_ref(), Some(&folder), Some(path.as_ref()));
        // To root every execute permission is its own.
        let may_all = may_execute(&barred);
        assert_eq!(found("barred:open").ok(), Some(if may_all { barred } else { open }));
        if !may_all {
            let (status, error) = found("barred").expect_err("no program");
            assert!(status == NOT_EXECUTABLE && error.to_string().contains("this user may not"), "{status} {error}");
        }
    }

    #[test]
    fn a_carriage_return_is_a_part_of_the_name_of_an_interpreter() {
        let folder = TestFolder::new("interpreters");
        let refused = |text: &str| {
            let script = folder.write_executable("script", text);
            resolve(script.as_os_str(), None, None).err().map(|(status, error)| (status, error.to_string()))
        };
        assert_eq!(refused("#! \t/bin/sh -e\n"), None);
        let (status, text) = refused("#!/bin/sh\r\necho\r\n").expect("there is no such interpreter");
        assert!(status == NOT_FOUND && text.contains("asks for /bin/sh\\r, which is not there"), "{text}");
        assert!(text.contains("sed -i"), "{text}");
        let (_, text) = refused("#!/no/such/shell\n").expect("there is no such interpreter");
        assert!(text.contains("asks for /no/such/shell, which") && !text.contains("sed"), "{text}");
    }
}
