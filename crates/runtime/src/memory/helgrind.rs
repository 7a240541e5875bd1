//! Helgrind, under which no PE can run.
//!
//! It keeps notes of every byte that a process maps readable and writable, when it is mapped: more than the byte itself takes. The windows of
//! a node are tens of GiB of addresses, most of which never get memory, so its notes take all memory of the machine within seconds.

use std::ffi::OsStr;

use oxshmem_base::{Error, size};

use crate::memory::control;

/// The part of the name of the library that valgrind puts in front of a program for this tool.
const PRELOADED: &[u8] = b"/vgpreload_helgrind";

/// Ends the start of a PE under helgrind, by what the environment says of libraries in front of the program: valgrind takes its own out for
/// programs that this process starts, unless it runs those as well.
pub(crate) fn refuse(preloaded: Option<&OsStr>, members: usize) -> Result<(), Error> {
    let is_there = preloaded.is_some_and(|libraries| {
        let bytes = libraries.as_encoded_bytes();
        bytes.windows(PRELOADED.len()).any(|part| part == PRELOADED)
    });
    if !is_there {
        return Ok(());
    }
    let control = size::display((members as u64) << control::SHIFT);
    Err(Error::new("the PEs of this node run under helgrind, which cannot hold their windows")
        .because(format!(
            "it keeps notes of all addresses that are mapped, {control} for the control windows alone, and takes all memory"
        ))
        .fix(
            "look for races between threads with ThreadSanitizer (oshcc -fsanitize=thread), and for those between PEs with \
             oshcc --race",
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pe_under_helgrind_ends_before_its_windows_are_mapped() {
        let refused = |libraries: Option<&str>| refuse(libraries.map(OsStr::new), 2).map_err(|error| error.to_string());
        let core = "/usr/libexec/valgrind/vgpreload_core-amd64-linux.so:/usr/libexec/valgrind";
        let error = refused(Some(&format!("{core}/vgpreload_helgrind-amd64-linux.so"))).expect_err("it is helgrind");
        assert!(error.contains("under helgrind") && error.contains("16 GiB for the control windows"), "{error}");
        for other in
            [format!("{core}/vgpreload_drd-amd64-linux.so"), format!("{core}/vgpreload_memcheck-amd64-linux.so")]
        {
            assert_eq!(refused(Some(&other)), Ok(()), "{other}");
        }
        assert_eq!((refused(None), refused(Some("libtcmalloc.so"))), (Ok(()), Ok(())));
    }
}
