//! The names of the sockets at which a launcher tells what its job does. They are in no file system.

/// The beginning of the names of all sockets of a user's launchers that answer with a view of the job in JSON.
pub fn views(user: u32) -> String {
    format!("oxshmem/{user}/")
}

/// The socket of the launcher with this process number that answers with a view of the job in JSON.
pub fn view(user: u32, launcher: u32) -> String {
    format!("{}{launcher}", views(user))
}

/// The one that answers with the waits of all PEs in words, and with nothing as long as one of them does not wait.
pub fn waits(user: u32, launcher: u32) -> String {
    format!("oxshmem-waits/{user}/{launcher}")
}
