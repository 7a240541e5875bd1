//! Compiles the parts of the library that only C can express.

fn main() {
    let sources = ["shim/handles.c", "shim/long_double.c"];
    for path in sources.iter().chain(&["include"]) {
        println!("cargo::rerun-if-changed={path}");
    }
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    println!("cargo::metadata=include={here}/include");
    cc::Build::new()
        .files(sources)
        .include("include")
        .std("c11")
        .pic(true)
        .flag("-ffunction-sections")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("oxshmem_shim");
}
