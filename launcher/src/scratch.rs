//! A folder for files of one run of a tool. It lies among the temporary files of all users, so its name cannot be
//! guessed, and no other user can enter it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use oxshmem_base::Error;

/// The folder, which goes with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder for the tool of this name.
    pub(crate) fn new(tool: &str) -> Result<Scratch, Error> {
        let base = std::env::temp_dir();
        let unmade = |error| {
            Error::new(format!("no folder can be made in {}", base.display()))
                .because(error)
                .fix("set TMPDIR to a directory that can be written")
        };
        let mut random = [0; 8];
        oxshmem_os::random::fill(&mut random).map_err(unmade)?;
        let folder = base.join(format!("oxshmem-{tool}-{:016x}", u64::from_ne_bytes(random)));
        // A folder that is there belongs to another program.
        DirBuilder::new().mode(0o700).create(&folder).map_err(unmade)?;
        Ok(Scratch(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_nobody_else_s_and_goes_with_its_files() {
        let (one, other) = (Scratch::new("test").unwrap(), Scratch::new("test").unwrap());
        let path = one.path().to_owned();
        assert_ne!(path, other.path());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("file"), "").unwrap();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }
}
