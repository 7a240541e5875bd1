//! The first line of an agent. What a login script printed before it is skipped, and shown if nothing else comes.

use std::sync::OnceLock;

use oxshmem_base::chance::Sum;

/// The argument that makes `oshrun` an agent.
pub const ARGUMENT: &str = "--agent";
/// Behind it: the agent ends with the status of the job.
pub const WITH_STATUS: &str = "with-status";
/// A word that no program prints by chance, and the version of the frames that follow.
const WORD: &str = "oxshmem-agent/1 ";
/// More than any message of the day.
const PATIENCE: usize = 64 << 10;

/// The first words of an agent.
pub(crate) fn line() -> String {
    format!("\n{WORD}{}\n", build())
}

/// Which build of the launcher this is: its version and a checksum of the executable.
pub(crate) fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let sum = std::fs::read("/proc/self/exe").map(|bytes| checksum(&bytes)).unwrap_or(0);
        format!("{} {sum:016x}", env!("CARGO_PKG_VERSION"))
    })
}

/// Tells builds apart; it is no protection against an attacker.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    Sum::of(words.iter().map(|word| u64::from_le_bytes(*word)).chain(rest.iter().map(|&byte| byte.into())))
}

/// The meaning of the bytes that have come so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// Not enough to tell.
    Unfinished,
    /// An agent of our build; the rest of the bytes is frames.
    Ours { rest: Vec<u8> },
    /// An agent of another build.
    Other { build: String },
    /// No agent.
    Stranger,
}

/// Judges everything that has come.
pub(crate) fn judge(bytes: &[u8]) -> Greeting {
    let word = WORD.as_bytes();
    let begins = |at: usize| at == 0 || bytes[at - 1] == b'\n';
    let found = (0..bytes.len()).find(|&at| begins(at) && bytes[at..].starts_with(word));
    let Some(start) = found.map(|at| at + word.len()) else {
        return if bytes.len() > PATIENCE { Greeting::Stranger } else { Greeting::Unfinished };
    };
    match bytes[start..].iter().position(|&byte| byte == b'\n') {
        None if bytes.len() - start > 200 => Greeting::Stranger,
        None => Greeting::Unfinished,
        Some(length) => {
            let theirs = String::from_utf8_lossy(&bytes[start..start + length]).trim_end().to_string();
            if theirs == build() {
                Greeting::Ours { rest: bytes[start + length + 1..].to_vec() }
            } else {
                Greeting::Other { build: theirs.escape_debug().to_string() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_greeting_is_understood_behind_any_noise() {
        for noise in ["", "Welcome to n3!\n", "no newline at the end"] {
            let bytes = format!("{noise}{}frames", line());
            assert_eq!(judge(bytes.as_bytes()), Greeting::Ours { rest: b"frames".to_vec() }, "{noise}");
            let whole = bytes.len() - "frames".len();
            assert!((0..whole).all(|end| judge(&bytes.as_bytes()[..end]) == Greeting::Unfinished));
        }
    }

    #[test]
    fn others_are_told_apart() {
        let other = format!("{WORD}9.9.9 0123\n");
        assert_eq!(judge(other.as_bytes()), Greeting::Other { build: "9.9.9 0123".into() });
        assert_eq!(judge(&vec![b'x'; PATIENCE + 1]), Greeting::Stranger);
        assert_eq!(judge(format!("{WORD}{}", "x".repeat(300)).as_bytes()), Greeting::Stranger);
        assert_eq!(judge(b"prompt$ oxshmem-agent/1 x\n"), Greeting::Unfinished, "not at the beginning of a line");
    }

    #[test]
    fn builds_have_checksums() {
        assert!(build().starts_with(env!("CARGO_PKG_VERSION")) && build().len() > 20);
        assert_ne!(checksum(b"12345678"), checksum(b"12345679"));
        assert_ne!(checksum(b"123456789"), checksum(b"12345678\0"));
    }
}
