//! Archives and object files that a program compiled with `--race` is linked with, but that were compiled without it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oxshmem_base::Error;

/// The beginning of the names that the compiler's instrumentation calls: each instrumented file calls one, even if it has no function.
const INSTRUMENTATION: &[u8] = b"__tsan_";
/// The beginning of the sections of gcc's `-flto`, which instruments when it links.
const LINK_TIME: &[u8] = b".gnu.lto_";

/// The note about files whose loads and stores the detector does not see.
pub(super) fn note(arguments: &[OsString]) -> Option<Error> {
    let blind: Vec<String> = linked(arguments, Path::exists)
        .iter()
        .filter(|file| std::fs::read(file).is_ok_and(|bytes| !is_instrumented(&bytes)))
        .map(|file| file.display().to_string())
        .collect();
    if blind.is_empty() {
        return None;
    }
    Some(
        Error::new(format!("races in {} are not looked for", blind.join(", ")))
            .because("it was compiled without --race, so its own loads and stores are not seen")
            .fix("compile its sources with --race as well"),
    )
}

fn is_instrumented(bytes: &[u8]) -> bool {
    bytes.windows(LINK_TIME.len()).any(|window| window.starts_with(INSTRUMENTATION) || window == LINK_TIME)
}

/// The object files and archives among the arguments: by name, or as a library of a folder of the user that is not there as a
/// shared one.
fn linked(arguments: &[OsString], exists: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let texts: Vec<String> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let folders = || {
        let joined = texts.iter().filter_map(|text| text.strip_prefix("-L")).filter(|folder| !folder.is_empty());
        joined.chain(texts.windows(2).filter(|pair| pair[0] == "-L").map(|pair| pair[1].as_str()))
    };
    let mut files = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        if place > 0 && texts[place - 1] == "-o" {
            continue;
        }
        let found = match text.strip_prefix("-l") {
            Some(name) => folders().find_map(|folder| {
                let file = |ending: &str| Path::new(folder).join(format!("lib{name}.{ending}"));
                let is_shared = exists(&file("so"));
                (is_shared || exists(&file("a"))).then(|| (!is_shared).then(|| file("a")))
            }),
            None => {
                let is_file = [".a", ".o"].iter().any(|ending| text.ends_with(ending)) && !text.starts_with('-');
                is_file.then(|| Some(PathBuf::from(text)))
            }
        };
        if let Some(file) = found.flatten()
            && !files.contains(&file)
        {
            files.push(file);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_those_that_the_linker_takes() {
        let there = ["own/liba.a", "own/libboth.a", "own/libboth.so", "far/libb.a"].map(Path::new);
        let words = "-Lown -L far x.o direct.a -la -lboth -lb -lm -la -r -o made.o".split(' ').map(OsString::from);
        let found = linked(&words.collect::<Vec<_>>(), |path| there.contains(&path));
        assert_eq!(found, ["x.o", "direct.a", "own/liba.a", "far/libb.a"].map(PathBuf::from));
    }

    #[test]
    fn an_instrumented_file_calls_the_instrumentation_or_gets_it_at_the_link() {
        assert!(is_instrumented(b"\x7fELF..__tsan_func_entry..") && !is_instrumented(b"\x7fELF..main.."));
        assert!(is_instrumented(b"\x7fELF...gnu.lto_main.1234.."));
    }
}
