//! Whether all PEs run the same program.

use std::io::Read;

use crate::epoch::ExchangeKind;
use crate::{Error, ErrorKind, World};

/// Makes sure of it; all PEs call, and all succeed or fail.
pub(crate) fn same_everywhere(world: &World) -> Result<(), Error> {
    if world.n_pes() == 1 {
        return Ok(());
    }
    let mine = fingerprint();
    // Nobody is trusted if some PE cannot say.
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
                Err(error) => format!("/proc/self/exe cannot be read: {error}"),
            })
            .fix("start one executable on all PEs, or call World::init_with_others and read what it asks for")
            .of_kind(ErrorKind::DifferentPrograms)),
    }
}

/// A number that depends on every byte of the executable (FNV-1a, eight bytes at a time).
fn fingerprint() -> std::io::Result<u64> {
    let mut file = std::fs::File::open("/proc/self/exe")?;
    let mut part = vec![0; 1 << 18];
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    loop {
        // Only the last part may end inside a word.
        let mut filled = 0;
        while filled < part.len() {
            match file.read(&mut part[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        part[filled..].fill(0);
        for word in part[..filled.next_multiple_of(8).min(part.len())].chunks_exact(8) {
            let word = word.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        }
        if filled < part.len() {
            return Ok(hash);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_has_one_fingerprint() {
        assert_eq!(super::fingerprint().unwrap(), super::fingerprint().unwrap());
    }
}
