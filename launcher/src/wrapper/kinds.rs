//! Options of Fortran compilers that change the length of default kinds, the names of routines or the results of functions, which the
//! routines of OpenSHMEM do not follow.

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

/// The option of gfortran and flang by which external names are those of C.
const WITHOUT_UNDERSCORE: &str = "-fno-underscoring";

/// The option of gfortran by which a function of type REAL returns a DOUBLE PRECISION, as with f2c.
const RESULTS_OF_F2C: &str = "-ff2c";

/// The note about such an option where a source is compiled.
pub(super) fn note(arguments: &[OsString]) -> Option<Error> {
    let mut words = arguments.iter().filter_map(|argument| argument.to_str());
    let option = words.find(|text| OPTIONS.contains(text) || [WITHOUT_UNDERSCORE, RESULTS_OF_F2C].contains(text))?;
    arguments.iter().any(modules::is_fortran).then(|| match option {
        WITHOUT_UNDERSCORE => of_names(),
        RESULTS_OF_F2C => of_results(),
        _ => of_kinds(option),
    })
}

fn of_kinds(option: &str) -> Error {
    Error::new(format!("{option} changes the length of default kinds, and the routines of OpenSHMEM keep theirs"))
        .because(
            "for them INTEGER and REAL have 4 bytes and DOUBLE PRECISION has 8: with shmem.fh, and for reals with the module \
             shmem too, a part of the data is moved without a word; with the modules a longer default INTEGER does not compile",
        )
        .fix(
            "leave it out, write integer(8) or real(8) for what has to be long, and call the routines of that length \
             (shmem_put8, shmem_int8_max_to_all)",
        )
}

fn of_names() -> Error {
    Error::new(format!("{WITHOUT_UNDERSCORE} gives calls of Fortran the names of C, and C's routines take other arguments"))
        .because(
            "Fortran passes the address of each argument, and the routine of C takes it for the value: shmem_double_put gets addresses for \
             the count and the PE",
        )
        .fix("leave it out: the routines of Fortran have an underscore behind their names")
}

fn of_results() -> Error {
    Error::new(format!("{RESULTS_OF_F2C} takes results of REAL functions for DOUBLE PRECISION, and OpenSHMEM's return REAL"))
        .because(
            "the values of shmem_real4_fetch and shmem_real4_swap are wrong then, without a word, and with shmem_f08 those of shmem_g and \
             of atomics of real(4)",
        )
        .fix("leave it out; put calls of a library that was compiled with it into files of their own")
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

    #[test]
    fn an_option_that_gives_calls_the_names_of_c_is_noted_where_it_compiles() {
        let words = ["-fno-underscoring", "old.f"].map(OsString::from);
        let told = note(&words).expect("a note").to_string();
        assert!(told.starts_with("-fno-underscoring gives") && told.contains("leave it out"), "{told}");
        assert!(!noted("-fno-underscoring old.o -o old") && !noted("-funderscoring old.f"));
    }

    #[test]
    fn an_option_that_changes_results_is_noted_where_it_compiles() {
        let words = ["-ff2c", "old.f"].map(OsString::from);
        let said = note(&words).expect("a note").to_string();
        assert!(said.starts_with("-ff2c takes") && said.contains("leave it out"), "{said}");
        assert!(!noted("-ff2c old.o -o old") && !noted("-fno-f2c old.f"));
    }
}
