//! The line of a program whose language has no debug information that the system knows: an interpreter writes it before a call.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_void};
use core::fmt;
use core::ptr;

use oxshmem_base::call_site::CallSite;

use crate::library;

thread_local! {
    /// Null, or a text that stays as long as the process.
    static LINE: Cell<*const c_char> = const { Cell::new(ptr::null()) };
}

/// The word of the calling thread that holds its line. A writer stores null, or the address of a string that stays as
/// long as the process.
pub fn program_line() -> *mut *const c_char {
    LINE.with(Cell::as_ptr)
}

/// The line of the call that the thread is in, if it is known.
pub fn text() -> Option<&'static str> {
    let line = LINE.with(Cell::get);
    // SAFETY: the writer of the word promises a string that stays.
    (!line.is_null()).then(|| unsafe { CStr::from_ptr(line) }.to_str().ok())?
}

/// The line of the call that the thread is in. An interpreter that has not told it is asked: a call that is over at once does not
/// pay for its line.
#[cold]
pub fn asked() -> Option<&'static str> {
    let known = text();
    if known.is_some() {
        return known;
    }
    let answer = library::of_any(ASKED)?;
    // SAFETY: the exporter of this name promises a function without arguments that gives null, or a string that stays.
    let line = unsafe { core::mem::transmute::<ptr::NonNull<c_void>, extern "C" fn() -> *const c_char>(answer) }();
    // SAFETY: a line that is not null is a string that stays, as the function promises.
    (!line.is_null()).then(|| unsafe { CStr::from_ptr(line) }.to_str().ok())?
}

/// The function of an interpreter's module that gives the line at which the thread is.
const ASKED: &CStr = c"oxshmem_interpreter_line";

/// Where the program called: the interpreter's line if there is one, or the place in the compiled program.
#[derive(Debug)]
pub enum BlockPlace {
    /// An interpreter has told it.
    Line(&'static str),
    /// It is looked up when it is shown.
    Compiled(CallSite),
}

impl BlockPlace {
    /// The call that the thread is in.
    pub fn here() -> Self {
        asked().map_or_else(|| Self::Compiled(CallSite::here()), Self::Line)
    }
}

impl fmt::Display for BlockPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Compiled(site) => site.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_line_that_it_has_written() {
        assert_eq!(text(), None);
        let word = program_line();
        // SAFETY: the word is this thread's, and the string is a constant.
        unsafe { word.write(c"step at heat.py:28".as_ptr()) };
        assert_eq!(text(), Some("step at heat.py:28"));
        assert_eq!(std::thread::spawn(text).join().expect("it only reads"), None);
        // SAFETY: the word is that of this thread, and null stands for no line.
        unsafe { word.write(ptr::null()) };
        assert_eq!(text(), None);
    }
}
