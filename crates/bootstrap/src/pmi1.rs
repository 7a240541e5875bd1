//! The PMI-1 wire: lines of text `cmd=name key=value …`, one request and one reply at a time.
//!
//! Nothing here reads or writes a socket: the library (client) and `oshrun` (server) feed bytes in and take messages
//! out, so both sides of the protocol are tested against each other and against garbage without a process.

pub(crate) mod client;
mod line;

pub use crate::stream::{LONGEST_LINE, Malformed};

use crate::fields::{NamedFields, number_in};
use line::PmiLine;

/// The lengths that a server grants, and that we keep to as a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireLimits {
    /// Longest name of a key-value space.
    pub space: usize,
    /// Longest key.
    pub key: usize,
    /// Longest value.
    pub value: usize,
}

/// The length that every PMI-1 server in use grants.
pub const LIMITS: WireLimits = WireLimits { space: 256, key: 64, value: 1024 };

/// The key under which a server publishes which PE is on which node.
pub const PROCESS_MAPPING: &str = "PMI_process_mapping";

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Says which process calls at a server's port, before anything else; on an inherited descriptor the server knows.
    Here {
        /// The number that the launcher gave this process (`PMI_ID`).
        id: u32,
    },
    /// Opens the conversation with the version the client speaks.
    Init {
        /// Major version, 1.
        version: u32,
        /// Minor version.
        subversion: u32,
    },
    /// Asks for the [`WireLimits`].
    Maxes,
    /// Asks which program of an MPMD job this is.
    AppNumber,
    /// Asks for the name of the key-value space.
    SpaceName,
    /// Asks how many processes could be started in all.
    UniverseSize,
    /// Publishes a value; visible to others after the next barrier.
    Put {
        /// Name of the key-value space.
        space: String,
        /// At most [`WireLimits::key`] bytes.
        key: String,
        /// At most [`WireLimits::value`] bytes.
        value: String,
    },
    /// Asks for a published value.
    Get {
        /// Name of the key-value space.
        space: String,
        /// The key.
        key: String,
    },
    /// Waits until every process has sent this.
    BarrierIn,
    /// Closes the conversation properly.
    Finalize,
    /// Ends the whole job.
    Abort {
        /// Exit status of the job.
        status: i32,
    },
    /// A command that PMI-1 has and we do not serve (spawn, name publishing …).
    Other(String),
}

/// A response of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To [`Request::Here`]: whether the server expects this process. Some [`Reply::Set`] follow.
    Welcome(bool),
    /// A value that a server at a port sends without a request: `size`, `rank`, `debug`.
    Set {
        /// Its name.
        name: String,
        /// Its value.
        value: i32,
    },
    /// To [`Request::Init`]; `accepted` says whether the server speaks that version.
    Init {
        /// Major version of the server.
        version: u32,
        /// Minor version of the server.
        subversion: u32,
        /// Whether the conversation may go on.
        accepted: bool,
    },
    /// To [`Request::Maxes`].
    Maxes(WireLimits),
    /// To [`Request::AppNumber`].
    AppNumber(i32),
    /// To [`Request::SpaceName`].
    SpaceName(String),
    /// To [`Request::UniverseSize`]; -1 is unknown.
    UniverseSize(i32),
    /// To [`Request::Put`].
    Put(Result<(), String>),
    /// To [`Request::Get`].
    Get(Result<String, String>),
    /// To [`Request::BarrierIn`], once every process is in.
    BarrierOut,
    /// To [`Request::Finalize`].
    Finalized,
    /// To [`Request::Other`].
    Unsupported(String),
}

impl Request {
    /// The line to send, with its newline.
    pub fn encode(&self) -> String {
        match self {
            Request::Here { id } => format!("cmd=initack pmiid={id}\n"),
            Request::Init { version, subversion } => {
                format!("cmd=init pmi_version={version} pmi_subversion={subversion}\n")
            }
            Request::Maxes => "cmd=get_maxes\n".into(),
            Request::AppNumber => "cmd=get_appnum\n".into(),
            Request::SpaceName => "cmd=get_my_kvsname\n".into(),
            Request::UniverseSize => "cmd=get_universe_size\n".into(),
            Request::Put { space, key, value } => {
                format!("cmd=put kvsname={space} key={key} value={value}\n")
            }
            Request::Get { space, key } => format!("cmd=get kvsname={space} key={key}\n"),
            Request::BarrierIn => "cmd=barrier_in\n".into(),
            Request::Finalize => "cmd=finalize\n".into(),
            Request::Abort { status } => format!("cmd=abort exitcode={status}\n"),
            Request::Other(command) => format!("cmd={command}\n"),
        }
    }

    /// Reads one line, without its newline.
    pub fn decode(line: impl AsRef<[u8]>) -> Result<Request, Malformed> {
        let line = PmiLine::parse(line.as_ref())?;
        Ok(match line.command {
            "initack" => Request::Here { id: line.number("pmiid")? },
            "init" => {
                Request::Init { version: line.number("pmi_version")?, subversion: line.number("pmi_subversion")? }
            }
            "get_maxes" => Request::Maxes,
            "get_appnum" => Request::AppNumber,
            "get_my_kvsname" => Request::SpaceName,
            "get_universe_size" => Request::UniverseSize,
            "put" => Request::Put {
                space: line.text("kvsname", LIMITS.space)?,
                key: line.text("key", LIMITS.key)?,
                value: line.text("value", LIMITS.value)?,
            },
            "get" => Request::Get { space: line.text("kvsname", LIMITS.space)?, key: line.text("key", LIMITS.key)? },
            "barrier_in" => Request::BarrierIn,
            "finalize" => Request::Finalize,
            // Older clients abort without a status; they mean failure.
            "abort" => Request::Abort { status: line.optional_number("exitcode")?.unwrap_or(1) },
            other => Request::Other(other.into()),
        })
    }
}

impl Reply {
    /// The line to send, with its newline.
    pub fn encode(&self) -> String {
        match self {
            Reply::Welcome(expected) => format!("cmd=initack rc={}\n", if *expected { 0 } else { -1 }),
            Reply::Set { name, value } => format!("cmd=set {name}={value}\n"),
            Reply::Init { version, subversion, accepted } => {
                let rc = if *accepted { 0 } else { -1 };
                format!("cmd=response_to_init pmi_version={version} pmi_subversion={subversion} rc={rc}\n")
            }
            Reply::Maxes(WireLimits { space, key, value }) => {
                format!("cmd=maxes kvsname_max={space} keylen_max={key} vallen_max={value}\n")
            }
            Reply::AppNumber(number) => format!("cmd=appnum appnum={number}\n"),
            Reply::SpaceName(name) => format!("cmd=my_kvsname kvsname={name}\n"),
            Reply::UniverseSize(size) => format!("cmd=universe_size size={size}\n"),
            Reply::Put(Ok(())) => "cmd=put_result rc=0 msg=success\n".into(),
            Reply::Put(Err(why)) => format!("cmd=put_result rc=-1 msg={why}\n"),
            Reply::Get(Ok(value)) => format!("cmd=get_result rc=0 msg=success value={value}\n"),
            Reply::Get(Err(why)) => format!("cmd=get_result rc=-1 msg={why} value=unknown\n"),
            Reply::BarrierOut => "cmd=barrier_out\n".into(),
            Reply::Finalized => "cmd=finalize_ack\n".into(),
            Reply::Unsupported(command) => {
                format!("cmd={command}_result rc=-1 msg=not_supported\n")
            }
        }
    }

    /// Reads one line, without its newline.
    pub fn decode(line: impl AsRef<[u8]>) -> Result<Reply, Malformed> {
        let line = PmiLine::parse(line.as_ref())?;
        Ok(match line.command {
            "initack" => Reply::Welcome(line.outcome().is_ok()),
            "set" => {
                let (name, value) = line.fields.split_once('=').ok_or_else(|| line.lacks("a name"))?;
                Reply::Set { name: name.trim().into(), value: number_in(name, value.trim())? }
            }
            // A refusal need not name a version, and an agreement need not repeat it.
            "response_to_init" => Reply::Init {
                version: line.optional_number("pmi_version")?.unwrap_or(0),
                subversion: line.optional_number("pmi_subversion")?.unwrap_or(0),
                accepted: line.optional_number::<i32>("rc")?.unwrap_or(0) == 0,
            },
            "maxes" => Reply::Maxes(WireLimits {
                space: line.number("kvsname_max")?,
                key: line.number("keylen_max")?,
                value: line.number("vallen_max")?,
            }),
            "appnum" => Reply::AppNumber(line.number("appnum")?),
            "my_kvsname" => Reply::SpaceName(line.text("kvsname", LIMITS.space)?),
            "universe_size" => Reply::UniverseSize(line.number("size")?),
            "put_result" => Reply::Put(line.outcome().map(|_| ())),
            // A server's own values (the process mapping) may be longer than what it grants to clients.
            "get_result" => Reply::Get(match line.outcome() {
                Ok(()) => Ok(line.text("value", LONGEST_LINE)?),
                Err(why) => Err(why),
            }),
            "barrier_out" => match line.outcome() {
                Ok(()) => Reply::BarrierOut,
                Err(why) => Reply::Unsupported(format!("barrier_in ({why})")),
            },
            "finalize_ack" => Reply::Finalized,
            other => match other.strip_suffix("_result") {
                Some(command) => Reply::Unsupported(command.into()),
                None => {
                    return Err(Malformed(format!("`cmd={other}` is not an answer of PMI-1")));
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Incoming;
    use proptest::prelude::*;

    fn word(longest: usize) -> impl Strategy<Value = String> {
        proptest::collection::vec(prop::sample::select(b"abcXYZ019_.-".to_vec()), 1..=longest)
            .prop_map(|bytes| String::from_utf8(bytes).expect("ASCII"))
    }

    fn value() -> impl Strategy<Value = String> {
        // Inner blanks and equals signs are allowed in a value; blanks at its ends are not kept.
        (word(8), "[ =a-z]{0,40}", word(900)).prop_map(|(a, b, c)| a + &b + &c)
    }

    fn request() -> impl Strategy<Value = Request> {
        prop_oneof![
            (any::<u32>(), any::<u32>()).prop_map(|(version, subversion)| Request::Init { version, subversion }),
            Just(Request::Maxes),
            Just(Request::AppNumber),
            Just(Request::SpaceName),
            Just(Request::UniverseSize),
            any::<u32>().prop_map(|id| Request::Here { id }),
            Just(Request::BarrierIn),
            Just(Request::Finalize),
            any::<i32>().prop_map(|status| Request::Abort { status }),
            (word(256), word(64)).prop_map(|(space, key)| Request::Get { space, key }),
            (word(256), word(64), value()).prop_map(|(space, key, value)| Request::Put { space, key, value }),
        ]
    }

    fn reply() -> impl Strategy<Value = Reply> {
        prop_oneof![
            (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(version, subversion, accepted)| Reply::Init {
                version,
                subversion,
                accepted
            }),
            any::<[u16; 3]>().prop_map(|[space, key, value]| {
                Reply::Maxes(WireLimits { space: space.into(), key: key.into(), value: value.into() })
            }),
            any::<i32>().prop_map(Reply::AppNumber),
            word(256).prop_map(Reply::SpaceName),
            any::<i32>().prop_map(Reply::UniverseSize),
            any::<bool>().prop_map(Reply::Welcome),
            (word(8), any::<i32>()).prop_map(|(name, value)| Reply::Set { name, value }),
            Just(Reply::Put(Ok(()))),
            word(40).prop_map(|why| Reply::Put(Err(why))),
            value().prop_map(|value| Reply::Get(Ok(value))),
            word(40).prop_map(|why| Reply::Get(Err(why))),
            Just(Reply::BarrierOut),
            Just(Reply::Finalized),
            Just(Reply::Unsupported("spawn".into())),
        ]
    }

    proptest! {
        #[test]
        fn requests_survive_the_wire_in_any_pieces(requests in proptest::collection::vec(request(), 1..6), cut in 1usize..50) {
            let wire: String = requests.iter().map(Request::encode).collect();
            let mut lines = Incoming::default();
            let mut seen = Vec::new();
            for piece in wire.as_bytes().chunks(cut) {
                lines.feed(piece);
                while let Some(line) = lines.next_line() {
                    seen.push(Request::decode(line.unwrap()).unwrap());
                }
            }
            prop_assert_eq!(seen, requests);
        }

        #[test]
        fn replies_survive_the_wire(reply in reply()) {
            let line = reply.encode();
            prop_assert!(line.len() <= LONGEST_LINE && line.ends_with('\n'));
            prop_assert_eq!(Reply::decode(line.trim_end_matches('\n')).unwrap(), reply);
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let _ = (Request::decode(&bytes), Reply::decode(&bytes));
        }

        #[test]
        fn damaged_lines_never_panic(request in request(), at in any::<prop::sample::Index>(), with in any::<char>()) {
            let mut line: Vec<char> = request.encode().chars().collect();
            let at = at.index(line.len());
            line[at] = with;
            let line: String = line.into_iter().collect();
            let _ = (Request::decode(&line), Reply::decode(&line));
        }
    }

    #[test]
    fn lines_that_other_servers_and_clients_send() {
        let decoded = |line| Reply::decode(line).unwrap();
        assert_eq!(
            decoded("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"),
            Reply::Init { version: 1, subversion: 1, accepted: true }
        );
        assert_eq!(
            decoded("cmd=get_result rc=0 msg=success value=(vector,(0,1,1))"),
            Reply::Get(Ok("(vector,(0,1,1))".into()))
        );
        assert_eq!(
            decoded("cmd=get_result rc=-1 msg=key_x_not_found value=unknown"),
            Reply::Get(Err("key_x_not_found".into()))
        );
        assert_eq!(Request::decode("cmd=abort").unwrap(), Request::Abort { status: 1 });
        assert_eq!(Request::decode("mcmd=spawn").unwrap(), Request::Other("spawn".into()));
        assert_eq!(
            Request::decode("cmd=put kvsname=k key=a value=b=c  d e").unwrap(),
            Request::Put { space: "k".into(), key: "a".into(), value: "b=c  d e".into() }
        );
    }

    /// As its RFC 13 has them: `rc` everywhere, or nowhere; no `msg`.
    #[test]
    fn lines_that_flux_sends() {
        let decoded = |line| Reply::decode(line).unwrap();
        let welcome = Reply::Init { version: 1, subversion: 1, accepted: true };
        assert_eq!(decoded("cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"), welcome);
        assert_eq!(decoded("cmd=response_to_init pmi_version=1 pmi_subversion=1"), welcome);
        assert_eq!(decoded("cmd=response_to_init rc=-1"), Reply::Init { version: 0, subversion: 0, accepted: false });
        assert_eq!(
            decoded("cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024"),
            Reply::Maxes(WireLimits { space: 64, key: 64, value: 1024 })
        );
        assert_eq!(decoded("cmd=my_kvsname rc=0 kvsname=f2VnHk"), Reply::SpaceName("f2VnHk".into()));
        assert_eq!(decoded("cmd=barrier_out rc=0"), Reply::BarrierOut);
        assert_ne!(decoded("cmd=barrier_out rc=-1"), Reply::BarrierOut);
        assert_eq!(decoded("cmd=get_result rc=6"), Reply::Get(Err("6".into())));
        // A server that does not know the mapping returns an empty one.
        assert_eq!(decoded("cmd=get_result rc=0 value="), Reply::Get(Ok(String::new())));
        assert_eq!(decoded("cmd=put_result rc=0"), Reply::Put(Ok(())));
        assert_eq!(decoded("cmd=finalize_ack rc=0"), Reply::Finalized);
    }

    #[test]
    fn bad_lines_are_named() {
        for (line, word) in [
            ("", "cmd="),
            ("cmd=", "no name"),
            ("hello", "cmd="),
            ("cmd=put kvsname=k key=a", "lacks value="),
            ("cmd=init pmi_version=one pmi_subversion=1", "not a number"),
        ] {
            let error = Request::decode(line).expect_err(line).to_string();
            assert!(error.contains(word), "{line}: {error}");
        }
        let long_key = format!("cmd=get kvsname=k key={}", "k".repeat(65));
        assert!(Request::decode(&long_key).is_err());
    }
}
