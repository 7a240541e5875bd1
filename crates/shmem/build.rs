//! With the feature `c`: tells build scripts of programs where the headers are, and compiles the C halves of the examples
//! that mix both languages.

fn main() {
    // The features of a crate are those that all of its dependents ask for.
    if std::env::var_os("DEP_OXSHMEM_C_LIB").is_some() {
        println!(
            "cargo::error=the crate `oxshmem` has a runtime, and so has the installed library which the feature `installed` of \
             `oxshmem-c` has found; a process can have one: use that feature or the crate `oxshmem`, not both"
        );
        return;
    }
    const SOURCES: [&str; 2] = ["examples/with_c/average.c", "examples/standard/standard.c"];
    SOURCES.iter().for_each(|source| println!("cargo::rerun-if-changed={source}"));
    if std::env::var_os("CARGO_FEATURE_C").is_some() {
        let headers = std::env::var("DEP_OXSHMEM_C_INCLUDE").expect("the build script of oxshmem-c says it");
        println!("cargo::metadata=include={headers}");
        cc::Build::new()
            .files(SOURCES)
            .include(headers)
            .std("c11")
            .warnings_into_errors(true)
            .compile("oxshmem_example");
    }
}
