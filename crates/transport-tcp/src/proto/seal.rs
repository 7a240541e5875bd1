//! Keys and seals: they prove which side sends, and encrypt what it sends.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac;

use super::codec::{FRAME, Garbage, Header};

/// Bytes that a seal adds to a frame.
pub const SEAL: usize = 16;
/// Bytes of a proof.
pub const PROOF: usize = 32;

/// A proof that the speaker knows the job's secret. The label keeps proofs of different steps apart.
pub(super) fn prove(secret: &[u8; 32], label: &str, said: &[&[u8]]) -> [u8; PROOF] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
    context.update(label.as_bytes());
    said.iter().for_each(|part| context.update(part));
    context.sign().as_ref().try_into().expect("a SHA-256 tag has 32 bytes")
}

/// Checks a proof in constant time.
pub(super) fn check(secret: &[u8; 32], label: &str, said: &[&[u8]], proof: &[u8]) -> Result<(), Garbage> {
    let said: Vec<u8> = [label.as_bytes()].iter().chain(said).flat_map(|part| part.iter().copied()).collect();
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret), &said, proof)
        .map_err(|_| Garbage("the peer does not know the job's secret"))
}

/// Both directions' keys of one connection, made of the secret and both sides' nonces.
pub(super) fn keys(secret: &[u8; 32], nonces: &[u8], label: &'static [u8]) -> LessSafeKey {
    let info = [label];
    let material = Salt::new(HKDF_SHA256, nonces).extract(secret);
    let material = material.expand(&info, &AES_256_GCM).expect("the length of one key is allowed");
    LessSafeKey::new(UnboundKey::from(material))
}

/// Seals what is sent. One per connection and direction, so that counting never repeats a nonce.
pub struct Sealer {
    key: LessSafeKey,
    count: u64,
}

/// Opens what a [`Sealer`] made.
pub struct Opener {
    key: LessSafeKey,
    count: u64,
}

impl Sealer {
    pub(super) fn new(key: LessSafeKey) -> Self {
        Self { key, count: 0 }
    }

    /// Seals a frame, header and body, in place; the header gets the length that is sent.
    pub fn seal(&mut self, frame: &mut Vec<u8>) -> Result<(), Garbage> {
        let head: [u8; FRAME] = *frame.first_chunk().ok_or(Garbage("a frame without header"))?;
        let header = Header::decode(&head, 0)?;
        let head = Header { length: header.length + SEAL, ..header }.encode();
        frame[..FRAME].copy_from_slice(&head);
        let nonce = nonce(&mut self.count);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(head), &mut frame[FRAME..]);
        frame.extend_from_slice(tag.map_err(|_| Garbage("a frame too long to be sealed"))?.as_ref());
        Ok(())
    }
}

impl Opener {
    pub(super) fn new(key: LessSafeKey) -> Self {
        Self { key, count: 0 }
    }

    /// Opens a body in place; returns its length.
    pub fn open(&mut self, head: &[u8; FRAME], body: &mut [u8]) -> Result<usize, Garbage> {
        let opened = self.key.open_in_place(nonce(&mut self.count), Aad::from(head), body);
        opened.map(|plain| plain.len()).map_err(|_| Garbage("a frame with a broken seal"))
    }
}

fn nonce(count: &mut u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&count.to_le_bytes());
    *count += 1;
    Nonce::assume_unique_for_key(bytes)
}
