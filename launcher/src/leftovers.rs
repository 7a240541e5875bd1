//! Files that a library of a PE leaves in `/dev/shm` when the PE ends without it.
//!
//! libfabric's provider for shared memory names one for each endpoint by process, user and number, and removes them in an orderly
//! end only. UCX gives a file a random name, under which it exists for a short time at the start: so a PE has UCX make them in a
//! folder whose name has the mark of the job's processes (`oxshmem_os::job_folder`). Whatever is in there is this job's.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use oxshmem_os::job_folder;

/// Where they are.
const FOLDER: &str = "/dev/shm";
/// Endpoints of a process that are looked for. A PE has one for each rail, and a few for questions at the start.
const ENDPOINTS: u32 = 64;

/// Removes the files of the process `pid`, which was a PE of this job and has ended.
pub(crate) fn remove(pid: u32) {
    remove_in(Path::new(FOLDER), pid);
}

/// Removes what all processes with this mark have left, once they have ended. Marks of hosts and of jobs inside the job begin with
/// the mark of the job and a dot.
pub(crate) fn remove_all(mark: &str) {
    let own = job_folder::path(mark.as_ref());
    let (Some(folder), Some(name)) = (own.parent(), own.file_name().and_then(|name| name.to_str())) else { return };
    let uid = oxshmem_os::descriptors::own_uid();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let rest = entry.file_name().to_str().and_then(|found| Some(found.strip_prefix(name)?.to_owned()));
        let is_marked = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        // No other user knows the random mark before the folder is there, and the folder is this user's.
        if is_marked && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == uid) {
            // Another process may have removed it meanwhile, which is as good.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn remove_in(folder: &Path, pid: u32) {
    let uid = oxshmem_os::descriptors::own_uid();
    for path in (0..ENDPOINTS).map(|number| name(folder, pid, uid, number)) {
        // A file of another user is not the PE's, whatever its name is.
        if std::fs::symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.uid() == uid) {
            // Another process may have removed it meanwhile, which is as good.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn name(folder: &Path, pid: u32, uid: u32, number: u32) -> PathBuf {
    folder.join(format!("{pid}:{uid}:{number}"))
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn fault_L5_the_files_of_one_process_are_removed_and_no_others() {
        let folder = TestFolder::new("leftovers");
        let uid = oxshmem_os::descriptors::own_uid();
        let own = [name(&folder, 77, uid, 0), name(&folder, 77, uid, 3)];
        let others = [name(&folder, 7, uid, 0), name(&folder, 77, uid + 1, 0), folder.join("77")];
        own.iter().chain(&others).for_each(|path| std::fs::write(path, "").unwrap());
        remove_in(&folder, 77);
        assert!(own.iter().all(|path| !path.exists()) && others.iter().all(|path| path.exists()));
    }
}
