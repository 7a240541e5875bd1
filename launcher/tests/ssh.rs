//! Jobs over real ssh: an sshd of the test's own, on a loopback port with keys that live as long as the test.

mod launch;

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use launch::{Ended, Folder, Running, oshrun, probe, runs, send, until};

/// Where distributions put it; it insists on being called by its whole name.
const SSHD: [&str; 2] = ["/usr/sbin/sshd", "/usr/bin/sshd"];

/// A running sshd.
struct Server {
    sshd: Child,
    folder: Folder,
    port: u16,
}

impl Server {
    /// An sshd, or why there can be none here.
    fn start() -> Result<Server, String> {
        let sshd = SSHD.iter().find(|file| Path::new(file).exists()).ok_or("no sshd (package openssh-server)")?;
        let folder = Folder::new();
        let here = folder.0.display();
        for name in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.0.join(name));
            if !keygen.status().is_ok_and(|status| status.success()) {
                return Err("ssh-keygen does not work (package openssh-client)".into());
            }
        }
        if launch::is_root() {
            // Debian's service makes it at boot; without it sshd refuses to start.
            let _ = fs::create_dir_all("/run/sshd");
        }
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {here}/host\nAuthorizedKeysFile {here}/user.pub\nStrictModes no\n\
             PidFile none\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n"
        );
        fs::write(folder.0.join("config"), config).map_err(|error| error.to_string())?;
        let log = fs::File::create(folder.0.join("log")).map_err(|error| error.to_string())?;
        let mut command = Command::new(sshd);
        command.args(["-D", "-e", "-f"]).arg(folder.0.join("config")).stdin(Stdio::null()).stderr(log);
        let mut sshd = command.spawn().map_err(|error| error.to_string())?;
        let mut ended = false;
        until("sshd listens or gives up", || {
            ended = sshd.try_wait().is_ok_and(|status| status.is_some());
            ended || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        });
        let server = Server { sshd, folder, port };
        let said = || fs::read_to_string(server.folder.0.join("log")).unwrap_or_default();
        match ended || !server.shell("h0").args(["true"]).status().is_ok_and(|status| status.success()) {
            true => Err(format!("sshd lets nobody in: {}", said().trim())),
            false => Ok(server),
        }
    }

    /// The words of the remote shell; every host is this one.
    fn words(&self, host: &str) -> String {
        format!(
            "ssh -F /dev/null -i {}/user -p {} -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR \
             -o UserKnownHostsFile=/dev/null -o HostName=127.0.0.1 -o HostKeyAlias=test {host}",
            self.folder.0.display(),
            self.port
        )
    }

    fn shell(&self, host: &str) -> Command {
        let words = self.words(host);
        let mut words = words.split_whitespace();
        let mut command = Command::new(words.next().expect("ssh"));
        command.args(words).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn job(&self, arguments: &[&str]) -> Command {
        oshrun(["-H", "h1,h2", "--launch-agent", &self.words("{host}"), "-x", "HERE"].iter().chain(arguments))
    }

    /// Connections that are open.
    fn connections(&self) -> usize {
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

#[test]
fn jobs_over_ssh() {
    let server = match Server::start() {
        Ok(server) => server,
        Err(why) => return println!("SKIPPED jobs over ssh: {why}"),
    };
    runs_and_meets(&server);
    names_what_is_missing(&server);
    leaves_nothing(&server);
}

fn runs_and_meets(server: &Server) {
    let probe = probe();
    let met = Ended::from(server.job(&["-n", "4", probe.to_str().unwrap(), "exchange"]).output().unwrap());
    assert_eq!((met.status, met.stderr.as_str()), (Some(0), ""));
    assert_eq!(met.stdout.matches("exchanged").count(), 4);
    let words = Ended::from(server.job(&["-n", "1", "printf", "%s.", "a  b", "$HOME", "it's", "|"]).output().unwrap());
    assert_eq!(words.stdout, "a  b.$HOME.it's.|.", "arguments are not for the remote shell");
    let failed =
        Ended::from(server.job(&["-n", "4", "sh", "-c", "[ $PMI_RANK = 3 ] && exit 7; sleep 600"]).output().unwrap());
    assert_eq!(failed.status, Some(7), "{}", failed.stderr);
    assert!(failed.stderr.contains("PE 3 (h2, pid"), "{}", failed.stderr);
}

fn names_what_is_missing(server: &Server) {
    let elsewhere =
        Ended::from(server.job(&["-n", "2", "--remote-prefix", "/no/such place", "true"]).output().unwrap());
    assert_eq!(elsewhere.status, Some(1));
    assert!(
        elsewhere.stderr.contains("the remote shell works, but oshrun cannot be run there"),
        "{}",
        elsewhere.stderr
    );
    let shell = server.words("{host}").replace("/user ", "/nobody ");
    let refused = Ended::from(oshrun(["-H", "h1", "--launch-agent", &shell, "true"]).output().unwrap());
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("the remote shell failed") && refused.stderr.contains("Permission denied"));
    assert!(refused.stderr.contains("exited with status 255"), "{}", refused.stderr);
}

fn leaves_nothing(server: &Server) {
    for victim in ["launcher", "ssh", "pe"] {
        let folder = Folder::new();
        let stay = "sleep 600 & echo $! > $HERE/child.$PMI_RANK; echo $$ > $HERE/pe.$PMI_RANK; wait";
        let mut command = server.job(&["-n", "4", "sh", "-c", stay]);
        command.env("HERE", &folder.0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let job = Running { child: command.spawn().expect("oshrun starts"), folder };
        let pids = job.pids(8);
        match victim {
            "launcher" => send("KILL", job.pid()),
            "pe" => send("KILL", pids[0]),
            _ => send("KILL", launch::children(job.pid(), "ssh")[0]),
        }
        let ended = job.wait();
        until("nothing of the job runs", || !pids.iter().any(|&pid| runs(pid)) && server.connections() == 0);
        if victim == "ssh" {
            assert!(ended.stderr.contains("host h") && ended.stderr.contains("killed by SIGKILL"), "{}", ended.stderr);
        }
    }
}
