//! Archives that a program compiled with `--race` is linked with, but that were compiled without it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oxshmem_base::Error;

/// The beginning of the names that the compiler's instrumentation calls: each instrumented function calls one.
const INSTRUMENTATION: &[u8] = b"__tsan_";

/// The note about archives whose loads and stores the detector does not see.
pub(super) fn note(arguments: &[OsString]) -> Option<Error> {
    let blind: Vec<String> = archives(arguments, Path::exists)
        .iter()
        .filter(|archive| std::fs::read(archive).is_ok_and(|bytes| !is_instrumented(&bytes)))
        .map(|archive| archive.display().to_string())
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
    bytes.windows(INSTRUMENTATION.len()).any(|window| window == INSTRUMENTATION)
}

/// The archives among the arguments: by name, or as a library of a folder of the user that is not there as a shared one.
fn archives(arguments: &[OsString], exists: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let texts: Vec<String> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let folders = || {
        let joined = texts.iter().filter_map(|text| text.strip_prefix("-L")).filter(|folder| !folder.is_empty());
        joined.chain(texts.windows(2).filter(|pair| pair[0] == "-L").map(|pair| pair[1].as_str()))
    };
    let mut archives = Vec::new();
    for text in &texts {
        let found = match text.strip_prefix("-l") {
            Some(name) => folders().find_map(|folder| {
                let file = |ending: &str| Path::new(folder).join(format!("lib{name}.{ending}"));
                let is_shared = exists(&file("so"));
                (is_shared || exists(&file("a"))).then(|| (!is_shared).then(|| file("a")))
            }),
            None => (text.ends_with(".a") && !text.starts_with('-')).then(|| Some(PathBuf::from(text))),
        };
        if let Some(archive) = found.flatten()
            && !archives.contains(&archive)
        {
            archives.push(archive);
        }
    }
    archives
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_those_that_the_linker_takes() {
        let there = ["own/liba.a", "own/libboth.a", "own/libboth.so", "far/libb.a"].map(Path::new);
        let words = "-Lown -L far x.o direct.a -la -lboth -lb -lm -la".split(' ').map(OsString::from);
        let found = archives(&words.collect::<Vec<_>>(), |path| there.contains(&path));
        assert_eq!(found, ["direct.a", "own/liba.a", "far/libb.a"].map(PathBuf::from));
    }

    #[test]
    fn an_instrumented_archive_calls_the_instrumentation() {
        assert!(is_instrumented(b"\x7fELF..__tsan_func_entry..") && !is_instrumented(b"\x7fELF..main.."));
    }
}
