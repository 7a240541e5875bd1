//! Compiles the parts of the library that only C can express; with the feature `installed` it looks for an installed library first.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(installed)");
    #[cfg(feature = "installed")]
    if installed::link() {
        return;
    }
    compile();
}

/// The library of this crate.
fn compile() {
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

/// The library of an installation: that of `OXSHMEM_PREFIX`, or the one that pkg-config knows.
#[cfg(feature = "installed")]
mod installed {
    use std::env;
    use std::path::{Path, PathBuf};

    /// Lets dependents link an installed library, if there is one.
    pub(super) fn link() -> bool {
        println!("cargo::rerun-if-env-changed=OXSHMEM_PREFIX");
        let found = match env::var_os("OXSHMEM_PREFIX").filter(|prefix| !prefix.is_empty()) {
            Some(prefix) => Some(below(Path::new(&prefix))),
            None => by_pkg_config(),
        };
        let Some([include, lib]) = found else { return false };
        println!("cargo::rustc-cfg=installed");
        println!("cargo::rustc-link-search=native={}", lib.display());
        println!("cargo::rustc-link-lib=dylib=oxshmem");
        println!("cargo::metadata=include={}", include.display());
        println!("cargo::metadata=lib={}", lib.display());
        true
    }

    /// The folders of headers and libraries below a prefix. A prefix without them is a mistake.
    fn below(prefix: &Path) -> [PathBuf; 2] {
        let processor = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo says what it builds for");
        let folders = ["lib".into(), "lib64".into(), format!("lib/{processor}-linux-gnu")].map(|lib| prefix.join(lib));
        let lib = folders.into_iter().find(|lib| lib.join("liboxshmem.so").exists());
        let Some(lib) = lib else {
            println!(
                "cargo::error=OXSHMEM_PREFIX={}: there is no lib/liboxshmem.so below it; name the folder of \
                 `cargo xtask install --prefix`, or unset the variable",
                prefix.display()
            );
            std::process::exit(1);
        };
        [prefix.join("include"), lib]
    }

    /// The same folders of a version that this crate's headers fit, as CMake's file of the installation has it.
    fn by_pkg_config() -> Option<[PathBuf; 2]> {
        let number = |part| env::var(format!("CARGO_PKG_VERSION_{part}")).ok()?.parse::<u32>().ok();
        let (major, minor) = (number("MAJOR")?, number("MINOR")?);
        let beyond = if major == 0 { format!("0.{}", minor + 1) } else { format!("{}.0", major + 1) };
        let this = format!("{major}.{minor}");
        let mut versions = pkg_config::Config::new();
        versions.cargo_metadata(false).range_version(this.as_str()..beyond.as_str()).probe("oxshmem").ok()?;
        let known = |variable| pkg_config::get_variable("oxshmem", variable).ok();
        // pkgconf puts a backslash before each blank, for a shell.
        let folder = |variable| known(variable).map(|path| PathBuf::from(path.replace("\\ ", " ")));
        Some([folder("includedir")?, folder("libdir")?])
    }
}
