//! Compiles the wrappers of all routines, which come from the routine table.

use std::path::PathBuf;

use oxshmem_api::generate::profile_wrappers;

fn main() {
    println!("cargo::rerun-if-changed=src/wrappers.h");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names a folder"));
    let file = folder.join("wrappers.c");
    let text = format!("#include \"wrappers.h\"\n\n{}", profile_wrappers().source);
    std::fs::write(&file, text).expect("the folder can be written");
    cc::Build::new()
        .file(&file)
        .include("src")
        .std("gnu11")
        .pic(true)
        // Thousands of functions: half a minute with optimisation, which a debug build has no use for.
        .opt_level(if std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0") { 0 } else { 2 })
        .flag("-ffunction-sections")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("oxshmem_wrappers");
}
