//! Processes of another user.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::not_run;

/// The user `nobody`.
pub const STRANGER: u32 = 65_534;

/// A process of another user, which holds sockets under abstract names.
#[derive(Debug)]
pub struct OtherUser(Child);

impl OtherUser {
    /// Has it listen under these names; nothing, with the reason printed, where no other user can be had or a name is taken.
    pub fn listens(names: &[String]) -> Option<OtherUser> {
        let script = format!(
            "import socket,sys\nall=[]\nfor name in {names:?}:\n s=socket.socket(socket.AF_UNIX)\n s.bind(b'\\0'+name.encode())\n \
             s.listen()\n all.append(s)\nprint('ready',flush=True)\nsys.stdin.read()"
        );
        let mut python = Command::new("python3");
        python.args(["-c", &script]).uid(STRANGER).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = match python.spawn() {
            Ok(child) => child,
            Err(error) => {
                not_run(format_args!("no process of another user can be started: {error}"));
                return None;
            }
        };
        let mut ready = [0; 6];
        let read = child.stdout.as_mut().expect("a pipe").read_exact(&mut ready);
        let other = OtherUser(child);
        if let Err(error) = read {
            not_run(format_args!("the other user's process has not got the names: {error}"));
            return None;
        }
        Some(other)
    }
}

impl Drop for OtherUser {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
