//! Files that hold results for a user: reports, timelines, records, the output of PEs. All of them are opened here.
//!
//! A folder may belong to another user, who may have put links under the names that we write. These functions follow no link:
//! they create a new file, or write one under another name and rename it when it is complete. So an earlier file also survives a
//! full disk.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Permission bits that let others write.
const OTHERS_WRITE: u32 = 0o022;
/// The user that may do everything anyway.
const ROOT: u32 = 0;
/// Names that are tried for a file beside another one.
const NAMES: u32 = 100;

/// Makes a folder for results, or accepts an existing one. `user`: who writes there.
pub fn folder(path: &Path, user: u32) -> io::Result<()> {
    refuse_links_of_others(path, user)?;
    fs::create_dir_all(path)?;
    let found = fs::metadata(path)?;
    if found.uid() != user && found.uid() != ROOT && found.mode() & OTHERS_WRITE != 0 {
        Err(refused(format!("it belongs to user {}, and others can write to it", found.uid())))
    } else {
        Ok(())
    }
}

/// A new file under this name. An earlier file of this name is removed; so is a link, which is not followed.
pub fn fresh(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().read(true).write(true).create_new(true).open(path)
}

/// Writes a whole file. `user`: who writes.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>, user: u32) -> io::Result<()> {
    let mut file = ResultFile::create(path, user)?;
    file.write_all(bytes.as_ref())?;
    file.finish()
}

/// A file that gets its name when it is complete. Dropping it before that leaves nothing.
#[derive(Debug)]
pub struct ResultFile {
    file: File,
    /// The path that is written and the final name; `None` for a device, a pipe or a standard stream, which cannot be renamed.
    names: Option<(PathBuf, PathBuf)>,
}

impl ResultFile {
    /// A file that will have this name. A device, a pipe or a standard stream (`/dev/stdout`) is written as it is.
    pub fn create(path: &Path, user: u32) -> io::Result<ResultFile> {
        if let Some(stream) = standard_stream(path) {
            return Ok(ResultFile { file: stream?, names: None });
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        refuse_links_of_others(folder, user)?;
        let own = fs::symlink_metadata(path).ok();
        if let Some(found) = fs::metadata(path).ok().filter(|found| !found.is_file()) {
            if found.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            if own.is_some_and(|own| own.is_symlink()) && !is_trusted(&fs::metadata(folder)?, user) {
                return Err(refused("it is a link in a folder to which others can write".into()));
            }
            return Ok(ResultFile { file: File::options().write(true).open(path)?, names: None });
        }
        let (file, beside) = beside(folder)?;
        let file = ResultFile { file, names: Some((beside, path.to_owned())) };
        if let Some(earlier) = own.filter(|own| own.is_file() && own.uid() == user) {
            file.file.set_permissions(earlier.permissions())?;
        }
        Ok(file)
    }

    /// Gives the file its name. A full disk may cause an error only now.
    pub fn finish(mut self) -> io::Result<()> {
        let Some((beside, name)) = self.names.take() else { return Ok(()) };
        self.file.sync_all().and_then(|()| fs::rename(&beside, name)).inspect_err(|_| drop(fs::remove_file(&beside)))
    }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.names {
            // The error that kept the file from being complete has been reported.
            let _ = fs::remove_file(beside);
        }
    }
}

/// Another descriptor of the standard stream that a path names. The stream may lead to a file: a new one would take the place of the
/// link in `/dev`, if this user may write there, and the stream's file would get nothing.
fn standard_stream(path: &Path) -> Option<io::Result<File>> {
    let stream = match path.to_str()? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => io::stdout().as_fd().try_clone_to_owned(),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(stream.map(File::from))
}

/// A new file in `folder` under a name of its own.
fn beside(folder: &Path) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAMES {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".oxshmem-{}-{number}.part", std::process::id()));
        match File::options().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Whether only `user` and root can put anything into this folder.
fn is_trusted(folder: &Metadata, user: u32) -> bool {
    (folder.uid() == user || folder.uid() == ROOT) && folder.mode() & OTHERS_WRITE == 0
}

/// Refuses a path that leads through a link of another user.
fn refuse_links_of_others(path: &Path, user: u32) -> io::Result<()> {
    for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        if let Ok(found) = fs::symlink_metadata(part)
            && found.is_symlink()
            && found.uid() != user
            && found.uid() != ROOT
        {
            return Err(refused(format!("{} is a link of user {}", part.display(), found.uid())));
        }
    }
    Ok(())
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use oxshmem_test_folder::TestFolder;

    use super::*;

    /// A folder of one test, and the user who runs it.
    fn place(test: &str) -> (TestFolder, u32) {
        let place = TestFolder::new(&format!("output-{test}"));
        let user = fs::metadata(&*place).unwrap().uid();
        (place, user)
    }

    fn is_alone(folder: &Path, names: &[&str]) {
        let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        found.sort();
        assert_eq!(found, names);
    }

    #[test]
    fn fault_T2_links_lose_their_names_and_their_targets_stay() {
        let (place, user) = place("links");
        let target = place.write("target", "secret");
        let named = ["a", "b"].map(|name| place.join(name));
        named.iter().for_each(|name| symlink(&target, name).unwrap());
        write(&named[0], "report", user).unwrap();
        fresh(&named[1]).unwrap().write_all(b"output").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
        assert_eq!(named.each_ref().map(|name| fs::read_to_string(name).unwrap()), ["report", "output"]);
        is_alone(&place, &["a", "b", "target"]);
    }

    #[test]
    fn fault_T3_a_file_that_is_not_finished_leaves_the_earlier_one() {
        let (place, user) = place("unfinished");
        let path = place.join("report");
        write(&path, "first", user).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mut second = ResultFile::create(&path, user).unwrap();
        second.write_all(b"second").unwrap();
        drop(second);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        write(&path, "third", user).unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), fs::metadata(&path).unwrap().mode() & 0o777),
            ("third".into(), 0o600)
        );
        is_alone(&place, &["report"]);
        assert_eq!(write(Path::new("/dev/full"), "x", user).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn devices_and_pipes_are_written_as_they_are() {
        let (place, user) = place("devices");
        write(Path::new("/dev/null"), "x", user).unwrap();
        let link = place.join("null");
        symlink("/dev/null", &link).unwrap();
        write(&link, "x", user).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(write(&place, "x", user).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        fs::set_permissions(&*place, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(write(&link, "x", user).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_standard_stream_that_leads_to_a_file_goes_on_there() {
        let (place, user) = place("stream");
        if oxshmem_test_folder::is_again() {
            return write(Path::new("/dev/stdout"), "report", user).unwrap();
        }
        let file = place.join("file");
        let mut again = oxshmem_test_folder::again(&[]);
        assert!(again.stdout(File::create(&file).unwrap()).status().unwrap().success());
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("running 1 test") && text.contains("report"), "{text}");
    }

    #[test]
    fn fault_T2_folders_and_links_of_others_are_refused() {
        let (place, user) = place("folders");
        let (theirs, link) = (place.join("theirs"), place.join("link"));
        folder(&theirs.join("sub"), user).unwrap();
        symlink(&theirs, &link).unwrap();
        let stranger = 65_534;
        if let Err(error) = std::os::unix::fs::lchown(&link, Some(stranger), None) {
            return oxshmem_test_folder::not_run(format_args!("no file can be given away: {error}"));
        }
        let words = |result: io::Result<()>| result.unwrap_err().to_string();
        assert!(words(folder(&link, user)).ends_with("is a link of user 65534"));
        assert!(words(folder(&link.join("sub"), user)).ends_with("is a link of user 65534"));
        assert!(words(write(&link.join("report"), "x", user)).ends_with("is a link of user 65534"));
        chown(&theirs, Some(stranger), None).unwrap();
        folder(&theirs, user).unwrap();
        fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(words(folder(&theirs, user)), "it belongs to user 65534, and others can write to it");
    }
}
