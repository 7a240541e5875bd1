//! Puts and gets of lanes, as far as there is room, each in as many of libfabric's operations as it takes.

use std::ffi::c_int;

use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{FoundPiece, NotIssued, Remote};

use super::piece::{Aim, Transfer, refuses_length};
use super::{Endpoint, Issued, RemoteTarget};
use crate::delivery::Delivery;

/// Transfers from this length on are cut over libfabric's `tcp`. Its sender sleeps where the socket takes no more of an operation, and
/// finds out late that there is room again; in several operations it has more to send whenever it looks. Two nodes of one machine, puts one
/// after the other: of 512 KiB 50 us whole and 60 in two pieces, of 768 KiB 95 and 92, of 1 MiB 200 and 125, of 2 MiB 400 and 290;
/// broadcasts of 1 and 2 MiB 215 and 440 us whole, 180 and 300 in pieces.
const CUT_OVER_TCP: usize = 1 << 20;

/// Longest piece of these. In pieces of 256 KiB the same puts of 1 MiB took 126 us, in pieces of 384 KiB 125, in pieces of 512 KiB 170.
const TCP_PIECE: usize = 384 << 10;

/// From how many bytes on transfers by an endpoint of this provider are cut.
pub(super) fn cuts_from(provider: &str) -> usize {
    match provider.split(';').next() {
        Some("tcp" | "net") => CUT_OVER_TCP,
        _ => usize::MAX,
    }
}

/// How many bytes of a transfer of `n` one operation takes at most, for that. Pieces have one length, but for the last.
fn longest_of(n: usize, cuts_from: usize) -> usize {
    if n < cuts_from { n } else { n.div_ceil(n.div_ceil(TCP_PIECE)).next_multiple_of(4096) }
}

/// How many of `n` bytes one operation of at most `longest` takes there.
fn longest_at(here: FoundPiece<u64>, n: usize, longest: usize) -> usize {
    n.min(usize::try_from(here.room).unwrap_or(usize::MAX)).min(longest)
}

impl Endpoint {
    /// Issues a transfer in pieces as far as there is room; returns how many bytes from the start that is. All registrations
    /// that hold a part of the range are known; `target` is where it begins.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn transfer(
        &mut self,
        account: u32,
        remote: Remote,
        target: RemoteTarget,
        transfer: Transfer,
        delivery: Delivery,
        n: usize,
    ) -> Issued<usize> {
        let RemoteTarget { peer, mut found } = target;
        let longest = self.longest.min(longest_of(n, self.cuts_from));
        // Nothing is issued for no bytes, whose buffer may be anywhere.
        if let Some(here) = found
            && n > 0
            && longest_at(here, n, longest) == n
        {
            // SAFETY: the local buffer has `n` bytes, by the caller's promise.
            return unsafe { self.one(Aim { account, pe: remote.pe, peer, here, delivery }, transfer, n) };
        }
        let mut done = 0;
        while done < n {
            let Some(here) = found else { return Err(self.out_of_range(remote, n).into()) };
            let (aim, len) =
                (Aim { account, pe: remote.pe, peer, here, delivery }, longest_at(here, n - done, longest));
            // SAFETY: `done` is below `n`, for which the caller promises that the local buffer is there.
            let local = unsafe { transfer.plus(done) };
            // SAFETY: the local buffer has `len` bytes, by the caller's promise.
            match unsafe { self.one(aim, local, len) } {
                Ok(issued) => done += issued,
                Err(NotIssued::Busy) if done > 0 => return Ok(done),
                Err(refused) => return Err(refused),
            }
            if done < n {
                found = self.found(remote.pe, remote.region, remote.offset + done as u64);
            }
        }
        Ok(n)
    }

    /// Issues one operation in the way that is cheapest for its length; returns how many bytes from the start it has.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    #[inline]
    unsafe fn one(&mut self, aim: Aim, local: Transfer, n: usize) -> Issued<usize> {
        match local {
            // SAFETY: the source has `n` bytes, by the caller's promise.
            Transfer::PutCopied(source) if aim.delivery == Delivery::ReadBack && n <= self.inject => unsafe {
                self.put_and_forget(aim, source, n)
            },
            // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
            _ => unsafe { self.piece(aim, local, n) },
        }
    }

    /// Issues the beginning of a transfer of `n` bytes if this endpoint reaches it and has room now; returns how much.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn try_piece(
        &mut self,
        account: u32,
        remote: Remote,
        transfer: Transfer,
        n: usize,
    ) -> Issued<usize> {
        let Some(RemoteTarget { peer, found: Some(here) }) = self.target(remote) else { return Err(NotIssued::Busy) };
        let aim = Aim { account, pe: remote.pe, peer, here, delivery: self.objects.info.delivery };
        // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
        unsafe { self.piece(aim, transfer, longest_at(here, n, self.longest)) }
    }

    /// Issues a short put whose source is free at once and of which nothing is heard again. Where a read behind the puts
    /// tells whether they have arrived, their completions tell nothing and cost as much again.
    ///
    /// # Safety
    /// `source` has `n` bytes.
    unsafe fn put_and_forget(&mut self, aim: Aim, source: *const u8, n: usize) -> Issued<usize> {
        let Aim { pe, peer, here, .. } = aim;
        let ep = self.objects.ep();
        // SAFETY: the endpoint is open; the source has `n` bytes, by the caller's promise, and is copied.
        let code = unsafe { fi_inject_write(ep, source.cast(), n, peer, here.address, here.key) } as c_int;
        if refuses_length(code) {
            self.distrust_inject(n);
            // SAFETY: the source has `n` bytes, by the caller's promise.
            return unsafe { self.piece(aim, Transfer::PutCopied(source), n) };
        }
        self.taken(pe, code).map(|()| n)
    }
}

#[cfg(test)]
mod tests {
    use super::{CUT_OVER_TCP, TCP_PIECE, cuts_from, longest_of};

    #[test]
    fn long_transfers_over_tcp_are_cut_in_pieces_of_whole_pages() {
        for provider in ["tcp", "tcp;ofi_rxm", "net;ofi_rxm"] {
            let from = cuts_from(provider);
            assert_eq!(longest_of(CUT_OVER_TCP - 1, from), CUT_OVER_TCP - 1, "{provider}");
            for n in [0, 1, 4095, 4096, 1 << 20, 5 << 20, 77 << 20].map(|more| CUT_OVER_TCP + more) {
                let piece = longest_of(n, from);
                assert!(
                    piece.is_multiple_of(4096) && piece <= TCP_PIECE && piece > TCP_PIECE / 2,
                    "{n} over {provider}: {piece}"
                );
            }
        }
    }

    #[test]
    fn no_other_provider_cuts() {
        for provider in ["verbs;ofi_rxm", "cxi", "shm", "udp;ofi_rxd", "tcpish", ""] {
            assert_eq!(longest_of(1 << 30, cuts_from(provider)), 1 << 30, "{provider}");
        }
    }
}
