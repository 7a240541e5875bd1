//! The expanded table: its own rules, and its comparison with the lists of the folder that `OXSHMEM_SPEC` names.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use oxshmem_api::expand::{Symbol, symbols};
use oxshmem_api::fortran;
use oxshmem_api::generate::{files, fortran_2008, fortran_2008_names, generics_test};
use oxshmem_api::table::{Status, families};

#[test]
fn the_standard_has_so_many_routines() {
    let count = |status| symbols().iter().filter(|symbol| symbol.status == status).count();
    assert_eq!(count(Status::Current), 1685);
    assert_eq!(count(Status::Deprecated), 103);
    assert_eq!(count(Status::Removed), 6);
}

#[test]
fn names_are_unique() {
    let mut seen = BTreeSet::new();
    for symbol in symbols() {
        assert!(seen.insert(symbol.name.clone()), "{} comes from two rows", symbol.name);
    }
}

#[test]
fn every_mandatory_family_has_a_behaviour() {
    for symbol in symbols().iter().filter(|symbol| symbol.mandatory()) {
        assert!(!symbol.family.clauses.is_empty(), "{} names no behaviour item", symbol.name);
    }
}

#[test]
fn explicit_arguments_are_parameters_or_constants() {
    for family in families() {
        let Some((_, list)) = family.call.split_once('(') else {
            continue;
        };
        for argument in list.trim_end_matches(')').split(", ") {
            let is_parameter = family.prototype.contains(&format!("{argument},"))
                || family.prototype.contains(&format!("{argument})"));
            assert!(is_parameter || argument == "SIGNAL_SET", "{} passes {argument}", family.prototype);
        }
    }
}

#[test]
fn macros_reach_routines_of_the_table() {
    let names: BTreeSet<String> = symbols().into_iter().map(|symbol| symbol.name).collect();
    let calls = generics_test().calls;
    assert!(!calls.is_empty());
    assert!(calls.is_subset(&names), "{:?}", calls.difference(&names).collect::<Vec<_>>());
}

/// Name, edition, standing and category of every routine of the standard.
#[test]
fn table_agrees_with_the_given_symbols() {
    let Some(rows) = given("symbols-1.6.txt") else {
        return;
    };
    let ours: BTreeSet<Vec<String>> = symbols().iter().filter(|symbol| symbol.since != "-").map(row).collect();
    let theirs: BTreeSet<Vec<String>> = rows.into_iter().map(|row| row[..4].to_vec()).collect();
    assert_same(&ours, &theirs);
}

#[test]
fn table_agrees_with_the_given_prototypes() {
    let Some(rows) = given("prototypes-1.6.txt") else {
        return;
    };
    let theirs: BTreeSet<String> = rows.into_iter().map(|row| row[1].clone()).collect();
    let ours: BTreeSet<String> =
        symbols().iter().filter(|symbol| symbol.since != "-").map(|symbol| symbol.prototype.to_c()).collect();
    assert_same(&ours, &theirs);
}

#[test]
fn twins_agree_with_the_given_profiling_names() {
    let Some(rows) = given("symbols-pshmem-1.6.txt") else {
        return;
    };
    let theirs: BTreeMap<String, String> = rows.into_iter().map(|row| (row[1].clone(), row[0].clone())).collect();
    let standard = symbols().into_iter().filter(Symbol::mandatory);
    let ours =
        standard.map(|symbol| (symbol.name.clone(), symbol.twin().expect("the standard's have twins"))).collect();
    assert_eq!(theirs, ours);
}

/// Rows for programs of other libraries carry the names that those programs call.
#[test]
fn extras_are_among_the_given_ones() {
    let Some(rows) = given("symbols-compat.txt") else {
        return;
    };
    let theirs: BTreeSet<String> = rows.into_iter().map(|row| row[0].clone()).collect();
    for symbol in symbols().iter().filter(|symbol| symbol.status == Status::Compat) {
        assert!(theirs.contains(&symbol.name), "{} is nobody's", symbol.name);
    }
}

/// Fortran's linker symbols, with all their spellings, are not those of C routines.
#[test]
fn fortran_symbols_are_unique() {
    let mut seen: BTreeSet<String> = symbols().into_iter().map(|symbol| symbol.name).collect();
    for entry in fortran::entries() {
        for name in entry.aliases().into_iter().chain([entry.symbol.clone()]) {
            assert!(seen.insert(name.clone()), "{name} of {} is taken", entry.symbol);
        }
    }
}

/// Each linker symbol of gfortran's has the spellings of other compilers and options.
#[test]
fn fortran_symbols_have_all_spellings() {
    for entry in fortran::entries() {
        let aliases = entry.aliases();
        let of_gfortran = aliases.iter().filter(|name| name.ends_with('_') && !name.ends_with("__"));
        for symbol in of_gfortran.chain([&entry.symbol]) {
            let name = symbol.trim_end_matches('_');
            assert!(aliases.contains(&name.to_ascii_uppercase()), "{symbol} in upper case");
            assert!(
                !name.contains('_') || aliases.contains(&format!("{symbol}_")),
                "{symbol} with a second underscore"
            );
        }
    }
}

/// Include files serve both source forms; free form has lines of 132 characters.
#[test]
fn fortran_sources_keep_to_their_columns() {
    let sources: Vec<_> = files().into_iter().filter(|file| file.path.contains(".f")).collect();
    assert_eq!(sources.len(), 10);
    for file in sources {
        let width = if file.path.ends_with(".fh") { 72 } else { 132 };
        for line in file.text.lines() {
            assert!(line.len() <= width, "{}: {line}", file.path);
            let begins = line.starts_with('!') || line.starts_with("      ");
            assert!(begins || file.path.ends_with(".f90"), "{}: {line}", file.path);
        }
    }
}

/// Symbol, use, declaration and standing of every Fortran entry point.
#[test]
fn fortran_agrees_with_the_given_entry_points() {
    let Some(rows) = given("symbols-fortran.txt") else {
        return;
    };
    // The given list knows nothing of what only Cray's library has.
    let listed = fortran::entries().into_iter().filter(|entry| entry.status != fortran::FortranStatus::Cray);
    let ours = listed.map(|entry| {
        let status = match entry.status {
            fortran::FortranStatus::Standard => "1.4",
            fortran::FortranStatus::Compat | fortran::FortranStatus::Cray => "ext",
            fortran::FortranStatus::Extension => "vendor",
        };
        let declaration = entry.prototype.to_c();
        [&entry.symbol, &entry.usage(), declaration.trim_end_matches(';'), status].map(String::from).to_vec()
    });
    let theirs = rows.into_iter().map(|row| vec![row[0].clone(), row[2].clone(), row[3].clone(), row[4].clone()]);
    assert_same(&ours.collect(), &theirs.collect());
}

fn row(symbol: &Symbol) -> Vec<String> {
    let status = match symbol.status {
        Status::Deprecated => "deprecated",
        Status::Removed => "removed",
        _ => "-",
    };
    [&symbol.name, symbol.since, status, symbol.family.category.name()].map(String::from).to_vec()
}

/// The rows of a given list, or `None`, said aloud, where there is none.
fn given(file: &str) -> Option<Vec<Vec<String>>> {
    let Some(folder) = std::env::var_os("OXSHMEM_SPEC").map(PathBuf::from) else {
        println!("not compared with {file}: OXSHMEM_SPEC names no folder");
        return None;
    };
    let text = fs::read_to_string(folder.join(file)).expect("OXSHMEM_SPEC names the folder with the lists");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Some(lines.map(|line| line.split('\t').map(String::from).collect()).collect())
}

fn assert_same<T: Ord + std::fmt::Debug>(ours: &BTreeSet<T>, theirs: &BTreeSet<T>) {
    let surplus: Vec<&T> = ours.difference(theirs).take(10).collect();
    let missing: Vec<&T> = theirs.difference(ours).take(10).collect();
    assert!(surplus.is_empty() && missing.is_empty(), "surplus {surplus:#?}, missing {missing:#?}");
}

#[test]
fn the_conformance_programs_call_every_generic_of_the_fortran_module() {
    let programs = [
        include_str!("../../shmem-c/tests/fortran/fortran_2008_transfers.f90"),
        include_str!("../../shmem-c/tests/fortran/fortran_2008_atomics.f90"),
        include_str!("../../shmem-c/tests/fortran/fortran_2008_teams.f90"),
        // The start and the end of every program.
        include_str!("../../shmem-c/tests/fortran/check.inc"),
    ];
    let words = programs.iter().flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && !"_(".contains(c)));
    // A name is called with its arguments, by itself or as a procedure of a type, which has the name's end.
    let called: BTreeSet<&str> =
        words.filter_map(|word| Some(word.rsplit_once('(')?.0)).flat_map(|w| w.split('(')).collect();
    let names = fortran_2008_names();
    assert!(names.len() > 100, "the module has its names: {names:?}");
    let is_called = |name: &&String| {
        let own =
            ["shmemx_", "shmem_ctx_", "shmem_team_", "shmem_req_", "shmem_"].iter().find_map(|p| name.strip_prefix(p));
        called.contains(name.as_str()) || own.is_some_and(|own| called.contains(own))
    };
    // Another program starts with a thread level, and one that ends in the middle has a file of its own.
    let elsewhere = ["shmem_init_thread", "shmem_global_exit"];
    let missing: Vec<_> = names.iter().filter(|name| !is_called(name) && !elsewhere.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "no program calls {missing:?}");
}

#[test]
fn lines_of_the_fortran_module_are_short_enough_for_every_compiler() {
    let module = fortran_2008();
    let long: Vec<_> = module.lines().filter(|line| line.len() > 132).collect();
    assert!(long.is_empty(), "{long:?}");
}

/// A compiler may load a local variable before the quiet that brings its value, unless the argument says what happens.
#[test]
fn results_that_come_behind_the_return_are_declared_so_in_the_fortran_module() {
    let module = fortran_2008();
    let fetched: Vec<_> = module.lines().filter(|line| line.ends_with(" :: fetch")).collect();
    assert!(fetched.len() > 20, "{fetched:?}");
    let silent: Vec<_> = fetched.iter().filter(|line| !line.contains(", asynchronous, target ::")).collect();
    assert!(silent.is_empty(), "{silent:?}");
}
