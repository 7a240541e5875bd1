//! Parcels, which PEs of a node hand each other: bytes with descriptors, one by one or packed together.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use oxshmem_os::descriptors;

/// The contribution of one PE: some bytes and some descriptors.
#[derive(Debug, Default)]
pub struct Parcel {
    /// Any bytes.
    pub bytes: Vec<u8>,
    /// Any descriptors.
    pub fds: Vec<OwnedFd>,
}

/// Several parcels as one: before the bytes of each, how many bytes and descriptors it has.
pub(super) fn pack<'p>(parcels: impl Iterator<Item = &'p Parcel>) -> (Vec<u8>, Vec<BorrowedFd<'p>>) {
    let (mut bytes, mut fds) = (Vec::new(), Vec::new());
    for parcel in parcels {
        bytes.extend((parcel.bytes.len() as u32).to_le_bytes());
        bytes.extend((parcel.fds.len() as u32).to_le_bytes());
        bytes.extend(&parcel.bytes);
        fds.extend(parcel.fds.iter().map(AsFd::as_fd));
    }
    (bytes, fds)
}

/// Takes apart what [`pack`] made, and nothing else.
pub(super) fn unpack(mut bytes: &[u8], fds: Vec<OwnedFd>) -> Option<Vec<Parcel>> {
    let mut fds = fds.into_iter();
    let mut parcels = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (length, count) = (u32::from_le_bytes(*length) as usize, u32::from_le_bytes(*count) as usize);
        let (content, rest) = rest.split_at_checked(length)?;
        let own: Vec<OwnedFd> = fds.by_ref().take(count).collect();
        if own.len() < count {
            return None;
        }
        parcels.push(Parcel { bytes: content.into(), fds: own });
        bytes = rest;
    }
    fds.next().is_none().then_some(parcels)
}

pub(super) fn send(stream: &UnixStream, parcel: &Parcel) -> io::Result<()> {
    let fds: Vec<_> = parcel.fds.iter().map(AsFd::as_fd).collect();
    descriptors::send(stream, &parcel.bytes, &fds)
}

pub(super) fn receive(stream: &UnixStream) -> io::Result<Parcel> {
    descriptors::receive(stream).map(|(bytes, fds)| Parcel { bytes, fds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parcels_are_packed_and_nothing_else_is_taken_apart() {
        let file = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let parcel =
            |bytes: &[u8], fds| Parcel { bytes: bytes.into(), fds: std::iter::repeat_with(file).take(fds).collect() };
        let parcels = [parcel(b"a", 2), parcel(b"", 0), parcel(&[7; 300], 1)];
        let (bytes, fds) = pack(parcels.iter());
        let copies = |count: usize| std::iter::repeat_with(file).take(count).collect::<Vec<_>>();
        assert_eq!(fds.len(), 3);
        let shape = |parcels: &[Parcel]| parcels.iter().map(|p| (p.bytes.clone(), p.fds.len())).collect::<Vec<_>>();
        assert_eq!(shape(&unpack(&bytes, copies(3)).unwrap()), shape(&parcels));
        assert!(unpack(&bytes, copies(2)).is_none() && unpack(&bytes, copies(4)).is_none());
        for cut in 1..bytes.len() {
            // A cut between two parcels leaves whole ones, but then descriptors are left over.
            assert!(unpack(&bytes[..cut], copies(3)).is_none(), "{cut}");
        }
    }
}
