//! With the feature `c`: compiles the C half of the example that mixes both languages.

fn main() {
    println!("cargo::rerun-if-changed=examples/with_c/average.c");
    if std::env::var_os("CARGO_FEATURE_C").is_some() {
        cc::Build::new()
            .file("examples/with_c/average.c")
            .include("../shmem-c/include")
            .std("c11")
            .warnings_into_errors(true)
            .compile("oxshmem_example");
    }
}
