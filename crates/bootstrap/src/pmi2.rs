//! The PMI-2 wire: after the line that opens it, frames of `cmd=name;key=value;…`, each with its length before it.
//!
//! As with [`pmi1`](crate::pmi1), nothing here reads or writes a socket.

pub(crate) mod client;
mod frame;

use crate::fields::NamedFields;
use crate::pmi1::LIMITS;
use crate::stream::Malformed;
use frame::{FrameFields, FrameWriter};

/// A request of a client. A client with several threads marks its requests (`thrid`), and the answers carry the mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmi2Request {
    /// The question itself.
    pub ask: Pmi2Query,
    /// Which thread asks.
    pub thread: Option<String>,
}

/// The kinds of questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pmi2Query {
    /// Says who this is and asks for its place.
    FullInit {
        /// The job's name, where the launcher told it.
        job: String,
        /// This process's number.
        rank: u32,
    },
    /// Asks for the job's name.
    JobName,
    /// Asks for something that the launcher knows about the job.
    JobAttribute {
        /// Its name.
        key: String,
    },
    /// Publishes a value; visible to others after the next fence.
    Put {
        /// At most 64 bytes.
        key: String,
        /// At most 1024 bytes.
        value: String,
    },
    /// Asks for a published value.
    Get {
        /// The job that has it; the client's own where empty.
        job: String,
        /// The process that published it, or -1: a hint.
        source: i32,
        /// The key.
        key: String,
    },
    /// Waits until every process has sent this.
    Fence,
    /// Ends the whole job. The protocol carries no exit status.
    Abort {
        /// Why.
        message: String,
    },
    /// Closes the conversation properly.
    Finalize,
    /// A command that PMI-2 has and we do not serve (spawn, name publishing, attributes of nodes …).
    Other(String),
}

/// A response of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmi2Reply {
    /// The answer.
    pub answer: Pmi2Answer,
    /// The mark of the thread that asked.
    pub thread: Option<String>,
}

/// The kinds of responses. A failure carries its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pmi2Answer {
    /// To [`Pmi2Query::FullInit`].
    Place {
        /// This process's number.
        rank: u32,
        /// How many processes the job has.
        size: u32,
        /// Which program of an MPMD job this is.
        app: i32,
    },
    /// To [`Pmi2Query::JobName`].
    JobName(String),
    /// To [`Pmi2Query::JobAttribute`]: a value if there is one.
    JobAttribute(Option<String>),
    /// To [`Pmi2Query::Put`].
    Put(Result<(), String>),
    /// To [`Pmi2Query::Get`]: a value if there is one.
    Got(Option<String>),
    /// To [`Pmi2Query::Fence`], once every process is in.
    Fenced(Result<(), String>),
    /// To [`Pmi2Query::Finalize`].
    Finalized,
    /// To any command: it cannot be done.
    Refused {
        /// The command.
        command: String,
        /// Why.
        why: String,
    },
}

impl Pmi2Query {
    /// For a client with one thread.
    pub fn encode(self) -> Vec<u8> {
        Pmi2Request { ask: self, thread: None }.encode()
    }
}

impl Pmi2Request {
    /// The frame to send.
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = FrameWriter::default();
        match &self.ask {
            Pmi2Query::FullInit { job, rank } => {
                fields.command("fullinit").put("pmijobid", job).put("pmirank", rank).put("threaded", "FALSE")
            }
            Pmi2Query::JobName => fields.command("job-getid"),
            Pmi2Query::JobAttribute { key } => fields.command("info-getjobattr").put("key", key),
            Pmi2Query::Put { key, value } => fields.command("kvs-put").put("key", key).put("value", value),
            Pmi2Query::Get { job, source, key } => {
                fields.command("kvs-get").put("jobid", job).put("srcid", source).put("key", key)
            }
            Pmi2Query::Fence => fields.command("kvs-fence"),
            Pmi2Query::Abort { message } => fields.command("abort").put("isworld", "TRUE").put("msg", message),
            Pmi2Query::Finalize => fields.command("finalize"),
            Pmi2Query::Other(command) => fields.command(command),
        };
        fields.finish(self.thread.as_deref())
    }

    /// Reads one frame, without its length.
    pub fn decode(frame: impl AsRef<[u8]>) -> Result<Pmi2Request, Malformed> {
        let fields = FrameFields::parse(frame.as_ref())?;
        let ask = match fields.command()? {
            "fullinit" => Pmi2Query::FullInit {
                job: fields.optional("pmijobid").unwrap_or_default(),
                rank: fields.number("pmirank")?,
            },
            "job-getid" => Pmi2Query::JobName,
            "info-getjobattr" => Pmi2Query::JobAttribute { key: fields.text("key", LIMITS.key)? },
            "kvs-put" => {
                Pmi2Query::Put { key: fields.text("key", LIMITS.key)?, value: fields.text("value", LIMITS.value)? }
            }
            "kvs-get" => Pmi2Query::Get {
                job: fields.optional("jobid").unwrap_or_default(),
                source: fields.optional_number("srcid")?.unwrap_or(-1),
                key: fields.text("key", LIMITS.key)?,
            },
            "kvs-fence" => Pmi2Query::Fence,
            "abort" => Pmi2Query::Abort { message: fields.optional("msg").unwrap_or_default() },
            "finalize" => Pmi2Query::Finalize,
            other => Pmi2Query::Other(other.into()),
        };
        Ok(Pmi2Request { ask, thread: fields.optional("thrid") })
    }
}

impl Pmi2Reply {
    /// The frame to send.
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = FrameWriter::default();
        let found = |fields: &mut FrameWriter, command: &str, value: &Option<String>| {
            fields.command(command);
            match value {
                Some(value) => fields.put("found", "TRUE").put("value", value),
                None => fields.put("found", "FALSE"),
            };
        };
        let mut outcome = Ok(&());
        match &self.answer {
            Pmi2Answer::Place { rank, size, app } => {
                fields.command("fullinit-response").put("pmi-version", 2).put("pmi-subversion", 0);
                fields.put("rank", rank).put("size", size).put("appnum", app);
                fields.put("debugged", "FALSE").put("pmiverbose", "FALSE");
            }
            Pmi2Answer::JobName(name) => drop(fields.command("job-getid-response").put("jobid", name)),
            Pmi2Answer::JobAttribute(value) => found(&mut fields, "info-getjobattr-response", value),
            Pmi2Answer::Put(done) => {
                fields.command("kvs-put-response");
                outcome = done.as_ref();
            }
            Pmi2Answer::Got(value) => found(&mut fields, "kvs-get-response", value),
            Pmi2Answer::Fenced(done) => {
                fields.command("kvs-fence-response");
                outcome = done.as_ref();
            }
            Pmi2Answer::Finalized => drop(fields.command("finalize-response")),
            Pmi2Answer::Refused { command, why } => {
                fields.command(&format!("{command}-response"));
                outcome = Err(why);
            }
        }
        match outcome {
            Ok(_) => fields.put("rc", 0),
            Err(why) => fields.put("errmsg", why).put("rc", -1),
        };
        fields.finish(self.thread.as_deref())
    }

    /// Reads one frame, without its length.
    pub fn decode(frame: impl AsRef<[u8]>) -> Result<Pmi2Reply, Malformed> {
        let fields = FrameFields::parse(frame.as_ref())?;
        let command = fields.command()?;
        let done = match fields.optional_number::<i32>("rc")? {
            Some(0) | None => Ok(()),
            Some(code) => Err(fields.optional("errmsg").unwrap_or_else(|| format!("rc={code}"))),
        };
        let Some(asked) = command.strip_suffix("-response") else {
            return Err(Malformed(format!("`cmd={command}` is not an answer of PMI-2")));
        };
        let answer = match (asked, done) {
            ("kvs-put", done) => Pmi2Answer::Put(done),
            ("kvs-fence", done) => Pmi2Answer::Fenced(done),
            (_, Err(why)) => Pmi2Answer::Refused { command: asked.into(), why },
            ("fullinit", _) => Pmi2Answer::Place {
                rank: fields.number("rank")?,
                size: fields.number("size")?,
                app: fields.optional_number("appnum")?.unwrap_or(-1),
            },
            ("job-getid", _) => Pmi2Answer::JobName(fields.text("jobid", LIMITS.space)?),
            ("info-getjobattr", _) => Pmi2Answer::JobAttribute(fields.found()),
            ("kvs-get", _) => Pmi2Answer::Got(fields.found()),
            ("finalize", _) => Pmi2Answer::Finalized,
            (other, _) => Pmi2Answer::Refused { command: other.into(), why: "it was not asked".into() },
        };
        Ok(Pmi2Reply { answer, thread: fields.optional("thrid") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Incoming;
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = String> {
        "[a-zA-Z0-9_.-]{1,60}"
    }

    fn value() -> impl Strategy<Value = String> {
        "[a-z;= ()]{0,300}"
    }

    fn ask() -> impl Strategy<Value = Pmi2Query> {
        prop_oneof![
            (value(), any::<u32>()).prop_map(|(job, rank)| Pmi2Query::FullInit { job, rank }),
            Just(Pmi2Query::JobName),
            word().prop_map(|key| Pmi2Query::JobAttribute { key }),
            (word(), value()).prop_map(|(key, value)| Pmi2Query::Put { key, value }),
            (value(), any::<i32>(), word()).prop_map(|(job, source, key)| Pmi2Query::Get { job, source, key }),
            Just(Pmi2Query::Fence),
            value().prop_map(|message| Pmi2Query::Abort { message }),
            Just(Pmi2Query::Finalize),
            Just(Pmi2Query::Other("spawn".into())),
        ]
    }

    fn answer() -> impl Strategy<Value = Pmi2Answer> {
        prop_oneof![
            (any::<u32>(), any::<u32>(), any::<i32>()).prop_map(|(rank, size, app)| Pmi2Answer::Place {
                rank,
                size,
                app
            }),
            word().prop_map(Pmi2Answer::JobName),
            proptest::option::of(value()).prop_map(Pmi2Answer::JobAttribute),
            proptest::option::of(value()).prop_map(Pmi2Answer::Got),
            Just(Pmi2Answer::Put(Ok(()))),
            value().prop_map(|why| Pmi2Answer::Put(Err(why))),
            Just(Pmi2Answer::Fenced(Ok(()))),
            value().prop_map(|why| Pmi2Answer::Fenced(Err(why))),
            Just(Pmi2Answer::Finalized),
            (word(), value()).prop_map(|(command, why)| Pmi2Answer::Refused { command: format!("x{command}"), why }),
        ]
    }

    fn unframed(frame: Vec<u8>) -> Vec<u8> {
        let mut incoming = Incoming::default();
        incoming.feed(&frame);
        incoming.next_frame().unwrap().unwrap()
    }

    proptest! {
        #[test]
        fn requests_survive_the_wire(ask in ask(), thread in proptest::option::of(word())) {
            let request = Pmi2Request { ask, thread };
            prop_assert_eq!(Pmi2Request::decode(unframed(request.encode())), Ok(request));
        }

        #[test]
        fn replies_survive_the_wire(answer in answer(), thread in proptest::option::of(word())) {
            let reply = Pmi2Reply { answer, thread };
            prop_assert_eq!(Pmi2Reply::decode(unframed(reply.encode())), Ok(reply));
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600), text in "[cmd=;kvsputer0-9 -]{0,80}") {
            let _ = (Pmi2Request::decode(&bytes), Pmi2Reply::decode(&bytes), Pmi2Request::decode(&text), Pmi2Reply::decode(&text));
        }

        #[test]
        fn damaged_frames_never_panic(ask in ask(), at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let mut frame = unframed(ask.encode());
            let at = at.index(frame.len());
            frame[at] = with;
            let _ = (Pmi2Request::decode(&frame), Pmi2Reply::decode(&frame));
        }
    }

    #[test]
    fn messages_of_slurm_and_hydra() {
        let decoded = |frame: &str| Pmi2Reply::decode(frame).unwrap().answer;
        let slurm = "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=-1;debugged=FALSE;pmiverbose=FALSE;";
        assert_eq!(decoded(slurm), Pmi2Answer::Place { rank: 1, size: 2, app: -1 });
        let hydra = "cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,1,1));rc=0;";
        assert_eq!(decoded(hydra), Pmi2Answer::JobAttribute(Some("(vector,(0,1,1))".into())));
        assert_eq!(decoded("cmd=kvs-get-response;rc=0;found=FALSE;"), Pmi2Answer::Got(None));
        assert_eq!(decoded("cmd=kvs-fence-response;rc=14;"), Pmi2Answer::Fenced(Err("rc=14".into())));
        assert_eq!(Pmi2Query::Fence.encode(), b"    14cmd=kvs-fence;");
    }

    #[test]
    fn bad_messages_are_named() {
        for (frame, word) in [
            ("", "begin with cmd="),
            ("key=a;cmd=kvs-put;", "begin with cmd="),
            ("cmd=kvs-put;key", "not key=value"),
            ("cmd=kvs-put;key=a;", "lacks value="),
            ("cmd=fullinit;pmirank=one;", "not a number"),
        ] {
            let error = Pmi2Request::decode(frame).expect_err(frame).to_string();
            assert!(error.contains(word), "{frame}: {error}");
        }
        assert!(Pmi2Request::decode(format!("cmd=kvs-get;key={};", "k".repeat(65))).is_err());
    }
}
