//! How bytes of any length travel through a key-value space whose values are short texts.
//!
//! A value becomes base64 text cut into pieces: `key` holds the number of pieces and the first one, `key.1`, `key.2` …
//! the others. The alphabet has no character that any server treats specially.

use oxshmem_base::Error;

use crate::manager::Manager;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Room for the number of pieces and its separator in the first piece.
const COUNT_ROOM: usize = 8;

/// Publishes bytes of any length. The key leaves room for the numbers of the pieces.
pub(crate) fn put(manager: &dyn Manager, key: &str, bytes: &[u8]) -> Result<(), Error> {
    assert!(key.len() <= 48 && !key.contains([' ', '=', ';', '\n']), "no key for every launcher: {key}");
    pieces(key, bytes, manager.longest()).into_iter().try_for_each(|(key, text)| manager.put(&key, &text))
}

/// The bytes that process `from` published under this key before the last fence.
pub(crate) fn get(manager: &dyn Manager, from: u32, key: &str) -> Result<Vec<u8>, Error> {
    let missing = |key: &str, why: &str| Error::new(format!("PE {from} has not published {key}")).because(why);
    let fetch = |key: &str| manager.get(from, key)?.map_err(|why| missing(key, &why));
    assemble(key, fetch)?.ok_or_else(|| missing(key, "what is there was put by another library"))
}

/// The entries `(key, text)` to publish for one value, each text at most `longest` bytes.
fn pieces(key: &str, bytes: &[u8], longest: usize) -> Vec<(String, String)> {
    let text = encode(bytes);
    let room = longest.saturating_sub(COUNT_ROOM).max(1);
    let count = text.len().div_ceil(room).max(1);
    (0..count)
        .map(|i| {
            let piece = &text[i * room..text.len().min((i + 1) * room)];
            if i == 0 { (key.to_string(), format!("{count}.{piece}")) } else { (piece_key(key, i), piece.to_string()) }
        })
        .collect()
}

/// Puts a value together again; `fetch` looks up one entry. `None`: what is stored was not published by [`pieces`].
fn assemble<E>(key: &str, mut fetch: impl FnMut(&str) -> Result<String, E>) -> Result<Option<Vec<u8>>, E> {
    let first = fetch(key)?;
    let Some((count, head)) = first.split_once('.') else {
        return Ok(None);
    };
    let Ok(count) = count.parse::<usize>() else {
        return Ok(None);
    };
    let mut text = head.to_string();
    for i in 1..count {
        text += &fetch(&piece_key(key, i))?;
    }
    Ok(decode(&text))
}

fn piece_key(key: &str, i: usize) -> String {
    format!("{key}.{i}")
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for sextet in 0..=group.len() {
            text.push(ALPHABET[(bits >> (18 - 6 * sextet)) as usize & 63] as char);
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &character in group {
            bits = bits << 6 | ALPHABET.iter().position(|&known| known == character)? as u32;
        }
        bits <<= 6 * (4 - group.len());
        // One character alone carries no whole byte.
        let length = group.len().checked_sub(1).filter(|&length| length > 0)?;
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=length]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn any_bytes_fit_any_length_limit(bytes in proptest::collection::vec(any::<u8>(), 0..3000), longest in 9usize..1024) {
            let stored: BTreeMap<_, _> = pieces("key", &bytes, longest).into_iter().collect();
            prop_assert!(stored.values().all(|text| text.len() <= longest));
            let back = assemble("key", |key| stored.get(key).cloned().ok_or(())).unwrap();
            prop_assert_eq!(back, Some(bytes));
        }

        #[test]
        fn foreign_text_is_refused_not_believed(text in ".{0,40}") {
            let _ = assemble("key", |_| if text.len() < 20 { Ok(text.clone()) } else { Err(()) });
        }
    }

    #[test]
    fn the_alphabet_is_base64_for_urls() {
        assert_eq!(encode(b"\xfb\xff\xfe"), "-__-");
        assert_eq!(encode(b"hello"), "aGVsbG8");
        assert_eq!(decode("aGVsbG8").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode("a"), None);
        assert_eq!(decode("a=bc"), None);
    }
}
