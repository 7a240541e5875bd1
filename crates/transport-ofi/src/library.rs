//! libfabric itself, opened when it is first asked for.
//!
//! Loading it runs constructors of what it depends on: the libraries of TrueScale and Omni-Path cards replace the handlers
//! of fatal signals. A program's handlers are its own, so they are put back. Its providers for TrueScale (`psm`) and the
//! deprecated `sockets` are kept out by `FI_PROVIDER`, and `FI_UNIVERSE_SIZE` says how many peers there will be, by which
//! layers size their queues (for more than there are, some cards have no room). `FI_OFI_RXM_USE_SRX` makes the layer
//! `ofi_rxm` receive in one place for all connections. Without it that layer gives each connection its own receives over verbs
//! (6 MB a peer). It also follows a null pointer when a peer closes its connection while a message of it has not been looked at:
//! it takes the message, and gives the room back to the endpoint that it has just freed. Peers that end a job do that.
//! `FI_OFI_RXM_BUFFER_SIZE` is the longest message that this layer sends eagerly. Its own value, 16 KiB, has no room for the heads of a
//! message with 16 KiB of data, and a longer message goes by rendezvous. Each of the four is set only if the user has not set it, and
//! only while the process has one thread: changing the environment is not safe otherwise, and then nothing is changed.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use std::{fmt, io};

use oxshmem_base::Error;
use oxshmem_libfabric_sys::{Libfabric, VERSION};
use oxshmem_os::{descriptors, process, signals};
use oxshmem_transport::faulted;

use crate::room::LONG_ROOM;

/// Providers that are used only if the user asks for them.
const KEPT_OUT: &str = "^sockets,psm";

/// The variable that tells libfabric how many peers to expect.
const PEERS: &str = "FI_UNIVERSE_SIZE";

/// One place to receive for all connections. See the head of the file.
const SHARED_RECEIVES: (&str, &str) = ("FI_OFI_RXM_USE_SRX", "1");

/// The longest eager message of the layer `ofi_rxm`. See the head of the file.
const EAGER: (&str, usize) = ("FI_OFI_RXM_BUFFER_SIZE", LONG_ROOM);

/// The same where the variable is not set.
const USUAL_EAGER: usize = 16 << 10;

/// The number of peers that libfabric expects by itself.
pub(crate) const USUAL_PEERS: u32 = 256;

/// The library for a job of `pes` PEs (0: unknown), or the reason why there is none.
pub(crate) fn library(pes: u32) -> Result<&'static Libfabric, Error> {
    static OPENED: OnceLock<Result<&'static Libfabric, Error>> = OnceLock::new();
    OPENED
        .get_or_init(|| {
            process::set_variable_if_alone("FI_PROVIDER", KEPT_OUT);
            process::set_variable_if_alone(SHARED_RECEIVES.0, SHARED_RECEIVES.1);
            process::set_variable_if_alone(EAGER.0, &EAGER.1.to_string());
            if (1..USUAL_PEERS).contains(&pes) {
                process::set_variable_if_alone(PEERS, &pes.to_string());
            }
            let library = signals::keeping_handlers(Libfabric::open).map_err(unusable)?;
            // SAFETY: it has no preconditions.
            accept(unsafe { (library.version)() }).map_err(unusable)?;
            Ok(library)
        })
        .clone()
}

fn unusable(why: impl fmt::Display) -> Error {
    Error::new("libfabric cannot be used")
        .because(why)
        .fix("install libfabric 1.15 or later (Debian: libfabric1), or set LD_LIBRARY_PATH to where it is")
}

/// A libfabric of this version has the interface that we ask for, or is too old. Such a one answers that a function is not implemented.
fn accept(version: u32) -> Result<(), String> {
    let text = |version: u32| format!("{}.{}", version >> 16, version & 0xFFFF);
    if version >= VERSION {
        Ok(())
    } else {
        Err(format!("the one here is {}, and {} is needed", text(version), text(VERSION)))
    }
}

/// The newest interface that makes a difference to us. EFA's provider lets cards of the first generations move the bytes only for programs
/// that ask for this one or a later one; for others software in the target does.
const NEWEST: u32 = 1 << 16 | 18;

/// The interface that a library of this version is asked for: none asks for a newer one than its own.
fn newest_of(version: u32) -> u32 {
    version.clamp(VERSION, NEWEST)
}

/// The interface that this library is asked for.
pub(crate) fn interface(library: &Libfabric) -> u32 {
    // SAFETY: it has no preconditions.
    newest_of(unsafe { (library.version)() })
}

/// Whether libfabric has been told how many peers there are, by the user or by us.
pub(crate) fn peers_are_known() -> bool {
    std::env::var_os(PEERS).is_some()
}

/// Bytes of the longest message that the layer `ofi_rxm` sends eagerly.
pub(crate) fn longest_eager() -> usize {
    eager_of(std::env::var(EAGER.0).ok().as_deref())
}

/// The same for this value of the variable. The layer's own value counts where it cannot read that.
fn eager_of(variable: Option<&str>) -> usize {
    variable.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(USUAL_EAGER)
}

/// The meaning of one of libfabric's answers; they are negative.
pub(crate) fn meaning(library: &Libfabric, code: c_int) -> String {
    // SAFETY: any number has a meaning, which is a string that stays.
    let text = unsafe { (library.strerror)(code.saturating_neg()) };
    if text.is_null() {
        return format!("error {}", code.saturating_neg());
    }
    // SAFETY: the text is not null, so it is a string of libfabric's that stays.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The remedy for one of libfabric's answers, or an error of its queue, whose cause is a limit of this process.
pub(crate) fn remedy(code: c_int) -> Option<String> {
    // The kernel's numbers are libfabric's.
    [libc::EMFILE, libc::ENFILE].contains(&code.saturating_abs()).then(|| {
        let limit = descriptors::limit();
        format!(
            "raise the limit of open files (ulimit -n), which is {limit}: over sockets a PE has one or two for each PE of other \
             nodes"
        )
    })
}

/// This error of an operation with PE `pe`; or a better one, where the cause of libfabric's answer or of its queue's error is in this process.
pub(crate) fn with_cause_here(error: Error, pe: u32, code: c_int) -> Error {
    match remedy(code) {
        Some(remedy) => error.fix(remedy),
        None if code.saturating_abs() == libc::EFAULT => faulted(pe, io::Error::from_raw_os_error(libc::EFAULT)),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{ROOM, message_room};

    /// The list of libfabric 1.11 (Ubuntu 22.04) was "Function not implemented", with no word of its age.
    #[test]
    fn an_old_library_is_named_as_such() {
        let version = |major: u32, minor: u32| major << 16 | minor;
        for new in [version(1, 15), version(1, 22), version(2, 0)] {
            assert_eq!(accept(new), Ok(()));
        }
        assert_eq!(accept(version(1, 11)), Err("the one here is 1.11, and 1.15 is needed".into()));
        let error = unusable(accept(version(1, 14)).expect_err("it is too old")).to_string();
        assert!(error.contains("1.14") && error.contains("install libfabric 1.15 or later"), "{error}");
    }

    #[test]
    fn messages_are_no_longer_than_the_layer_sends_eagerly() {
        let room = |variable: Option<&str>| message_room("tcp;ofi_rxm", eager_of(variable));
        let ours = EAGER.1.to_string();
        assert_eq!(room(Some(&ours)), LONG_ROOM);
        for (variable, expected) in [
            (None, USUAL_EAGER),
            (Some("30001"), LONG_ROOM),
            (Some(" 8197 "), 8192),
            (Some("64"), ROOM),
            (Some("8k"), USUAL_EAGER),
        ] {
            assert_eq!(room(variable), expected, "{variable:?}");
        }
        assert_eq!(message_room("tcp", USUAL_EAGER), LONG_ROOM);
    }

    /// The remedy was to look whether the other PE's node is alive.
    #[test]
    fn who_lacks_descriptors_is_pointed_to_their_limit() {
        for code in [-libc::EMFILE, libc::EMFILE, -libc::ENFILE] {
            assert!(remedy(code).is_some_and(|remedy| remedy.contains("(ulimit -n), which is ")), "{code}");
        }
        assert_eq!([0, -libc::EAGAIN, c_int::MIN].map(remedy), [None, None, None]);
    }

    /// The error was that the other PE cannot be reached.
    #[test]
    fn who_puts_from_memory_that_is_not_there_is_not_pointed_to_the_network() {
        let told = |code| with_cause_here(Error::new("the usual one"), 3, code).to_string();
        assert!(told(libc::EFAULT).contains("an operation with PE 3 uses memory that is not there"));
        assert!(told(-libc::EFAULT).contains("os error 14") && told(libc::EIO).contains("the usual one"));
    }

    /// EFA's cards of the first generations moved no bytes: all libraries were asked for 1.15.
    #[test]
    fn the_interface_by_which_efas_cards_move_the_bytes_is_asked_for_where_it_is_there() {
        let version = |major: u32, minor: u32| major << 16 | minor;
        for old in [version(1, 15), version(1, 17)] {
            assert_eq!(newest_of(old), old, "libfabric refuses a newer interface than its own");
        }
        for new in [version(1, 18), version(1, 22), version(2, 3)] {
            assert_eq!(newest_of(new), version(1, 18));
        }
    }
}
