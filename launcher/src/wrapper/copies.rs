//! Copies of memory in programs for the race detector, which sees those that are calls of `memcpy` and its like.

use std::ffi::OsString;

/// How compilers of C and C++ are told to call `memcpy` and its like by these names, and not as functions that look for overflows: some
/// systems have those by default.
pub(super) const PLAIN: &str = "-U_FORTIFY_SOURCE";

/// As [`PLAIN`], for their preprocessor: it reads options of its own (`-Wp`, `-Xpreprocessor`) behind all others.
pub(super) const PLAIN_TO_PREPROCESSOR: &str = "-Wp,-U_FORTIFY_SOURCE";

/// How the GNU compilers of C and C++ are told to leave copies of memory as calls, so that the detector sees them.
pub(super) const GNU: [&str; 3] = ["-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"];

/// The options for a compiler with the user's words.
pub(super) fn flags<'w>(words: impl Iterator<Item = &'w OsString>, is_clang: bool) -> impl Iterator<Item = OsString> {
    let to_preprocessor = looks_for_overflows(words).then_some(PLAIN_TO_PREPROCESSOR);
    let gnu = GNU.into_iter().filter(move |_| !is_clang);
    [PLAIN].into_iter().chain(to_preprocessor).chain(gnu).map(OsString::from)
}

/// The option before a word for the preprocessor.
const BEFORE_ITS_WORD: &str = "-Xpreprocessor";

/// Whether this word of a file of arguments may give the preprocessor the macro of those functions, alone or with the next one.
pub(super) fn may_look_for_overflows(word: &OsString) -> bool {
    word == BEFORE_ITS_WORD || looks_for_overflows([word].into_iter())
}

/// Whether the words give the preprocessor the macro of those functions.
fn looks_for_overflows<'w>(mut words: impl Iterator<Item = &'w OsString>) -> bool {
    let mut is_behind = false;
    words.any(|word| {
        let text = word.to_string_lossy();
        let is_its_own = std::mem::replace(&mut is_behind, text == BEFORE_ITS_WORD) || text.starts_with("-Wp,");
        is_its_own && text.contains("_FORTIFY_SOURCE")
    })
}
