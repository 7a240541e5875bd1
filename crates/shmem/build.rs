//! With the feature `c`: compiles the C halves of the examples that mix both languages.

fn main() {
    const SOURCES: [&str; 2] = ["examples/with_c/average.c", "examples/standard/standard.c"];
    SOURCES.iter().for_each(|source| println!("cargo::rerun-if-changed={source}"));
    if std::env::var_os("CARGO_FEATURE_C").is_some() {
        cc::Build::new()
            .files(SOURCES)
            .include("../shmem-c/include")
            .std("c11")
            .warnings_into_errors(true)
            .compile("oxshmem_example");
    }
}
