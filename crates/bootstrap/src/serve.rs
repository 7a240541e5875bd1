//! The server's side of a conversation: whichever version the client speaks, the server sees PMI-1.
//!
//! A client opens in lines and may ask for version 2 there. From then on its frames become the requests of PMI-1 that
//! mean the same, and the server's replies become frames. What only PMI-2 has is refused here.

use std::collections::VecDeque;

use crate::pmi1::{PROCESS_MAPPING, Reply, Request};
use crate::pmi2::{Pmi2Answer, Pmi2Query, Pmi2Reply, Pmi2Request};
use crate::stream::{Incoming, Malformed};

/// The conversation with one client so far.
#[derive(Debug, Default)]
pub struct Conversation {
    incoming: Incoming,
    version: Version,
    /// Requests that the client waits for, oldest first; threads of a PMI-2 client may wait for several.
    awaited: VecDeque<Pmi2Request>,
    /// Which program of an MPMD job the client is.
    app: u32,
    /// A command of several lines whose last one has not come.
    block: Option<CommandBlock>,
}

/// The lines of a command that has several. A client that spawns several programs sends such a command for each, and waits for the
/// answer to the last one.
#[derive(Debug)]
struct CommandBlock {
    command: Request,
    /// How many programs are to be spawned.
    total: u32,
    /// The number of this one, from 1 on.
    so_far: u32,
}

impl CommandBlock {
    fn read(&mut self, line: &[u8]) {
        let number = |name: &str| std::str::from_utf8(line).ok()?.trim().strip_prefix(name)?.parse().ok();
        self.total = number("totspawns=").unwrap_or(self.total);
        self.so_far = number("spawnssofar=").unwrap_or(self.so_far);
    }

    fn is_last(&self) -> bool {
        self.so_far >= self.total
    }
}

/// The beginning of a line. A frame begins with its length.
const COMMAND: &[u8] = b"cmd=";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    #[default]
    One,
    /// Version 2 was asked for; the reply is still a line.
    Opening,
    Two,
}

impl Conversation {
    /// With a client that runs this program of an MPMD job. PMI-2 tells it with the place, where PMI-1 has a question of its own.
    pub fn of_app(app: u32) -> Conversation {
        Conversation { app, ..Conversation::default() }
    }

    /// Takes bytes as they arrive.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.incoming.feed(bytes);
    }

    /// The next complete request. After an error the conversation has no meaning any more.
    pub fn next_request(&mut self) -> Option<Result<Request, Malformed>> {
        match self.version {
            Version::One => self.next_line_request(),
            // The client waits for the reply, and so must we: it decides how to read on.
            Version::Opening => None,
            // A script may run another program behind one that was killed, and that one opens a conversation of its own.
            Version::Two if self.incoming.begins_with(COMMAND) => {
                self.begin_anew();
                self.next_line_request()
            }
            Version::Two => {
                let request = self.incoming.next_frame()?.and_then(Pmi2Request::decode);
                Some(request.map(|request| self.translated(request)))
            }
        }
    }

    /// The next complete request of version 1: a line, or a block of lines.
    fn next_line_request(&mut self) -> Option<Result<Request, Malformed>> {
        loop {
            let line = match self.incoming.next_line()? {
                Ok(line) => line,
                Err(why) => return Some(Err(why)),
            };
            if let Some(mut block) = self.block.take() {
                if line.trim_ascii() != b"endcmd" {
                    block.read(&line);
                    self.block = Some(block);
                } else if block.is_last() {
                    return Some(Ok(block.command));
                }
                continue;
            }
            match Request::decode(&line) {
                Ok(command @ Request::Other(_)) if line.starts_with(b"mcmd=") => {
                    self.block = Some(CommandBlock { command, total: 0, so_far: 0 });
                }
                Ok(Request::Init { version: 2, .. }) => {
                    self.version = Version::Opening;
                    return Some(Ok(Request::Init { version: 1, subversion: 1 }));
                }
                request => return Some(request),
            }
        }
    }

    fn translated(&mut self, request: Pmi2Request) -> Request {
        let space = String::new();
        let translated = match request.ask.clone() {
            Pmi2Query::FullInit { .. } => Request::UniverseSize,
            Pmi2Query::JobName => Request::SpaceName,
            Pmi2Query::JobAttribute { key } if key == PROCESS_MAPPING => Request::Get { space, key },
            // An attribute that does not exist; a client's own values have no such keys.
            Pmi2Query::JobAttribute { key } => Request::Get { space, key: format!("attribute {key}") },
            Pmi2Query::Put { key, value } => Request::Put { space, key, value },
            Pmi2Query::Get { key, .. } => Request::Get { space, key },
            Pmi2Query::Fence => Request::BarrierIn,
            Pmi2Query::Finalize => Request::Finalize,
            // No client waits for the answer to this one.
            Pmi2Query::Abort { .. } => return Request::Abort { status: 1 },
            Pmi2Query::Other(command) => Request::Other(command),
        };
        self.awaited.push_back(request);
        translated
    }

    /// The bytes that tell the client this.
    pub fn encode(&mut self, reply: &Reply) -> Vec<u8> {
        match self.version {
            Version::One => reply.encode().into_bytes(),
            Version::Opening => match reply {
                Reply::Init { accepted, .. } => {
                    self.version = if *accepted { Version::Two } else { Version::One };
                    Reply::Init { version: 2, subversion: 0, accepted: *accepted }.encode().into_bytes()
                }
                other => other.encode().into_bytes(),
            },
            Version::Two => {
                let bytes = self.framed(reply);
                // A script may run several programs one after the other, and each opens a conversation of its own.
                if *reply == Reply::Finalized && !bytes.is_empty() {
                    self.begin_anew();
                }
                bytes
            }
        }
    }

    /// The next client speaks in lines until it asks for version 2, and waits for nothing.
    fn begin_anew(&mut self) {
        self.version = Version::One;
        self.awaited.clear();
    }

    fn framed(&mut self, reply: &Reply) -> Vec<u8> {
        let mut asked = self.awaited.iter().enumerate();
        let answered = asked.find_map(|(place, request)| Some((place, answer(&request.ask, reply, self.app)?)));
        // A value that no client has requested is not sent.
        let Some((place, answer)) = answered else { return Vec::new() };
        let thread = self.awaited.remove(place).and_then(|request| request.thread);
        Pmi2Reply { answer, thread }.encode()
    }
}

/// The answer to this question of a client of the program `app`, if the reply belongs to it.
fn answer(ask: &Pmi2Query, reply: &Reply, app: u32) -> Option<Pmi2Answer> {
    Some(match (ask, reply) {
        (Pmi2Query::FullInit { rank, .. }, Reply::UniverseSize(size)) => {
            Pmi2Answer::Place { rank: *rank, size: u32::try_from(*size).unwrap_or(0), app: app as i32 }
        }
        (Pmi2Query::JobName, Reply::SpaceName(name)) => Pmi2Answer::JobName(name.clone()),
        (Pmi2Query::Put { .. }, Reply::Put(done)) => Pmi2Answer::Put(done.clone()),
        (Pmi2Query::JobAttribute { .. }, Reply::Get(found)) => Pmi2Answer::JobAttribute(found.clone().ok()),
        (Pmi2Query::Get { .. }, Reply::Get(found)) => Pmi2Answer::Got(found.clone().ok()),
        (Pmi2Query::Fence, Reply::BarrierOut) => Pmi2Answer::Fenced(Ok(())),
        (Pmi2Query::Finalize, Reply::Finalized) => Pmi2Answer::Finalized,
        (Pmi2Query::Other(_), Reply::Unsupported(command)) => {
            Pmi2Answer::Refused { command: command.clone(), why: "this launcher does not do that".into() }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A conversation that has agreed on version 2.
    fn opened() -> Conversation {
        let mut conversation = Conversation::of_app(3);
        conversation.feed(b"cmd=init pmi_version=2 pmi_subversion=0\n");
        assert_eq!(conversation.next_request(), Some(Ok(Request::Init { version: 1, subversion: 1 })));
        let reply = conversation.encode(&Reply::Init { version: 1, subversion: 1, accepted: true });
        assert_eq!(reply, b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
        conversation
    }

    fn told(conversation: &mut Conversation, ask: Pmi2Query, request: Request, reply: &Reply) -> String {
        conversation.feed(&ask.encode());
        assert_eq!(conversation.next_request(), Some(Ok(request)));
        String::from_utf8(conversation.encode(reply)[6..].to_vec()).unwrap()
    }

    #[test]
    fn version_1_passes_untouched() {
        let mut conversation = Conversation::default();
        conversation.feed(b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\n");
        assert_eq!(conversation.next_request(), Some(Ok(Request::Init { version: 1, subversion: 1 })));
        assert_eq!(conversation.next_request(), Some(Ok(Request::Maxes)));
        assert_eq!(conversation.encode(&Reply::BarrierOut), b"cmd=barrier_out\n");
    }

    #[test]
    fn a_command_of_several_lines_is_one_request() {
        let mut client = Conversation::default();
        client.feed(b"mcmd=spawn\nnprocs=1\nexecname=./a\ntotspawns=2\nspawnssofar=1\narg1=cmd=abort\nendcmd\n");
        client.feed(b"mcmd=spawn\nnprocs=1\nexecname=./b\ntotspawns=2\nspawnssofar=2\n");
        assert_eq!(client.next_request(), None);
        client.feed(b"endcmd\ncmd=get_maxes\n");
        assert_eq!(client.next_request(), Some(Ok(Request::Other("spawn".into()))));
        assert_eq!(client.next_request(), Some(Ok(Request::Maxes)));
    }

    #[test]
    fn version_2_is_the_same_job() {
        let mut client = opened();
        let (space, key) = (String::new, || "k".to_string());
        let place = told(
            &mut client,
            Pmi2Query::FullInit { job: space(), rank: 1 },
            Request::UniverseSize,
            &Reply::UniverseSize(4),
        );
        assert!(place.contains("rank=1;size=4;appnum=3;") && place.contains("rc=0;"), "{place}");
        for (ask, request, reply, line) in [
            (
                Pmi2Query::Put { key: key(), value: "v".into() },
                Request::Put { space: space(), key: key(), value: "v".into() },
                Reply::Put(Ok(())),
                "cmd=kvs-put-response;rc=0;",
            ),
            (
                Pmi2Query::Get { job: space(), source: -1, key: key() },
                Request::Get { space: space(), key: key() },
                Reply::Get(Ok("v".into())),
                "cmd=kvs-get-response;found=TRUE;value=v;rc=0;",
            ),
            (Pmi2Query::Fence, Request::BarrierIn, Reply::BarrierOut, "cmd=kvs-fence-response;rc=0;"),
        ] {
            assert_eq!(told(&mut client, ask, request, &reply), line);
        }
        let spawn = || "spawn".to_string();
        let (ask, request) = (Pmi2Query::Other(spawn()), Request::Other(spawn()));
        let refused = told(&mut client, ask, request, &Reply::Unsupported(spawn()));
        assert!(refused.starts_with("cmd=spawn-response;errmsg=") && refused.ends_with("rc=-1;"), "{refused}");
        client.feed(&Pmi2Query::Abort { message: "why".into() }.encode());
        assert_eq!(client.next_request(), Some(Ok(Request::Abort { status: 1 })));
    }

    #[test]
    fn the_next_program_of_a_script_opens_a_conversation_of_its_own() {
        for version in [1, 2] {
            let mut client = opened();
            let closed = told(&mut client, Pmi2Query::Finalize, Request::Finalize, &Reply::Finalized);
            assert_eq!(closed, "cmd=finalize-response;rc=0;");
            client.feed(format!("cmd=init pmi_version={version} pmi_subversion=0\n").as_bytes());
            assert!(matches!(client.next_request(), Some(Ok(Request::Init { version: 1, .. }))), "{version}");
            let reply = client.encode(&Reply::Init { version: 1, subversion: 1, accepted: true });
            assert!(reply.starts_with(format!("cmd=response_to_init pmi_version={version} ").as_bytes()), "{version}");
        }
    }

    #[test]
    fn a_program_behind_one_that_was_killed_opens_a_conversation_of_its_own() {
        for version in [1, 2] {
            let mut client = opened();
            client.feed(&Pmi2Query::Fence.encode());
            assert_eq!(client.next_request(), Some(Ok(Request::BarrierIn)));
            for piece in ["cm", "d=in", "it pmi_version="] {
                client.feed(piece.as_bytes());
                assert_eq!(client.next_request(), None, "{piece}");
            }
            client.feed(format!("{version} pmi_subversion=0\n").as_bytes());
            assert!(matches!(client.next_request(), Some(Ok(Request::Init { version: 1, .. }))), "{version}");
            let reply = client.encode(&Reply::Init { version: 1, subversion: 1, accepted: true });
            assert!(reply.starts_with(format!("cmd=response_to_init pmi_version={version} ").as_bytes()), "{version}");
            if version == 2 {
                assert!(client.encode(&Reply::BarrierOut).is_empty(), "who has asked for it is gone");
            }
        }
    }

    #[test]
    fn threads_get_their_own_answers_in_any_order() {
        let mut client = opened();
        let asked = |ask, thread: &str| Pmi2Request { ask, thread: Some(thread.into()) }.encode();
        client.feed(&asked(Pmi2Query::Fence, "a"));
        client.feed(&asked(Pmi2Query::Get { job: String::new(), source: 0, key: "k".into() }, "b"));
        assert!(client.next_request().is_some() && client.next_request().is_some());
        let first = Pmi2Reply::decode(&client.encode(&Reply::Get(Err("no".into())))[6..]).unwrap();
        assert_eq!(first, Pmi2Reply { answer: Pmi2Answer::Got(None), thread: Some("b".into()) });
        let second = Pmi2Reply::decode(&client.encode(&Reply::BarrierOut)[6..]).unwrap();
        assert_eq!(second.thread.as_deref(), Some("a"));
        assert!(client.encode(&Reply::BarrierOut).is_empty(), "nobody waits any more");
    }

    proptest! {
        #[test]
        fn no_client_confuses_the_server(
            version in 0u32..4,
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            answers in proptest::collection::vec(any::<bool>(), 0..20),
        ) {
            let mut conversation = Conversation::default();
            conversation.feed(format!("cmd=init pmi_version={version} pmi_subversion=0\n").as_bytes());
            conversation.feed(&bytes);
            for accepted in answers {
                if let Some(Err(_)) = conversation.next_request() {
                    break;
                }
                conversation.encode(&Reply::Init { version: 1, subversion: 1, accepted });
            }
        }
    }
}
