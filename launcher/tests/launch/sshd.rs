//! An sshd of a test's own, with keys that live as long as the test.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oxshmem_test_folder::TestFolder;

use super::until;

/// Where distributions put it; it insists on being called by its whole name.
const SSHD: [&str; 2] = ["/usr/sbin/sshd", "/usr/bin/sshd"];

pub(crate) struct Server {
    sshd: Child,
    folder: TestFolder,
    address: String,
    port: u16,
    /// The words that go before a command to run it where clients are.
    client: Vec<String>,
}

impl Server {
    /// An sshd on the loopback, or why there can be none here.
    pub(crate) fn start() -> Result<Server, String> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        Server::start_at("127.0.0.1", free.map_err(|error| error.to_string())?.port(), &[], &[])
    }

    /// An sshd at this address. `on`: the words that run a command on its host; `client`: on that of its clients.
    pub(crate) fn start_at(address: &str, port: u16, on: &[&str], client: &[&str]) -> Result<Server, String> {
        let sshd = SSHD.iter().find(|file| Path::new(file).exists()).ok_or("no sshd (package openssh-server)")?;
        let folder = TestFolder::new("sshd");
        let here = folder.display();
        for name in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name));
            if !keygen.status().is_ok_and(|status| status.success()) {
                return Err("ssh-keygen does not work (package openssh-client)".into());
            }
        }
        if super::is_root() {
            // Debian's service makes it at boot; without it sshd refuses to start.
            let _ = fs::create_dir_all("/run/sshd");
        }
        let config = format!(
            "Port {port}\nListenAddress {address}\nHostKey {here}/host\nAuthorizedKeysFile {here}/user.pub\nStrictModes no\n\
             PidFile none\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n"
        );
        fs::write(folder.join("config"), config).map_err(|error| error.to_string())?;
        let log = fs::File::create(folder.join("log")).map_err(|error| error.to_string())?;
        let words: Vec<&str> = on.iter().copied().chain([*sshd, "-D", "-e", "-f"]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(folder.join("config")).stdin(Stdio::null()).stderr(log);
        let sshd = command.spawn().map_err(|error| error.to_string())?;
        let client = client.iter().map(|word| word.to_string()).collect();
        let mut server = Server { sshd, folder, address: address.into(), port, client };
        let (mut ended, mut lets_in) = (false, false);
        until("sshd lets us in or gives up", || {
            ended = server.sshd.try_wait().is_ok_and(|status| status.is_some());
            lets_in = !ended && server.shell().status().is_ok_and(|status| status.success());
            ended || lets_in || server.refuses()
        });
        if lets_in { Ok(server) } else { Err(format!("sshd lets nobody in: {}", server.said().trim())) }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// It runs and has turned somebody away.
    fn refuses(&self) -> bool {
        let said = self.said();
        ["not allowed", "Authentication refused", "preauth"].iter().any(|word| said.contains(word))
    }

    /// The words of the remote shell; every host is that of the server.
    pub(crate) fn words(&self, host: &str) -> String {
        let Server { folder, address, port, .. } = self;
        format!(
            "ssh -F /dev/null -i {}/user -p {port} -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR \
             -o UserKnownHostsFile=/dev/null -o HostName={address} -o HostKeyAlias=test {host}",
            folder.display(),
        )
    }

    fn shell(&self) -> Command {
        let words = self.words("h0") + " true";
        let mut words =
            self.client.iter().map(String::as_str).chain(words.split_whitespace()).collect::<Vec<_>>().into_iter();
        let mut command = Command::new(words.next().expect("ssh"));
        command.args(words).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn connections(&self) -> usize {
        let pid = self.sshd.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        children.split_whitespace().count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ours, and it has nothing to save.
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}
