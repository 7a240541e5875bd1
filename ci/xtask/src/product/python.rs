//! The Python module: its files, and the part in C, which needs no header of Python and serves every version.

use std::path::{Path, PathBuf};

use crate::product::installation;
use crate::product::recipe::Recipe;
use crate::product::strip::strip;
use crate::{Outcome, command, disk, top};

/// The folder for `PYTHONPATH`, below that of the library.
pub(crate) const FOLDER: &str = "python";
/// The part in C.
const NATIVE: &str = "liboxshmem-python.so";

/// Installs the module in the folder of a staged tree.
pub(crate) fn install(recipe: &Recipe, prefix: &Path) -> Outcome {
    let to = recipe.libdir.join(FOLDER).join("oxshmem");
    copy(&top().join("python/oxshmem"), &prefix.join(&to))?;
    let native = to.join(NATIVE);
    let sources = ["core.c", "array.c", "places.c", "signals.c"].map(|name| top().join("python/native").join(name));
    let mut compiler = recipe.toolchain.cc();
    compiler.args(["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-o").arg(prefix.join(&native)).args(sources);
    command::run(compiler.args(["-Wl,-z,now", "-Wl,-z,relro", "-Wl,--build-id=none", "-ldl"]))?;
    strip(recipe, prefix, &native)
}

/// Copies what belongs to the module: sources, types, the mark that it has types.
fn copy(from: &Path, to: &Path) -> Outcome {
    disk::make_folder(to)?;
    for path in disk::entries(from)? {
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        let belongs =
            name.extension().is_some_and(|ending| ["py", "pyi", "typed"].iter().any(|known| ending == *known));
        if path.is_dir() && name != Path::new("__pycache__") {
            copy(&path, &to.join(name))?;
        } else if belongs {
            installation::copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}
