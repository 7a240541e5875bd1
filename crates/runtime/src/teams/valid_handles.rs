//! Which handles stand for something, at `SHMEM_CHECK=2` and above.
//!
//! A destroyed handle is the address of memory that may be anything by now, and garbage is no address at all, so neither may be
//! read to find out. There is a list of all handles that calls have returned instead. The memory behind a destroyed one is kept
//! at these levels, so that no new handle has its address. At lower levels the list is empty and handles are believed.
//!
//! Handles of requests are numbers ([`numbered_handles`]), which are looked up at all levels.

use std::collections::BTreeMap;

use oxshmem_base::Error;
use parking_lot::{Mutex, MutexGuard};

use crate::diagnosis::errors;
use crate::start::state;
use crate::teams::numbered_handles;

/// The kinds of objects that handles stand for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleKind {
    Team,
    Context,
    Request,
}

impl HandleKind {
    /// The word for it, and its invalid handle.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Team => ("team", "SHMEM_TEAM_INVALID"),
            Self::Context => ("context", "SHMEM_CTX_INVALID"),
            Self::Request => ("request", "SHMEM_REQ_INVALID"),
        }
    }
}

/// A handle that some call has returned.
struct Listed {
    kind: HandleKind,
    end: Option<HandleEnd>,
}

/// Why a handle stands for nothing any more.
#[derive(Clone, Copy)]
enum HandleEnd {
    /// This call destroyed it.
    Destroyed(&'static str),
    /// This call destroyed the team of the context, and the context with it.
    WithTeam(&'static str),
}

/// All handles of all lives in which they were listed, by address.
static LIST: Mutex<BTreeMap<usize, Listed>> = Mutex::new(BTreeMap::new());

fn list() -> MutexGuard<'static, BTreeMap<usize, Listed>> {
    LIST.lock()
}

/// A call returns a new handle.
pub(crate) fn begin(handle: usize, kind: HandleKind) {
    if state::is_checked() {
        list().insert(handle, Listed { kind, end: None });
    }
}

/// `call` destroys what the handle stands for. Whether its memory has to be kept.
pub(crate) fn destroy(handle: usize, call: &'static str) -> bool {
    end(handle, HandleEnd::Destroyed(call))
}

/// `call` destroys the team of a context.
pub(crate) fn destroy_team_of(context: usize, call: &'static str) {
    end(context, HandleEnd::WithTeam(call));
}

fn end(handle: usize, how: HandleEnd) -> bool {
    list().get_mut(&handle).map(|entry| entry.end = Some(how)).is_some()
}

/// `call` ends the life, and with it all handles.
pub(crate) fn end_all(call: &'static str) {
    for entry in list().values_mut().filter(|entry| entry.end.is_none()) {
        entry.end = Some(HandleEnd::Destroyed(call));
    }
}

/// Ends the job with a message unless the handle, which is not a predefined one, stands for something.
#[cold]
pub(crate) fn demand(call: &str, argument: &str, handle: usize, kind: HandleKind) {
    if let Some(error) = objection(call, argument, handle, kind) {
        errors::fail(&error);
    }
}

/// Whether [`demand`] lets the handle pass.
#[cold]
pub(crate) fn is_of(handle: usize, kind: HandleKind) -> bool {
    objection("", "", handle, kind).is_none()
}

/// Ends the job with a message: no call has returned this handle of a request.
#[cold]
pub(crate) fn refuse_request(call: &str, handle: usize) -> ! {
    if !state::is_open() {
        errors::not_initialised(call);
    }
    let kind = list().get(&handle).map(|entry| entry.kind);
    errors::fail(&stranger(call, "request", handle, HandleKind::Request, kind))
}

/// The handle is none of this kind, but of another one or of none.
fn stranger(call: &str, argument: &str, handle: usize, wanted: HandleKind, found: Option<HandleKind>) -> Error {
    let (noun, invalid) = wanted.words();
    let error = |what: String| Error::new(format!("{call}: {argument} is {handle:#x}, {what}"));
    match found.filter(|found| *found != wanted) {
        None => error(format!("which was never a {noun}"))
            .because("no call of this PE has returned this handle since the library was initialised")
            .fix(format!("initialise handles with {invalid}, and let the call that makes the {noun} fill them in")),
        Some(found) => error(format!("which is no {noun}"))
            .because(format!("a call has returned this handle as that of a {}", found.words().0))
            .fix(format!("pass the handle of a {noun}")),
    }
}

fn objection(call: &str, argument: &str, handle: usize, kind: HandleKind) -> Option<Error> {
    if !state::is_checked() {
        return None;
    }
    let list = list();
    let (noun, _) = kind.words();
    let error = |what: String| Error::new(format!("{call}: {argument} is {handle:#x}, {what}"));
    match list.get(&handle) {
        None => {
            let request = numbered_handles::is_numbered(handle).then_some(HandleKind::Request);
            Some(stranger(call, argument, handle, kind, request))
        }
        Some(entry) if entry.kind != kind => Some(stranger(call, argument, handle, kind, Some(entry.kind))),
        Some(Listed { end: Some(HandleEnd::Destroyed(by)), .. }) => Some(
            error(format!("a {noun} that was destroyed by {by}"))
                .because(format!("{by} came before this call, and the handle has stood for nothing since then"))
                .fix(format!("do not use a {noun} after it was destroyed; other copies of its handle are as dead")),
        ),
        Some(Listed { end: Some(HandleEnd::WithTeam(by)), .. }) => Some(
            error(format!("a context whose team was destroyed by {by}"))
                .because("a context lasts no longer than the team on which it was made")
                .fix("destroy the context before its team; one that threads may share ends with the team if nobody destroys it"),
        ),
        Some(_) => None,
    }
}
