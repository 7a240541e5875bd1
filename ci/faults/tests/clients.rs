//! Programs in Fortran, C, C++ and Python as people write them for other libraries.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::Path;
use std::process::{Command, Output};

use oxshmem_faults::{Job, TestFolder, has_program, is_long, not_run, prefix, program, program_with, source, tool};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Runs a program that checks itself on two PEs.
fn passes(executable: &Path) {
    Job::new("-n 2").run(executable, [""; 0]).expect(0);
}

/// The same with one that says so.
fn is_ok(options: &str, executable: &Path) {
    let ended = Job::new(options).run(executable, [""; 0]).expect(0);
    assert_eq!(ended.stdout, "ok\n", "{ended}");
}

/// Fortran programs declare functions themselves, or use their names otherwise; the include files leave room for that.
#[test]
fn fault_C1_fortran_programs_declare_functions_themselves() {
    let fixed = ["fortran_fixed.f", "fortran_old_names.f"];
    let free = ["fortran_external.f90", "fortran_variable.f90", "fortran_module.f90"];
    let legacy = ["-Wall", "-std=legacy"];
    for name in fixed.iter().chain(&free) {
        for options in [&[][..], &legacy, &["-Wall", "-Wextra", "-std=gnu"]] {
            // The checks of a program are the same after every compilation, so that one run is enough.
            let executable = program_with(name, options);
            if options == legacy {
                println!("{name}");
                is_ok("-n 2", &executable);
            }
        }
    }
}

/// `shmem4py` builds as it is published, and its tests pass.
#[test]
fn fault_C2_shmem4py_builds_and_passes_its_tests() {
    if !is_long() {
        return not_run("it takes a minute (CHECK_LONG=1 runs it; the step `python` runs its tests by our module)");
    }
    if !has_program("python3") {
        return;
    }
    let folder = TestFolder::new("shmem4py");
    let python = folder.join("environment/bin/python");
    let run = |program: &Path, arguments: &[&str]| -> Output {
        let mut path = prefix().join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        // The compiler's time is most of this test; what it optimizes does not matter.
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&*folder).env("PATH", path).env("CFLAGS", "-O0 -g0");
        command.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
    };
    let pip = |arguments: &[&str]| {
        run(&python, &[&["-m", "pip", "--quiet", "--disable-pip-version-check"], arguments].concat())
    };
    let text = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    // A machine may lack Python's venv module or a way to its packages.
    let steps = [
        run(Path::new("python3"), &["-m", "venv", "environment"]),
        pip(&["install", "setuptools", "wheel", "cffi", "numpy<2"]),
        pip(&["download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "shmem4py==1.0.0"]),
        run(Path::new("tar"), &["xf", "shmem4py-1.0.0.tar.gz"]),
    ];
    if let Some(failed) = steps.iter().find(|output| !output.status.success()) {
        return not_run(format_args!("shmem4py 1.0.0 cannot be fetched: {}", text(failed)));
    }
    let installed = pip(&["install", "--no-deps", "--no-build-isolation", "./shmem4py-1.0.0.tar.gz"]);
    assert!(installed.status.success(), "{}", text(&installed));

    let shapes = ["-n 4", "-n 2 --nodes 2", "-n 1", "-n 2"];
    for options in shapes {
        let mut job = Job::new(options);
        job.command().current_dir(&*folder);
        job.run(&python, ["-m", "unittest", "discover", "-q", "-s", "shmem4py-1.0.0/test"]).expect(0);
    }
}

/// C and C++ examples ask for the edition of the standard by one number.
#[test]
fn fault_C3_the_edition_is_one_number() {
    passes(&program("clients_header.c"));
    passes(&program("clients_header.cc"));
}

/// C++ programs include headers of C inside of `extern "C"`, where overloads and templates must say that they are C++.
#[test]
fn headers_may_stand_inside_of_extern_c() {
    passes(&program_with("clients_within_c.cc", &WARNINGS));
}

/// Tools that make bindings see declarations only. The handles are objects for them and constants for C.
#[test]
fn fault_C4_handles_are_objects_and_constants() {
    passes(&program("clients_handles.c"));
    passes(&program_with("clients_handles.c", &["-no-pie", "-fno-pie"]));
}

/// Cray's nonblocking transfers have one argument more, which the generic forms take as the typed ones do.
#[test]
fn fault_C5_generic_put_nb_takes_the_unused_handle() {
    passes(&program_with("clients_put_nb.c", &[&WARNINGS[..], &["-std=c11"]].concat()));
    passes(&program_with("clients_put_nb.cc", &[&WARNINGS[..], &["-std=c++11"]].concat()));
}

/// Cray's Fortran names of nonblocking transfers, with the unused handle and without it.
#[test]
fn fault_C6_fortran_has_the_nb_forms() {
    // Legacy mode allows calls of one routine with different arguments.
    let executable = program_with("fortran_nonblocking.f", &["-std=legacy"]);
    ["-n 2", "-n 2 --nodes 2"].iter().for_each(|options| is_ok(options, &executable));
}

/// Local variables are targets of nonblocking routines, at every level of optimisation.
#[test]
fn a_compiler_of_fortran_loads_no_local_variable_before_the_quiet() {
    for level in ["-O0", "-O2", "-O3"] {
        let executable = program_with("fortran_local_targets.f90", &["-Wall", level]);
        println!("{level}");
        ["-n 2", "-n 3 --nodes 3"].iter().for_each(|options| is_ok(options, &executable));
    }
}

/// Arrays with more elements than a default INTEGER counts keep their bytes, and are freed.
#[test]
fn fortran_arrays_of_more_than_2_gi_elements_are_reallocated_and_freed() {
    let executable = program("huge_array.f90");
    let ended = Job::new("-n 1").env("SHMEM_SYMMETRIC_SIZE", "9G").run(&executable, [""; 0]).expect(0);
    assert_eq!(ended.stdout, "ok\n", "{ended}");
}

/// Routines of bytes take the size of anything.
#[test]
fn fortran_counts_of_bytes_may_be_longer_than_a_default_integer() {
    let executable = program("long_counts.f90");
    ["-n 2", "-n 4 --nodes 2"].iter().for_each(|options| is_ok(options, &executable));
    let ended = Job::new("-n 2").run(&executable, ["beyond"]).expect(1);
    ended.says(&["shmem_putmem: dest (4294967304 bytes at", "is not symmetric memory as a whole"]);
}

/// Cray's Fortran names without a type are generic interfaces of the module `shmemx`.
#[test]
fn fault_C6_fortran_has_generics_by_type() {
    // Strict compilers take the modules, too: a routine for logicals has no binding label.
    for strict in ["-Wextra", "-std=f2008", "-std=f2018"] {
        let executable = program_with("fortran_generics.f90", &["-Wall", strict]);
        ["-n 2", "-n 3 --nodes 3"].iter().for_each(|options| is_ok(options, &executable));
    }
}

/// Generic forms of Cray's and Sandia's extensions, with and without a context, and Sandia's hints.
#[test]
fn fault_C7_extensions_have_generic_forms_and_hints() {
    passes(&program_with("clients_extensions.c", &[&WARNINGS[..], &["-std=c11"]].concat()));
    passes(&program_with("clients_extensions.cc", &[&WARNINGS[..], &["-std=c++11"]].concat()));
}

/// Counting events, reductions on teams, and what else programs for Cray OpenSHMEMX and Sandia OpenSHMEM call.
#[test]
fn fault_C7_vendors_routines_are_there() {
    let c = program_with("clients_vendors.c", &[&WARNINGS[..], &["-std=c11"]].concat());
    let cxx = program_with("clients_vendors.cc", &[&WARNINGS[..], &["-std=c++11"]].concat());
    for executable in [&c, &cxx] {
        Job::new("-n 2").run(executable, [""; 0]).expect(0);
        Job::new("-n 3 --nodes 3").run(executable, [""; 0]).expect(0);
    }
}

/// The headers are silent in every edition of C from C99 and of C++ from C++98. C++98 has no `long long`, so that the
/// pedantic mode refuses every OpenSHMEM header.
#[test]
fn fault_C8_headers_compile_in_every_edition() {
    let c = ["c99", "gnu99", "c11", "c17", "c2x"];
    let cxx = ["c++98", "c++03", "c++11", "c++14", "c++17", "c++20", "c++2b"];
    let languages = [
        ("oshcc", "OSHCC", "gcc", "clients_header.c", &c[..]),
        ("oshcc", "OSHCC", "clang", "clients_header.c", &c),
        ("oshc++", "OSHCXX", "g++", "clients_header.cc", &cxx),
        ("oshc++", "OSHCXX", "clang++", "clients_header.cc", &cxx),
    ];
    for (wrapper, variable, compiler, name, editions) in languages {
        if !has_program(compiler) {
            continue;
        }
        for edition in editions {
            let mut command = tool(wrapper);
            command.env(variable, compiler).args(WARNINGS).arg(format!("-std={edition}"));
            if ["c++98", "c++03"].contains(edition) {
                command.arg("-Wno-long-long");
            }
            let output = command.arg("-fsyntax-only").arg(source(name)).output().expect("the wrapper starts");
            assert!(output.status.success(), "{compiler} -std={edition}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
