//! A wheel that brings the library, the headers and the tools into an environment of Python.

use std::path::PathBuf;
use std::process::Command;

use super::Product;
use crate::product::installation;
use crate::product::recipe::VERSION;
use crate::{Outcome, command, top};

/// Makes the wheel.
pub(super) fn make(product: &Product) -> Outcome<Vec<PathBuf>> {
    if !command::exists("python3") {
        println!("not made: the wheel: there is no python3 here");
        return Ok(Vec::new());
    }
    let (major, minor) = oldest_c_library(product)?;
    let platform = format!("manylinux_{major}_{minor}_{}", product.toolchain.processor());
    let wheel = product.output.join(format!("oxshmem-{VERSION}-py3-none-{platform}.whl"));
    let mut script = Command::new("python3");
    script.arg(top().join("ci/packages/wheel.py")).arg(&product.tree).arg(&wheel).args([VERSION, &platform]);
    command::run(script.env("SOURCE_DATE_EPOCH", &product.time))?;
    Ok(vec![wheel])
}

/// The version of glibc that the files of the tree ask for.
fn oldest_c_library(product: &Product) -> Outcome<(u32, u32)> {
    let mut newest = (2, 17);
    for file in installation::files(&product.tree)? {
        let path = product.tree.join(&file);
        if path.is_symlink() || !(file.starts_with("bin") || file.to_string_lossy().contains(".so")) {
            continue;
        }
        let listed = command::output(product.toolchain.tool("objdump").arg("-T").arg(&path))?;
        newest = newest.max(newest_of(&String::from_utf8_lossy(&listed.stdout)));
    }
    Ok(newest)
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
    #[test]
    fn the_newest_version_of_a_list_counts() {
        let symbols = "0000 DF *UND* 0000 (GLIBC_2.2.5) free\n0000 DF *UND* 0000 (GLIBC_2.34) dlsym\n (GCC_3.0) unwind";
        assert_eq!(super::newest_of(symbols), (2, 34));
        assert_eq!(super::newest_of("no symbols"), (0, 0));
    }
}
