//! The command that starts an agent on a host, from the remote shell that the user named.

use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::Path;

use crate::wrapper::quoted;

/// Started without a terminal, and without waiting for ever for a host that is off.
pub(crate) const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 {host}";

/// Runs the launcher from the place that it has here, or else from PATH. Every shell understands it, and what starts
/// programs without a shell does too.
const FIND: &str = "if [ -x \"$0\" ]; then exec \"$0\" --agent; else exec oshrun --agent; fi";
/// The same where the user has named the place: PATH is not searched.
const EXACTLY: &str = "exec \"$0\" --agent";

/// The loader's variable with folders of libraries, which PEs on other hosts get from here.
pub(crate) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The variable in which sshd tells what it starts the address and port of both ends of the connection.
pub(crate) const SSH_CONNECTION: &str = "SSH_CONNECTION";

/// The address by which this host was reached: sshd's word, or the host's name where that is an address.
pub(crate) fn reached(connection: Option<&str>, name: &str) -> Option<IpAddr> {
    let by_ssh = connection.and_then(|ends| ends.split(' ').nth(2)?.parse().ok());
    by_ssh.or_else(|| name.parse().ok())
}

/// Where the launcher is on the other hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RemotePath<'a> {
    /// At this path, as here, or in PATH.
    AsHere(&'a Path),
    /// At this path.
    Exactly(&'a Path),
}

/// The words of the command for one host.
pub(crate) fn command(shell: &str, host: &str, index: u32, place: RemotePath<'_>) -> Result<Vec<String>, String> {
    let mut words = words(shell)?;
    let shells = shells(&words);
    let named = words.iter().any(|word| word.contains("{host}") || word.contains("{index}"));
    for word in &mut words {
        *word = word.replace("{host}", host).replace("{index}", &index.to_string());
    }
    if !named {
        words.push(host.into());
    }
    let (script, file) = match place {
        RemotePath::AsHere(file) => (FIND, file),
        RemotePath::Exactly(file) => (EXACTLY, file),
    };
    let tail = ["sh".to_string(), "-c".into(), script.into(), file.display().to_string()];
    words.extend(tail.map(|word| (0..shells).fold(word, |word, _| quoted(OsStr::new(&word)))));
    Ok(words)
}

/// The words of the command that starts another tool on a host, with one argument. It gets these folders of libraries, as PEs there do.
pub(crate) fn tool(
    shell: &str,
    host: &str,
    file: &Path,
    argument: &str,
    libraries: Option<&str>,
) -> Result<Vec<String>, String> {
    let shells = shells(&words(shell)?);
    let mut words = command(shell, host, 0, RemotePath::Exactly(file))?;
    let script = words.iter_mut().find(|word| word.contains(EXACTLY)).ok_or("the command has no script")?;
    *script = script.replace("--agent", argument);
    if let Some(folders) = libraries {
        let variable = format!("{LIBRARY_PATH}={folders}");
        let variable = (0..shells).fold(variable, |word, _| quoted(OsStr::new(&word)));
        // Before the shell, which has three words behind it.
        let place = words.len() - 4;
        words.splice(place..place, ["env".to_string(), variable]);
    }
    Ok(words)
}

/// Remote shells that join their words with blanks for a shell of the other side. The last one is the MPI Operator's script.
pub(crate) const JOINING: [&str; 4] = ["ssh", "rsh", "remsh", "kubexec.sh"];

/// How many shells take apart what follows a command. They may stand behind another program, as in `sudo ssh`, and behind each
/// other, as in `ssh gateway ssh`.
fn shells(command: &[String]) -> usize {
    let joins = |name: &str| JOINING.contains(&name);
    let first = command.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    // A path behind the first word is rather that of a key or a socket.
    usize::from(joins(first)) + command.iter().skip(1).filter(|word| joins(word)).count()
}

/// The words of a command as the shell would see them: quotes and backslashes, nothing else.
pub(crate) fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(character);
            }
            (Some(open), _) if open == character => quote = None,
            (None | Some('"'), '\\') => {
                let next = characters.next().ok_or("nothing follows the last backslash")?;
                word.get_or_insert_default().push(next);
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match (quote, words.is_empty()) {
        (Some(quote), _) => Err(format!("a {quote} is not closed")),
        (None, true) => Err("no command is named".into()),
        (None, false) => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_host_was_reached_is_what_sshd_says_or_the_address_that_names_it() {
        let address = |text: &str| text.parse::<IpAddr>().ok();
        assert_eq!(reached(Some("10.0.0.1 40000 10.0.0.9 22"), "n9"), address("10.0.0.9"));
        assert_eq!(reached(Some("fd00::1 40000 fd00::9 22"), "10.0.0.9"), address("fd00::9"));
        assert_eq!(reached(None, "10.0.0.9"), address("10.0.0.9"));
        assert_eq!(reached(Some("garbage"), "n9"), None);
    }

    #[test]
    fn words_as_the_shell_sees_them() {
        for (text, expected) in [
            ("ssh {host}", vec!["ssh", "{host}"]),
            ("  sh -c 'exec \"$@\"' x ", vec!["sh", "-c", "exec \"$@\"", "x"]),
            ("a\\ b \"c d\"e ''", vec!["a b", "c de", ""]),
        ] {
            assert_eq!(words(text).unwrap(), expected);
        }
        for bad in ["", "  ", "'a", "a\\"] {
            assert!(words(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_command_for_a_host() {
        let here = RemotePath::AsHere(Path::new("/opt/my tools/oshrun"));
        let spaces = command("ip netns exec {host}", "n1", 0, here).unwrap();
        assert_eq!(spaces[..4], ["ip", "netns", "exec", "n1"]);
        assert_eq!(spaces[4..], ["sh", "-c", FIND, "/opt/my tools/oshrun"]);
        let ssh = command("ssh", "n2", 1, RemotePath::Exactly(Path::new("/opt/oshrun"))).unwrap();
        assert_eq!(ssh, ["ssh", "n2", "sh", "-c", "'exec \"$0\" --agent'", "/opt/oshrun"]);
        let twice = r#"''\''exec "$0" --agent'\'''"#;
        for (shell, script) in [("sudo ssh {host}", "'exec \"$0\" --agent'"), ("ssh gateway ssh {host}", twice)] {
            let words = command(shell, "n2", 1, RemotePath::Exactly(Path::new("/opt/oshrun"))).unwrap();
            assert_eq!(words[words.len() - 4..], ["sh", "-c", script, "/opt/oshrun"], "{shell}");
        }
        let socket = command("ip netns exec {host} -S /tmp/ssh", "n2", 1, here).unwrap();
        assert_eq!(socket[7..], ["-c", FIND, "/opt/my tools/oshrun"]);
        let inspect = |libraries| tool("ssh", "n2", Path::new("/opt/oxshmem"), "inspect", libraries).unwrap();
        assert_eq!(inspect(None), ["ssh", "n2", "sh", "-c", "'exec \"$0\" inspect'", "/opt/oxshmem"]);
        let led = inspect(Some("/opt/my libs"));
        assert_eq!(led[..5], ["ssh", "n2", "env", "'LD_LIBRARY_PATH=/opt/my libs'", "sh"]);
        assert_eq!(led[5..], ["-c", "'exec \"$0\" inspect'", "/opt/oxshmem"]);
        assert_eq!(command("flux exec -r {index}", "n7", 7, here).unwrap()[..4], ["flux", "exec", "-r", "7"]);
    }
}
