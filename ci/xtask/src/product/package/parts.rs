//! The files of an installation by the package of a distribution that they belong to.

use std::path::Path;

use crate::product::stage::WRAPPERS;

/// A package of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackagePart {
    /// The library that a program needs to run
    Library,
    /// The launcher and other tools
    Tools,
    /// Headers, wrappers, archives and pages for those who compile programs
    Development,
}

/// The part of a file, by its path below the prefix.
pub(super) fn part(file: &Path) -> PackagePart {
    let text = file.to_string_lossy();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or(&name);
    let compiles = ["oshcc", "cargo-oxrun"].contains(&stem) || WRAPPERS.contains(&stem);
    let is_for_builds = ["include/", "lib", "share/man/man3/", "share/oxshmem/examples/", "share/oxshmem/pkgconfig/"]
        .iter()
        .any(|start| text.starts_with(start))
        && !text.starts_with("libexec/");
    if name.starts_with("liboxshmem.so.") {
        PackagePart::Library
    } else if text.contains("/python/oxshmem/") {
        // A job in Python needs no compiler.
        PackagePart::Tools
    } else if text.starts_with("bin/") || text.starts_with("share/man/man1/") {
        if compiles { PackagePart::Development } else { PackagePart::Tools }
    } else if is_for_builds {
        PackagePart::Development
    } else {
        PackagePart::Tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_package() {
        for (file, wanted) in [
            ("lib/liboxshmem.so.1.0", PackagePart::Library),
            ("lib/liboxshmem.so", PackagePart::Development),
            ("lib/python/oxshmem/__init__.py", PackagePart::Tools),
            ("lib/python/oxshmem/liboxshmem-python.so", PackagePart::Tools),
            ("lib/liboxshmem.a", PackagePart::Development),
            ("lib/cmake/oxshmem/oxshmemConfig.cmake", PackagePart::Development),
            ("bin/oshrun", PackagePart::Tools),
            ("bin/oshc++", PackagePart::Development),
            ("bin/shmemcxx", PackagePart::Development),
            ("bin/shmemCC", PackagePart::Development),
            ("share/man/man1/oshrun.1", PackagePart::Tools),
            ("share/man/man1/shmemc++.1", PackagePart::Development),
            ("share/man/man3/shmem_put.3", PackagePart::Development),
            ("share/man/man7/oxshmem.7", PackagePart::Tools),
            ("libexec/oxshmem/oshbench", PackagePart::Tools),
            ("share/oxshmem/bench/bench.c", PackagePart::Tools),
            ("share/oxshmem/examples/c/hello.c", PackagePart::Development),
            ("include/mpp/shmem.h", PackagePart::Development),
        ] {
            assert_eq!(part(Path::new(file)), wanted, "{file}");
        }
    }
}
