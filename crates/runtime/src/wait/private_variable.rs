//! Waits for a variable that no PE reaches, such as one on a stack.

use super::{Needs, Reason};
use crate::diagnosis::errors;
use crate::memory::direct::{Extent, FAST};
use crate::start::job;

/// Ends the job if the wait is for such a variable. Memory of another PE of the node, as `shmem_ptr` gives it, is reached.
pub(super) fn check(reason: &Reason<'_>, ready: &mut dyn FnMut() -> bool) {
    let Needs::Variables(_, wanted) = reason.needs else { return };
    let is_reached = |extent: &Extent| extent.is_in_some_window(reason.address, job::pes_on_node());
    if !(is_reached(&FAST.heap) || is_reached(&FAST.statics) || ready()) {
        let argument = if reason.call.contains("signal") { "sig_addr" } else { "ivar" };
        errors::not_symmetric(reason.call, argument, reason.address, wanted.bytes.max(1).into());
    }
}
