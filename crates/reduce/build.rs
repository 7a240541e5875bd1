//! Compiles the arithmetic that Rust has no type for: C `long double` and IEEE binary128.

fn main() {
    println!("cargo:rerun-if-changed=src/extended.c");
    cc::Build::new()
        .file("src/extended.c")
        .std("c11")
        .opt_level(2)
        // A sum rounds once per addition, wherever it is compiled.
        .flag("-ffp-contract=off")
        .warnings_into_errors(true)
        .compile("oxshmem_extended");
}
