//! Random numbers that nobody can guess, from the system.

use std::io;

/// Fills the bytes. The first calls after the machine has started may wait until the system has collected enough noise.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += crate::uninterrupted(|| {
            Ok(rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_fills_differ_and_leave_no_byte_out() {
        let (mut first, mut second) = ([0; 1000], [0; 1000]);
        super::fill(&mut first).expect("random bytes");
        super::fill(&mut second).expect("random bytes");
        assert_ne!(first, second);
        assert!(first.chunks(50).all(|part| part.iter().any(|&byte| byte != 0)));
    }
}
