//! Remedies of errors, in the words of the language that has called.
//!
//! Names of Fortran's routines are in capitals, those of C are not. Fortran's module `shmem_f08` calls by the names of C.

use core::ffi::c_int;

use oxshmem_os::fortran_module;

/// Whether a call is one of Fortran's own interface.
fn is_fortran(call: &str) -> bool {
    !call.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// A routine without an explicit interface takes what lies in the place of the missing arguments.
const TOO_FEW: &str = "If an argument is missing, the call looks like this too: `use shmem` finds it";

/// Neither has one the type of a function that the program does not declare.
const NO_INTERFACE: &str = "If an argument is missing, or SHMEM_MY_PE or SHMEM_N_PES is not declared and so REAL, the call looks \
                            like this too: `use shmem` helps with both";

/// For an address that is private.
pub(super) fn private(call: &str) -> String {
    match is_fortran(call) {
        true => format!(
            "pass a variable with SAVE, one of a COMMON block, or memory of SHPALLOC. An ALLOCATABLE array is private even with \
             SAVE. If the elements of a section lie apart, the compiler passes a private copy. {TOO_FEW}"
        ),
        false if fortran_module::code().is_empty() => PRIVATE.into(),
        false => format!("{PRIVATE}. {OF_MODULE}"),
    }
}

/// For callers from C.
const PRIVATE: &str = "pass a static variable or memory from shmem_malloc, not the stack and not malloc, by its address \
                       on this PE";

/// More for a program that uses the module `shmem_f08`: its calls have the names of C.
const OF_MODULE: &str = "In Fortran variables with SAVE and those of modules are static, and an ALLOCATABLE array is private even \
                         with SAVE. If the elements of a section lie apart, a dummy argument such as u(n) is a private copy of \
                         it";

/// For a static variable of a node on which one PE does not share its static variables.
pub(super) fn unshared(call: &str) -> String {
    let heap = if is_fortran(call) { "SHPALLOC" } else { "shmem_malloc" };
    format!("run one program with one value of SHMEM_STATICS on all PEs, or pass memory of {heap}")
}

/// For a variable of a shared library.
pub(super) fn of_library(call: &str) -> String {
    let heap = if is_fortran(call) { "SHPALLOC" } else { "shmem_malloc" };
    format!("link that library statically (a file *.a, or its sources), or pass memory of {heap}")
}

/// For the number of a PE that does not exist.
pub(super) fn no_such_pe(call: &str, pe: c_int) -> String {
    let fix = "pass a PE number of that team";
    // The bits of a normal REAL that is read as an integer are no less than these.
    let is_garbage = pe.unsigned_abs() >= f32::MIN_POSITIVE.to_bits();
    if is_garbage && is_fortran(call) { format!("{fix}. {NO_INTERFACE}") } else { fix.into() }
}

/// For a PE that a job of one PE does not have.
pub(super) const MORE_PES: &str = "the job has one PE, and `oshrun -n 4 …` starts more";

/// For an address that is NULL: why that is wrong, and the remedy.
pub(super) fn null(call: &str) -> [&'static str; 2] {
    if is_fortran(call) {
        [
            "the call needs symmetric memory there, and takes what lies in the place of an argument that is missing",
            "count the arguments of the call (`use shmem` lets the compiler count them); a Cray pointer needs memory of SHPALLOC",
        ]
    } else {
        [
            "the call needs symmetric memory there; if shmem_malloc has returned NULL, 0 bytes were asked for, or there was no \
             room, and a message has said why",
            "pass the address of a symmetric object, and compare what shmem_malloc returns with NULL",
        ]
    }
}

/// For an argument whose value makes no sense.
pub(super) fn bad_argument(call: &str) -> String {
    if is_fortran(call) { format!("correct the argument. {NO_INTERFACE}") } else { "correct the argument".into() }
}

/// For a transfer over the end of a block of the heap.
pub(super) fn beyond_block(call: &str) -> &'static str {
    if is_fortran(call) {
        "check the length of the transfer against the size that was allocated: SHPALLOC counts words of 32 bits, two for each \
             real(8), and the name of the routine says how long an element is"
    } else {
        "check the length of the transfer against the size that was allocated"
    }
}

/// For a write behind a block of the heap.
pub(super) fn words(call: &str) -> Option<&'static str> {
    is_fortran(call).then_some("SHPALLOC counts words of 32 bits, two for each real(8)")
}

/// For a transfer over the end of a variable.
pub(super) fn beyond_variable(call: &str) -> &'static str {
    if is_fortran(call) {
        "check the length of the transfer against the size of the array; the name of the routine says how long an element is, \
             so compare it with the kind of the array"
    } else {
        "check the length of the transfer against the size of the array"
    }
}

/// For a handle that stands for nothing. Only teams have handles in Fortran, and their calls have the names of C.
pub(super) fn handle(fix: String, is_team: bool) -> String {
    if is_team { fix + "; in Fortran a handle is INTEGER(8), or type(shmem_team) with shmem_f08" } else { fix }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_from_fortran_read_of_what_fortran_has() {
        for text in [private("SHMEM_PUT8"), bad_argument("SHMEM_PUT8")] {
            assert!(!text.contains("shmem_malloc") && text.contains("If an argument is missing"), "{text}");
        }
        let text = private("SHMEM_PUT8");
        assert!(text.contains("An ALLOCATABLE array is private even with SAVE") && text.contains("SHPALLOC"), "{text}");
        assert!(bad_argument("SHMEM_PUT8").contains("SHMEM_N_PES is not declared and so REAL"));
        // The bits of 1.0, and numbers that no REAL has.
        let texts = [1_065_353_216, 7, -1].map(|pe| no_such_pe("SHMEM_PUT8", pe));
        assert!(texts[0].contains("SHMEM_MY_PE or SHMEM_N_PES is not declared"), "{texts:?}");
        assert!(texts[1..].iter().all(|text| text == "pass a PE number of that team"), "{texts:?}");
        assert!(unshared("SHMEM_PUT8").ends_with("memory of SHPALLOC"));
        assert!(beyond_block("SHMEM_PUT8").contains("words of 32 bits"));
        assert!(words("SHMEM_BARRIER_ALL").is_some_and(|words| words.contains("words of 32 bits")));
        assert!(null("SHMEM_PUT8").iter().all(|text| !text.contains("shmem_malloc")));
        assert!(beyond_variable("SHMEM_PUT8").contains("kind of the array"));
        assert_eq!(
            handle("x".into(), true),
            "x; in Fortran a handle is INTEGER(8), or type(shmem_team) with shmem_f08"
        );
    }

    #[test]
    fn callers_from_c_read_nothing_of_it() {
        let texts =
            [bad_argument("shmem_put8"), beyond_block("shmem_put8").into(), beyond_variable("shmem_put8").into()];
        assert_eq!(words("shmem_barrier_all"), None);
        let of_null = null("shmem_put8").map(String::from);
        // Any PE may be the one whose node has no memory.
        assert!(!of_null.iter().any(|text| text.contains("PE 0")), "{of_null:?}");
        let of_private = [handle(String::new(), false), private("shmem_put8"), no_such_pe("shmem_put8", c_int::MAX)];
        for text in texts.into_iter().chain(of_null).chain(of_private).chain([unshared("shmem_put8")]) {
            let words = ["SHP", "REAL", "INTEGER", "kind of", "is missing", "SAVE", "ALLOCATABLE"];
            assert!(!words.iter().any(|word| text.contains(word)), "{text}");
        }
        assert!(private("shmem_put8").contains("shmem_malloc") && private("shmem_put8").contains("on this PE"));
    }
}
