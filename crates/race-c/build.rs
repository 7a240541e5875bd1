//! Compiles the calls that programs make: of OpenSHMEM, written from the routine table, of the compiler's thread
//! instrumentation, of threads and OpenMP. A program in Rust makes none of them (feature `c`).

fn main() {
    println!("cargo::rerun-if-changed=shim");
    #[cfg(feature = "c")]
    compile();
}

#[cfg(feature = "c")]
fn compile() {
    println!("cargo::rerun-if-changed=../shmem-c/include");
    let folder = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let calls = folder.join("calls.c");
    std::fs::write(&calls, oxshmem_api::generate::race_calls()).expect("the folder is the build's own");
    cc::Build::new()
        .file(calls)
        .file("shim/library.c")
        .file("shim/ends.c")
        .file("shim/instrumentation.c")
        .file("shim/threads.c")
        .file("shim/openmp.c")
        .file("shim/ompt.c")
        .include("shim")
        .include("../shmem-c/include")
        .std("gnu11")
        .pic(true)
        .opt_level(2)
        // The crate cc asks for it if there is debug information; each access of the program would save a register for
        // it.
        .force_frame_pointer(false)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .flag("-Wno-unused-parameter")
        .flag("-Wno-type-limits")
        .compile("oxshmem_race_shim");
}
