//! A wheel that brings the library, the headers and the tools into an environment of Python.

use std::path::PathBuf;
use std::process::Command;

use super::{Product, c_library};
use crate::product::recipe::VERSION;
use crate::{Outcome, command, top};

pub(super) fn make(product: &Product) -> Outcome<Vec<PathBuf>> {
    if !command::exists("python3") {
        println!("not made: the wheel: there is no python3 here");
        return Ok(Vec::new());
    }
    let (major, minor) = c_library::oldest(product)?;
    let platform = format!("manylinux_{major}_{minor}_{}", product.toolchain.processor());
    let wheel = product.output.join(format!("oxshmem-{VERSION}-py3-none-{platform}.whl"));
    let mut script = Command::new("python3");
    script.arg(top().join("ci/packages/wheel.py")).arg(&product.tree).arg(&wheel).args([VERSION, &platform]);
    command::run(script.env("SOURCE_DATE_EPOCH", &product.time))?;
    Ok(vec![wheel])
}
