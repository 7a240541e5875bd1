//! Whether all PEs run the same program.

use std::os::unix::fs::FileExt;

use oxshmem_os::program;

use crate::epoch::ExchangeKind;
use crate::{Error, ErrorKind, World};

/// Makes sure of it; all PEs call, and all succeed or fail.
pub(crate) fn same_everywhere(world: &World) -> Result<(), Error> {
    if world.n_pes() == 1 {
        return Ok(());
    }
    let mine = fingerprint();
    // If a PE cannot read its executable, the comparison fails on all.
    let mut stranger = mine.is_err().then_some(world.my_pe() as u32);
    let mut first = None;
    world.agree(
        "World::init",
        ExchangeKind::Program,
        &[mine.is_ok().into(), *mine.as_ref().unwrap_or(&0)],
        |pe, words| {
            let first = *first.get_or_insert(words[1]);
            if words[0] == 0 || words[1] != first {
                stranger = stranger.or(Some(pe));
            }
        },
    );
    match stranger {
        None => Ok(()),
        Some(pe) => Err(Error::new("World::init: the PEs do not run the same executable")
            .because(match mine {
                Ok(_) => format!("the executable of PE {pe} differs from that of PE 0, or cannot be read"),
                Err(error) => format!("the file of this executable cannot be read: {error}"),
            })
            .fix("start one executable on all PEs, or call World::init_with_others and read what it asks for")
            .of_kind(ErrorKind::DifferentPrograms)),
    }
}

/// A number that depends on every byte that is loaded from the executable (FNV-1a, eight bytes at a time). Names and debug
/// information change nothing, and can be ten times as long.
fn fingerprint() -> std::io::Result<u64> {
    let file = std::fs::File::open(program::file()?)?;
    let parts = program::loaded_parts();
    if parts.is_empty() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it has no program headers"));
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |word: u64| hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    let mut buffer = vec![0; 1 << 18];
    for part in parts {
        take(part.start);
        take(part.end);
        for begin in part.clone().step_by(buffer.len()) {
            let bytes = (part.end - begin).min(buffer.len() as u64) as usize;
            file.read_exact_at(&mut buffer[..bytes], begin)?;
            // Only the last word may be shorter.
            let whole = bytes.next_multiple_of(8);
            buffer[bytes..whole].fill(0);
            for word in buffer[..whole].chunks_exact(8) {
                take(u64::from_le_bytes(word.try_into().expect("eight bytes")));
            }
        }
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_has_one_fingerprint() {
        assert_eq!(super::fingerprint().unwrap(), super::fingerprint().unwrap());
    }
}
