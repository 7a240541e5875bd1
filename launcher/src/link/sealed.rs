//! The conversation between an agent that waits on a port and the launcher that comes there, without I/O: each proves that
//! it knows the job's key, and everything behind the proofs is encrypted.
//!
//! The agent speaks first: a word and a number that it uses once. The launcher answers with a number of its own and a proof
//! over both, the agent with its answer and a proof. Each direction has a key of its own, made of the job's key and both
//! numbers. A recorded conversation therefore proves nothing later, and no byte can be changed on the way.

use std::path::Path;

use oxshmem_base::{Error, file};
use oxshmem_os::random;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac;

/// The first bytes of an agent that waits, with the version of the conversation.
const WORD: &[u8; 16] = b"oxshmem-waits/1\n";
const NUMBER: usize = 32;
const PROOF: usize = 32;
/// Bytes of the agent's first words.
pub(crate) const INVITATION: usize = WORD.len() + NUMBER;
/// Bytes of the launcher's answer to them.
pub(crate) const KNOCK: usize = NUMBER + PROOF;
/// Bytes of the agent's answer to that.
pub(crate) const ANSWER: usize = 1 + PROOF;

/// Bytes of the length before a record.
const HEAD: usize = 4;
/// Bytes that a seal adds.
const SEAL: usize = 16;
/// The most bytes of one record.
const LONGEST: usize = 64 << 10;
/// A shorter key could be guessed.
const SHORTEST_KEY: usize = 16;

/// The secret that both sides have to know.
pub(crate) struct JobKey(Vec<u8>);

impl JobKey {
    /// Reads the key from a file. A newline at its end does not count.
    pub(crate) fn read(path: &Path) -> Result<JobKey, Error> {
        let refused = |why: String| {
            Error::new(format!("cannot use the key in {}", path.display())).because(why).fix(
                "put the same random text on all hosts, for example of `openssl rand -hex 32`; in Kubernetes a Secret",
            )
        };
        let text = file::read(path).map_err(|error| refused(error.to_string()))?;
        match text.trim() {
            key if key.len() < SHORTEST_KEY => {
                Err(refused(format!("it has {} bytes, and {SHORTEST_KEY} are the least", key.len())))
            }
            key => Ok(JobKey(key.into())),
        }
    }
}

/// The answer of an agent to a launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Welcome {
    /// Orders may follow.
    Ready,
    /// The agent is in a job.
    Busy,
    /// The launcher has another key. Nothing proves this answer.
    Stranger,
}

impl Welcome {
    const ALL: [(Welcome, u8); 3] = [(Welcome::Ready, b'r'), (Welcome::Busy, b'b'), (Welcome::Stranger, b's')];

    fn letter(self) -> u8 {
        Self::ALL.iter().find(|(welcome, _)| *welcome == self).expect("every answer has a letter").1
    }
}

/// A number that is used once.
pub(crate) fn fresh_number() -> std::io::Result<[u8; NUMBER]> {
    let mut number = [0; NUMBER];
    random::fill(&mut number)?;
    Ok(number)
}

/// The agent's first words.
pub(crate) fn invitation(number: &[u8; NUMBER]) -> Vec<u8> {
    [&WORD[..], number].concat()
}

/// The number in an agent's first words, if it is one.
pub(crate) fn invited(bytes: &[u8; INVITATION]) -> Option<[u8; NUMBER]> {
    bytes.strip_prefix(WORD)?.try_into().ok()
}

/// The number in a launcher's answer.
pub(crate) fn knocked(bytes: &[u8; KNOCK]) -> [u8; NUMBER] {
    *bytes.first_chunk().expect("it is longer than a number")
}

/// One conversation: the key and the numbers of both sides.
pub(crate) struct SealedTalk<'k> {
    key: &'k JobKey,
    agent: [u8; NUMBER],
    launcher: [u8; NUMBER],
}

impl<'k> SealedTalk<'k> {
    pub(crate) fn new(key: &'k JobKey, agent: [u8; NUMBER], launcher: [u8; NUMBER]) -> Self {
        SealedTalk { key, agent, launcher }
    }

    /// The launcher's number and its proof.
    pub(crate) fn knock(&self) -> Vec<u8> {
        [&self.launcher[..], hmac::sign(&self.hmac(), &self.said("launcher", &[])).as_ref()].concat()
    }

    /// Whether the launcher has the key.
    pub(crate) fn admits(&self, knock: &[u8; KNOCK]) -> bool {
        hmac::verify(&self.hmac(), &self.said("launcher", &[]), &knock[NUMBER..]).is_ok()
    }

    /// The agent's answer. To a stranger it proves nothing.
    pub(crate) fn answer(&self, welcome: Welcome) -> Vec<u8> {
        let letter = [welcome.letter()];
        match welcome {
            Welcome::Stranger => [&letter[..], &[0; PROOF]].concat(),
            _ => [&letter[..], hmac::sign(&self.hmac(), &self.said("agent", &letter)).as_ref()].concat(),
        }
    }

    /// The meaning of an agent's answer; none: the agent does not know the key.
    pub(crate) fn answered(&self, answer: &[u8; ANSWER]) -> Option<Welcome> {
        let (letter, proof) = (&answer[..1], &answer[1..]);
        let welcome = Welcome::ALL.iter().find(|(_, known)| *known == letter[0])?.0;
        let proves = || hmac::verify(&self.hmac(), &self.said("agent", letter), proof).is_ok();
        (welcome == Welcome::Stranger || proves()).then_some(welcome)
    }

    /// The launcher's seals: of its words, and of the agent's.
    pub(crate) fn of_launcher(&self) -> (RecordSealer, RecordOpener) {
        (RecordSealer::new(self.seal(b"to agent")), RecordOpener::new(self.seal(b"to launcher")))
    }

    /// The agent's seals: of its words, and of the launcher's.
    pub(crate) fn of_agent(&self) -> (RecordSealer, RecordOpener) {
        (RecordSealer::new(self.seal(b"to launcher")), RecordOpener::new(self.seal(b"to agent")))
    }

    fn hmac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.key.0)
    }

    fn said(&self, side: &str, more: &[u8]) -> Vec<u8> {
        [WORD, side.as_bytes(), &self.agent, &self.launcher, more].concat()
    }

    fn seal(&self, label: &'static [u8]) -> LessSafeKey {
        let info = [label];
        let both = [self.agent, self.launcher].concat();
        let secret = Salt::new(HKDF_SHA256, &both).extract(&self.key.0);
        let okm = secret.expand(&info, &AES_256_GCM).expect("the length of one key is allowed");
        LessSafeKey::new(UnboundKey::from(okm))
    }
}

/// Counts the records of one direction: no number is used twice with a key.
struct Count(u64);

impl Count {
    fn next(&mut self) -> Nonce {
        let mut bytes = [0; 12];
        bytes[4..].copy_from_slice(&self.0.to_le_bytes());
        self.0 += 1;
        Nonce::assume_unique_for_key(bytes)
    }
}

/// Seals one direction.
pub(crate) struct RecordSealer {
    key: LessSafeKey,
    count: Count,
}

impl RecordSealer {
    fn new(key: LessSafeKey) -> Self {
        RecordSealer { key, count: Count(0) }
    }

    /// The records that carry these bytes.
    pub(crate) fn seal(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut records = Vec::with_capacity(bytes.len() + HEAD + SEAL);
        bytes.chunks(LONGEST).for_each(|piece| self.record(piece, &mut records));
        records
    }

    /// The record behind the last one. Without it the connection has broken.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let mut record = Vec::new();
        self.record(&[], &mut record);
        record
    }

    fn record(&mut self, piece: &[u8], records: &mut Vec<u8>) {
        let head = (piece.len() as u32).to_le_bytes();
        let mut sealed = piece.to_vec();
        self.key
            .seal_in_place_append_tag(self.count.next(), Aad::from(head), &mut sealed)
            .expect("a record is far shorter than what the cipher can seal");
        records.extend_from_slice(&head);
        records.append(&mut sealed);
    }
}

/// Opens what comes from the other side, as it comes.
pub(crate) struct RecordOpener {
    key: LessSafeKey,
    count: Count,
    pending: Vec<u8>,
}

/// A piece of what the other side says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Bytes(Vec<u8>),
    /// Nothing more will come.
    End,
}

impl RecordOpener {
    fn new(key: LessSafeKey) -> Self {
        RecordOpener { key, count: Count(0), pending: Vec::new() }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole record. After an error the stream has no meaning any more.
    pub(crate) fn next(&mut self) -> Option<Result<Opened, String>> {
        let head: [u8; HEAD] = *self.pending.first_chunk()?;
        let length = u32::from_le_bytes(head) as usize;
        if length > LONGEST {
            return Some(Err(format!("a record of {length} bytes is announced, {LONGEST} are the most")));
        }
        let whole = HEAD + length + SEAL;
        if self.pending.len() < whole {
            return None;
        }
        let mut sealed: Vec<u8> = self.pending.drain(..whole).skip(HEAD).collect();
        Some(match self.key.open_in_place(self.count.next(), Aad::from(head), &mut sealed) {
            Ok([]) => Ok(Opened::End),
            Ok(bytes) => Ok(Opened::Bytes(bytes.to_vec())),
            Err(_) => Err("a record has a broken seal: it was changed on the way".into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_test_folder::TestFolder;
    use proptest::prelude::*;

    fn key(text: &str) -> JobKey {
        JobKey(text.into())
    }

    fn array<const N: usize>(bytes: Vec<u8>) -> [u8; N] {
        bytes.try_into().expect("the length that the other side reads")
    }

    #[test]
    fn both_sides_prove_that_they_know_the_key() {
        let (agents, launchers) = (key("a key of 32 bytes, or about that"), key("another key, of the same length!"));
        let number = invited(&array(invitation(&[7; NUMBER]))).unwrap();
        assert_eq!(number, [7; NUMBER]);
        assert_eq!(invited(&[b'x'; INVITATION]), None);
        for (theirs, admitted) in [(&agents, true), (&launchers, false)] {
            let launcher = SealedTalk::new(theirs, number, [9; NUMBER]);
            let knock: [u8; KNOCK] = array(launcher.knock());
            let agent = SealedTalk::new(&agents, number, knocked(&knock));
            assert_eq!(agent.admits(&knock), admitted);
            let answers =
                [Welcome::Ready, Welcome::Busy].map(|welcome| launcher.answered(&array(agent.answer(welcome))));
            let expected = [Welcome::Ready, Welcome::Busy].map(|welcome| admitted.then_some(welcome));
            assert_eq!(answers, expected);
            assert_eq!(launcher.answered(&array(agent.answer(Welcome::Stranger))), Some(Welcome::Stranger));
        }
        // A recorded answer belongs to its numbers.
        let knock: [u8; KNOCK] = array(SealedTalk::new(&agents, number, [9; NUMBER]).knock());
        assert!(!SealedTalk::new(&agents, [8; NUMBER], knocked(&knock)).admits(&knock));
        assert!(!SealedTalk::new(&agents, number, [8; NUMBER]).admits(&knock));
    }

    #[test]
    fn a_key_is_read_without_its_newline_and_a_short_one_is_refused() {
        let folder = TestFolder::new("key");
        let read =
            |text: &str| JobKey::read(&folder.write("key", text)).map(|key| key.0).map_err(|error| error.to_string());
        assert_eq!(read("0123456789abcdef\n"), read("0123456789abcdef"));
        let short = read("0123\n").unwrap_err();
        assert!(short.contains("has 4 bytes") && short.contains("openssl rand"), "{short}");
        assert!(JobKey::read(&folder.join("nowhere")).is_err());
    }

    proptest! {
        #[test]
        fn sealed_bytes_arrive_in_any_pieces(
            texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..3000), 0..5),
            cut in 1usize..999,
        ) {
            let key = key("a key of 32 bytes, or about that");
            let talk = SealedTalk::new(&key, [1; NUMBER], [2; NUMBER]);
            let ((mut sealer, _), (_, mut opener)) = (talk.of_launcher(), talk.of_agent());
            let mut wire: Vec<u8> = texts.iter().flat_map(|text| sealer.seal(text)).collect();
            wire.extend(sealer.end());
            let (mut seen, mut ended) = (Vec::new(), false);
            for piece in wire.chunks(cut) {
                opener.feed(piece);
                while let Some(opened) = opener.next() {
                    match opened.unwrap() {
                        Opened::Bytes(bytes) => seen.extend(bytes),
                        Opened::End => ended = true,
                    }
                }
            }
            prop_assert_eq!((seen, ended), (texts.concat(), true));
        }

        #[test]
        fn a_changed_bit_is_noticed(at in any::<prop::sample::Index>(), bit in 0u32..8) {
            let key = key("a key of 32 bytes, or about that");
            let talk = SealedTalk::new(&key, [1; NUMBER], [2; NUMBER]);
            let ((mut sealer, _), (_, mut opener)) = (talk.of_agent(), talk.of_launcher());
            let mut wire = sealer.seal(b"all of it");
            let at = at.index(wire.len());
            wire[at] ^= 1 << bit;
            opener.feed(&wire);
            // A length that grew waits for the rest.
            let opened = opener.next();
            prop_assert!(matches!(opened, None | Some(Err(_))), "{:?}", opened);
        }
    }
}
