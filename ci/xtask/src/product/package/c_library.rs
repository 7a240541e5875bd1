//! The C library that the programs and libraries of a tree ask for.

use std::path::Path;

use super::Product;
use crate::{Outcome, command, disk};

/// The oldest version of glibc that has everything which they ask for.
pub(super) fn oldest(product: &Product) -> Outcome<(u32, u32)> {
    let mut newest = (2, 17);
    for file in disk::files(&product.tree)? {
        let path = product.tree.join(&file);
        if path.is_symlink() || !asks(&file) {
            continue;
        }
        let listed = command::output(product.toolchain.tool("objdump").arg("-T").arg(&path))?;
        newest = newest.max(newest_of(&String::from_utf8_lossy(&listed.stdout)));
    }
    Ok(newest)
}

/// Whether a file of the tree is a program or a shared library.
fn asks(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.starts_with("bin") || file.starts_with("libexec") || name.contains(".so")
}

fn newest_of(symbols: &str) -> (u32, u32) {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let version = rest.split([')', ' ', '\n']).next()?;
        let mut numbers = version.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max().unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_a_list_counts() {
        let symbols = "0000 DF *UND* 0000 (GLIBC_2.2.5) free\n0000 DF *UND* 0000 (GLIBC_2.34) dlsym\n (GCC_3.0) unwind";
        assert_eq!(newest_of(symbols), (2, 34));
        assert_eq!(newest_of("no symbols"), (0, 0));
    }

    #[test]
    fn every_program_and_library_is_asked() {
        for file in [
            "bin/oshcc",
            "lib/liboxshmem.so.1.0",
            "lib64/python/oxshmem/liboxshmem-python.so",
            "libexec/oxshmem/oshdemo",
            "libexec/oxshmem/liboxshmem-profile.so",
        ] {
            assert!(asks(Path::new(file)), "{file}");
        }
        for file in ["lib/liboxshmem.a", "share/man/man1/oshrun.1", "share/oxshmem/examples/c/hello.c"] {
            assert!(!asks(Path::new(file)), "{file}");
        }
    }
}
