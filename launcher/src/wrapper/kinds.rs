//! Options of Fortran compilers that change the length of default kinds, which the routines of OpenSHMEM do not follow.

use std::ffi::OsString;

use oxshmem_base::Error;

use super::modules;

/// The options of gfortran, flang, nvfortran and ifx.
const OPTIONS: [&str; 18] = [
    "-fdefault-integer-8",
    "-fdefault-real-8",
    "-fdefault-real-10",
    "-fdefault-real-16",
    "-fdefault-double-8",
    "-finteger-4-integer-8",
    "-freal-4-real-8",
    "-freal-4-real-10",
    "-freal-4-real-16",
    "-freal-8-real-4",
    "-freal-8-real-10",
    "-freal-8-real-16",
    "-i2",
    "-i8",
    "-r4",
    "-r8",
    "-r16",
    "-Mr8",
];

/// The note about such an option where a source is compiled.
pub(super) fn note(arguments: &[OsString]) -> Option<Error> {
    let option = arguments.iter().filter_map(|argument| argument.to_str()).find(|text| OPTIONS.contains(text))?;
    arguments.iter().any(modules::is_fortran).then(|| {
        Error::new(format!("{option} changes the length of default kinds, and the routines of OpenSHMEM keep theirs"))
            .because(
                "for them INTEGER and REAL have 4 bytes and DOUBLE PRECISION has 8: with shmem.fh, and for reals with the module \
                 shmem too, a part of the data is moved without a word; with the modules a longer default INTEGER does not compile",
            )
            .fix(
                "leave it out, write integer(8) or real(8) for what has to be long, and call the routines of that length \
                 (shmem_put8, shmem_int8_max_to_all)",
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(line: &str) -> bool {
        note(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).is_some()
    }

    #[test]
    fn an_option_that_changes_default_kinds_is_noted_where_it_compiles() {
        assert!(noted("-O2 -fdefault-integer-8 -c old.f") && noted("old.F90 -r8"));
        assert!(!noted("-O2 -c old.f") && !noted("-fdefault-integer-8 old.o -o old"));
    }
}
