//! Compiles the part in C with the headers of the library that is linked.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=src/part.c");
    let headers = env::var("DEP_OXSHMEM_C_INCLUDE").expect("the build script of oxshmem-c says it");
    cc::Build::new().file("src/part.c").include(headers).std("c11").warnings_into_errors(true).compile("part");
    // An installed library is found again when the program starts.
    if let Ok(folder) = env::var("DEP_OXSHMEM_C_LIB") {
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
}
