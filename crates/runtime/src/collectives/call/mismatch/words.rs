//! Collective calls in words, for the message about members that make different ones.

use oxshmem_base::size;
use oxshmem_reduce::Kind;

use crate::collectives::signature::{CallKind, Signature, strides_of_root};
use crate::memory::control::CallDeclaration;

/// The verb of a call that has a length.
pub(super) fn verb(signature: Signature) -> &'static str {
    if signature.is_reduction() {
        "reduces"
    } else if signature.is_like(Signature::of(CallKind::Broadcast)) {
        "broadcasts"
    } else {
        "passes"
    }
}

/// A call in words; with its numbers if what was said belongs to it. The type of a reduction is told where types differ.
pub(super) fn words(signature: Signature, said: CallDeclaration, have_types: bool) -> String {
    match said.signature() == signature.bits() && (said.bytes, said.root()) != (0, 0) && !signature.ends_team() {
        true if signature.is_like(Signature::of(CallKind::Broadcast)) => {
            format!("{signature} ({}, root {})", size::counted(said.bytes), said.root())
        }
        true if signature.is_like(Signature::of(CallKind::Alltoalls)) => {
            let strides = strides_of_root(said.root()).map(|[dst, sst]| format!(", dst {dst}, sst {sst}"));
            format!("{signature} ({}{})", size::counted(said.bytes), strides.unwrap_or_default())
        }
        true if have_types && signature.is_reduction() => {
            let of = Kind::ALL.get(said.root() as usize).map_or("another type", |kind| kind.name());
            format!("{signature} ({} of {of})", size::counted(said.bytes))
        }
        true => format!("{signature} ({})", size::counted(said.bytes)),
        false => signature.to_string(),
    }
}
