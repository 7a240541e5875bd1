//! Arrays of the module `shmem_f08`: whether their elements lie together, and the messages about those that do not fit a call.

use oxshmem_base::Error;

use crate::diagnosis::errors;
use crate::start::state;

/// Whether the elements of an array follow each other in memory. The compiler's own answer may be no for a section that has a
/// dimension of one element, such as u(2:5, 3:3), or no element at all.
///
/// # Safety
/// `descriptor` has three words before the dimensions and three for each of them.
pub unsafe fn lie_together(descriptor: *const isize, dimensions: usize) -> bool {
    // SAFETY: the caller promises so many words.
    let words = unsafe { core::slice::from_raw_parts(descriptor, 3 + 3 * dimensions) };
    let (head, bounds) = words.split_at(3);
    // gfortran and flang pass the address, the length of an element, a version with the rank behind it, and for each dimension its
    // lower bound, its extent and the distance of its elements in bytes. Another layout has the rank elsewhere.
    let rank = head[2].to_ne_bytes()[4];
    usize::from(rank) == dimensions && follow_each_other(head[1], bounds)
}

/// [`lie_together`] of elements of so many bytes. The distance of a dimension of one element does not matter.
fn follow_each_other(element: isize, dimensions: &[isize]) -> bool {
    if dimensions.chunks_exact(3).any(|words| words[1] <= 0) {
        return true;
    }
    let mut expected = element;
    dimensions.chunks_exact(3).filter(|words| words[1] != 1).all(|words| {
        let follows = words[2] == expected;
        expected = expected.wrapping_mul(words[1]);
        follows
    })
}

/// Ends the job: a section whose elements lie apart was passed to a routine of the module `shmem_f08`.
#[cold]
pub fn lies_apart(routine: &str, argument: &str) -> ! {
    errors::fail(
        &Error::new(format!("{routine}: the elements of {argument} lie apart"))
            .because(
                "the call takes elements that follow each other in memory; those of a section such as u(1, :) do not",
            )
            .fix(instead_of_section(routine, argument)),
    )
}

/// At `SHMEM_CHECK=2`: ends the job. A routine of the module `shmem_f08` has got no number of elements, which the array `deciding`
/// decides then, and its other array is shorter.
#[cold]
pub fn too_short(routine: &str, [argument, deciding, count]: [&str; 3], has: usize, needs: usize) {
    if !state::is_checked() {
        return;
    }
    let fix = if routine.contains("_fcollect") {
        format!("make {argument} as long as the arrays of all members together")
    } else {
        format!("pass a section of {deciding} that is as long as {argument}, or {count}={has}")
    };
    errors::fail(
        &Error::new(format!("{routine}: {argument} has {has} of the {needs} elements that the call moves"))
            .because(format!("without {count} all elements of {deciding} count"))
            .fix(fix),
    );
}

/// Ends the job: a routine of the module `shmem_f08` has got no number of elements, and the array `deciding`, which decides it then, has
/// none, either.
#[cold]
pub fn no_number(routine: &str, [deciding, count]: [&str; 2]) -> ! {
    errors::fail(
        &Error::new(format!("{routine}: nobody knows how many elements {deciding} has"))
            .because(format!(
                "it is a dummy argument whose last dimension is `*`, and without {count} all its elements count"
            ))
            .fix(format!("pass {count}, or declare the dummy argument with its extents")),
    )
}

/// At `SHMEM_CHECK=2`: ends the job. An exchange of the module `shmem_f08` has got no number of elements, and `pes` PEs cannot share the
/// array `deciding` evenly.
#[cold]
pub fn left_over(routine: &str, [deciding, count]: [&str; 2], has: usize, pes: usize) {
    if !state::is_checked() {
        return;
    }
    let (each, left) = (has / pes.max(1), has % pes.max(1));
    errors::fail(
        &Error::new(format!("{routine}: {deciding} has {has} elements, and {left} of them are sent to nobody"))
            .because(format!("without {count} each of {pes} PEs gets an equal part, which is {each}"))
            .fix(format!("pass a section of {deciding} whose size is a multiple of {pes}, or {count}={each}")),
    );
}

/// The way to pass such a section.
fn instead_of_section(routine: &str, argument: &str) -> String {
    let strided = ["iput", "iget", "ibput", "ibget", "alltoalls"].iter().any(|name| routine.contains(name));
    let is_collective = ["reduce", "scan", "broadcast", "collect"].iter().any(|name| routine.contains(name));
    let fix = match routine {
        _ if strided => "pass its first element: the distances are arguments of the call",
        "shmem_put" | "shmem_put_nbi" => "use shmem_iput",
        "shmem_get" | "shmem_get_nbi" => "use shmem_iget",
        "shmem_alltoall" => "use shmem_alltoalls",
        _ if is_collective => "pass a symmetric array whose elements lie together, and copy between it and the section",
        _ => "pass elements that follow each other",
    };
    // The source of a collective is symmetric, and that of a nonblocking put is read after the call: a copy does not serve there.
    let copied = argument == "source" && routine.starts_with("shmem_put") && !routine.ends_with("_nbi");
    let copy = if copied { ", or put parentheses around it, which makes a copy" } else { "" };
    format!("{fix}{copy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_of_one_element_keeps_no_elements_apart() {
        // Lower bound, extent and distance in bytes of each dimension of real(8) arrays.
        for together in
            [&[][..], &[1, 4, 8], &[1, 4, 8, 1, 1, 80], &[1, 1, 80, 1, 1, 8], &[1, 4, 8, 1, 3, 32], &[1, 0, 80]]
        {
            assert!(follow_each_other(8, together), "{together:?}");
        }
        for apart in [&[1, 4, 80][..], &[1, 4, -8], &[1, 1, 8, 1, 4, 80], &[1, 4, 8, 1, 2, 80], &[1, 2, -8, 1, 2, 32]] {
            assert!(!follow_each_other(8, apart), "{apart:?}");
        }
    }

    #[test]
    fn a_section_is_passed_by_a_strided_routine_or_as_a_copy() {
        for (routine, argument, fix) in [
            ("shmem_put", "dest", "use shmem_iput"),
            ("shmem_put", "source", "use shmem_iput, or put parentheses around it, which makes a copy"),
            ("shmem_put_nbi", "source", "use shmem_iput"),
            ("shmem_get", "source", "use shmem_iget"),
            ("shmem_iput", "dest", "pass its first element: the distances are arguments of the call"),
            (
                "shmem_sum_reduce",
                "source",
                "pass a symmetric array whose elements lie together, and copy between it and the section",
            ),
        ] {
            assert_eq!(instead_of_section(routine, argument), fix, "{routine} {argument}");
        }
    }
}
