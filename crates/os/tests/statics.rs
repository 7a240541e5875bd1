//! Static data of C programs linked in every way the tool chain knows, and of a Rust program: this one.

use oxshmem_os::{AddressRange, statics};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

oxshmem_os::share_statics!();

/// Where Cargo puts the examples, beside this test.
fn examples() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    test.ancestors().nth(2).expect("a build directory").join("examples")
}

/// The library as an archive with the functions of the example `statics_probe`. Whatever selection of tests runs, it is
/// that of the present sources.
fn archive() -> &'static Path {
    static ARCHIVE: LazyLock<PathBuf> = LazyLock::new(|| {
        let profile = examples().parent().expect("a profile's directory").to_owned();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "--example", "statics_probe", "--target-dir"]);
        cargo.arg(profile.parent().expect("the target directory")).current_dir(env!("CARGO_MANIFEST_DIR"));
        run(cargo.args(profile.ends_with("release").then_some("--release")));
        profile.join("examples/libstatics_probe.a")
    });
    &ARCHIVE
}

/// The library as a shared object, which goes away with the program of this name.
fn shared_library(name: &str) -> PathBuf {
    let library = examples().join(format!("lib{name}-{}.so", std::process::id()));
    let mut linker = Command::new("cc");
    linker.args(["-shared", "-Wl,-z,nodelete", "-Wl,--gc-sections", "-o"]).arg(&library);
    linker.arg("-Wl,--whole-archive").arg(archive());
    run(linker.arg("-Wl,--no-whole-archive"));
    library
}

/// A C program that goes away with the test.
struct Program(PathBuf);

impl Program {
    /// Links the program with the library as an archive.
    fn archive(name: &str, compiler: &str, options: &[&str]) -> Self {
        Self::link(name, compiler, options, archive())
    }

    /// Links the program with the library as a shared object.
    fn shared_object(name: &str, options: &[&str]) -> Self {
        Self::link(name, "cc", options, &shared_library(name))
    }

    fn link(name: &str, compiler: &str, options: &[&str], library: &Path) -> Self {
        Self::try_link(name, compiler, options, library).unwrap_or_else(|output| panic!("{name}: {output:?}"))
    }

    fn try_link(name: &str, compiler: &str, options: &[&str], library: &Path) -> Result<Self, Output> {
        let program = examples().join(format!("{name}-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statics.c");
        let mut command = Command::new(compiler);
        command.args(["-O1", "-pthread"]).args(options).arg("-o").arg(&program).arg(source).arg(library);
        let output = command.output().expect("it starts");
        if output.status.success() { Ok(Program(program)) } else { Err(output) }
    }

    fn run(&self, variable: Option<&str>) -> String {
        let mut command = Command::new(&self.0);
        command.env_remove("SHMEM_STATICS").envs(variable.and_then(|pair| pair.split_once('=')));
        let text = String::from_utf8_lossy(&run(&mut command).stdout).into_owned();
        println!("{}: {text}", self.0.display());
        text
    }

    fn shares_its_variables(&self) {
        let text = self.run(None);
        assert!(text.ends_with("ok\n"), "{text}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let name = self.0.file_name().expect("a program").to_string_lossy();
        let _ = std::fs::remove_file(self.0.with_file_name(format!("lib{name}.so")));
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

#[test]
fn position_independent() {
    Program::archive("pie", "cc", &["-fPIE", "-pie"]).shares_its_variables();
}

#[test]
fn fixed_addresses() {
    Program::archive("no-pie", "cc", &["-fno-pie", "-no-pie"]).shares_its_variables();
}

/// The words for a fully static program that `oshcc` passes.
const WRAPPED: &str = "-Wl,--wrap=_Fork,-u,_Fork";

#[test]
fn fully_static() {
    Program::archive("static", "cc", &["-static", WRAPPED]).shares_its_variables();
}

#[test]
fn static_and_position_independent() {
    Program::archive("static-pie", "cc", &["-fPIE", "-static-pie", WRAPPED]).shares_its_variables();
}

#[test]
fn a_fork_that_would_damage_a_fully_static_program_is_refused() {
    let program = Program::archive("static-unwrapped", "cc", &["-static"]);
    let ended = Command::new(&program.0).env_remove("SHMEM_STATICS").output().expect("it starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("fork: this process has several threads"), "{ended:?}");
    assert!(said.contains(WRAPPED), "{said}");
}

/// Large initialised variables lie in a segment of their own, with a gap before it.
#[test]
fn with_large_variables_apart() {
    let medium = ["-mcmodel=medium", "-mlarge-data-threshold=4096", "-DLARGE"];
    for options in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie"], &["-static", WRAPPED]] {
        let program = Program::archive("medium", "cc", &[&medium[..], options].concat());
        program.shares_its_variables();
    }
    let program = Program::archive("medium-constants", "cc", &[&medium[..], &["-DCONSTANTS"]].concat());
    assert!(program.run(None).contains("not shared: the executable has several separate writable segments"));
}

/// It knows gaps between variables, which are copied with them.
#[test]
fn under_address_sanitizer() {
    if Program::try_link("asan-probe", "cc", &["-fsanitize=address"], archive()).is_err() {
        return println!("SKIPPED: the compiler has no AddressSanitizer");
    }
    let text = Program::archive("asan", "cc", &["-fsanitize=address"]).run(Some("ASAN_OPTIONS=detect_leaks=0"));
    assert!(text.ends_with("ok\n"), "{text}");
}

#[test]
fn with_full_partial_and_no_relro() {
    Program::archive("now", "cc", &["-Wl,-z,relro", "-Wl,-z,now"]).shares_its_variables();
    Program::archive("lazy", "cc", &["-Wl,-z,relro", "-Wl,-z,lazy"]).shares_its_variables();
    Program::archive("norelro", "cc", &["-Wl,-z,norelro"]).shares_its_variables();
}

#[test]
fn in_a_shared_object() {
    Program::shared_object("object-pie", &["-fPIE", "-pie"]).shares_its_variables();
    Program::shared_object("object-no-pie", &["-fno-pie", "-no-pie"]).shares_its_variables();
}

/// As where a program that contains the library opens a module that needs it.
#[test]
fn beside_a_second_copy_of_the_library() {
    let program = Program::archive("second", "cc", &["-DSECOND"]);
    let second = shared_library("second");
    let text = program.run(Some(&format!("SECOND={}", second.display())));
    assert!(text.ends_with("ok\n"), "{text}");
    // Without /proc the second copy does not find the file of the first one, and leaves what is mapped alone.
    let without_proc = |program: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\""]);
        command.arg(program).env_remove("SHMEM_STATICS").env("SECOND", &second);
        command
    };
    if !without_proc(Path::new("true")).output().is_ok_and(|output| output.status.success()) {
        return println!("SKIPPED: /proc cannot be hidden from a program here");
    }
    let text = String::from_utf8_lossy(&run(&mut without_proc(&program.0)).stdout).into_owned();
    assert!(text.ends_with("ok\n"), "{text}");
}

#[test]
fn by_the_other_compiler() {
    if Command::new("clang").arg("--version").output().is_err() {
        return println!("SKIPPED: there is no clang");
    }
    Program::archive("clang", "clang", &["-fPIE", "-pie"]).shares_its_variables();
}

#[test]
fn by_the_other_linkers() {
    for linker in ["gold", "lld"] {
        if Command::new(format!("ld.{linker}")).arg("--version").output().is_err() {
            println!("SKIPPED: there is no {linker}");
            continue;
        }
        Program::archive(linker, "cc", &[&format!("-fuse-ld={linker}")]).shares_its_variables();
    }
}

#[test]
fn what_cannot_be_shared_says_why_and_works() {
    let program = Program::archive("refused", "cc", &["-DEARLY"]);
    program.shares_its_variables();
    assert!(program.run(Some("EARLY_THREAD=1")).contains("not shared: the program had more than one thread"));
    for off in ["SHMEM_STATICS=0", "SHMEM_STATICS=off"] {
        assert!(program.run(Some(off)).contains("not shared: SHMEM_STATICS"));
    }
    assert!(program.run(Some("SHMEM_STATICS=1")).ends_with("ok\n"));
}

#[test]
fn in_a_program_that_closes_its_descriptors() {
    Program::archive("closed", "cc", &["-DCLOSED"]).shares_its_variables();
}

#[test]
fn the_build_id_is_the_linkers() {
    let id = "0123456789abcdef";
    let program = Program::archive("build-id", "cc", &[&format!("-Wl,--build-id=0x{id}")]);
    assert!(program.run(None).contains(&format!("build id: {id}\n")));
    assert!(Program::archive("no-build-id", "cc", &["-Wl,--build-id=none"]).run(None).contains("build id: \n"));
}

#[test]
fn of_a_rust_program() {
    static VARIABLE: AtomicU64 = AtomicU64::new(11);
    let region = statics::region().expect("a test has one thread before main");
    let mut view = AddressRange::reserve(region.len, 1).expect("addresses");
    view.map(0, &region.memory, 0, region.len).expect("a second mapping");
    let seen = view.base().wrapping_add(VARIABLE.as_ptr().addr() - region.start);
    // SAFETY: the view has the size of the region and stays mapped; the variable is only used as this atomic.
    let seen = unsafe { AtomicU64::from_ptr(seen.cast()) };
    assert_eq!(seen.load(SeqCst), 11);
    seen.store(12, SeqCst);
    assert_eq!(VARIABLE.load(SeqCst), 12);
}
