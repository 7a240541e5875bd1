//! The folder in which UCX makes files of shared memory.
//!
//! UCX gives such a file a random name in `/dev/shm`, fills it, maps it and removes the name. A process that is killed in between
//! leaves a file of up to 4 MB whose name does not tell its job. So the files are made in a folder that the launcher
//! removes.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStringExt;

use oxshmem_os::job_folder;

/// The setting that names the folder, unless the user has set it. UCX warns of settings that no transport takes, so there is none
/// where the user names transports that share no memory.
pub(crate) fn setting(version: &str, tls: Option<&str>) -> Option<(&'static CStr, CString)> {
    let variable = |name: &str| std::env::var(name).ok();
    if variable("UCX_POSIX_DIR").is_some() || !is_used(tls.map(String::from).or_else(|| variable("UCX_TLS")).as_deref())
    {
        return None;
    }
    let name = setting_name(version)?;
    let folder = job_folder::own()?;
    Some((name, CString::new(folder.into_os_string().into_vec()).ok()?))
}

/// Whether UCX may make files of shared memory with these transports.
fn is_used(tls: Option<&str>) -> bool {
    const SHARED: [&str; 5] = ["all", "posix", "mm", "sm", "shm"];
    tls.is_none_or(|tls| !tls.starts_with('^') && tls.split(',').any(|name| SHARED.contains(&name.trim())))
}

/// By which name a version of UCX lets a program set it: without the name of the transport at first, later with it.
fn setting_name(version: &str) -> Option<&'static CStr> {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    match (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) {
        (1, 12..=13) => Some(c"DIR"),
        (1, 15..) => Some(c"POSIX_DIR"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_used, setting_name};

    #[test]
    fn only_transports_that_share_memory_get_a_folder() {
        let used = [None, Some("all"), Some("tcp,self,sm"), Some("posix, tcp")];
        assert!(used.into_iter().all(is_used));
        assert!([Some("tcp"), Some("tcp,self"), Some("^posix"), Some("rc")].into_iter().all(|tls| !is_used(tls)));
        let names = ["1.11.0", "1.13.1", "1.14.0", "1.18.0"].map(setting_name);
        assert_eq!(names, [None, Some(c"DIR"), None, Some(c"POSIX_DIR")]);
    }
}
