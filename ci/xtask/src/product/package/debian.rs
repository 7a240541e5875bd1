//! Packages of Debian: the library, the tools, and what compiles programs.
//!
//! Open MPI's packages have tools of the same names, so ours lie in a prefix of their own and `update-alternatives` gives
//! them their short names where these are free.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::parts::{PackagePart, part};
use super::{Product, c_library, plain_modes};
use crate::disk::{self, link_to, write};
use crate::product::recipe::VERSION;
use crate::product::stage::WRAPPERS;
use crate::product::{installation, notices};
use crate::{Outcome, command, top};

const PREFIX: &str = "usr/lib/oxshmem";
const MAINTAINER: &str = "The oxshmem developers <oxshmem@localhost.localdomain>";

struct DebianPackage {
    name: &'static str,
    part: PackagePart,
    section: &'static str,
    depends: String,
    summary: &'static str,
    text: &'static str,
    /// The program that leads the others of its package to their short names, by `update-alternatives`.
    alternatives: Option<(&'static str, &'static [&'static str])>,
}

/// The packages, which need glibc of this version or a later one.
fn packages((major, minor): (u32, u32)) -> [DebianPackage; 3] {
    let libc = format!("libc6 (>= {major}.{minor}), libgcc-s1 (>= 4.2)");
    [
        DebianPackage {
            name: "liboxshmem1",
            part: PackagePart::Library,
            section: "libs",
            depends: libc.clone(),
            summary: "OpenSHMEM 1.6 over shared memory, TCP, libfabric and UCX",
            text: "Processes of a parallel program read and write each other's memory\n without the help of the other side. \
                   This is the library that programs\n need at run time.",
            alternatives: None,
        },
        DebianPackage {
            name: "oxshmem",
            part: PackagePart::Tools,
            section: "net",
            depends: format!("liboxshmem1 (= {VERSION}), {libc}"),
            summary: "OpenSHMEM 1.6: launcher and tools",
            text: "oshrun starts parallel programs on one machine or on several. The other\n tools measure operations, look \
                   for faults of a cluster, and explain\n which algorithm a collective takes.",
            alternatives: Some(("oshrun", &["osh_info", "oshmem_info"])),
        },
        DebianPackage {
            name: "liboxshmem-dev",
            part: PackagePart::Development,
            section: "libdevel",
            depends: format!(
                "liboxshmem1 (= {VERSION}), oxshmem (= {VERSION}), gcc | c-compiler, libc6-dev | libc-dev, {libc}"
            ),
            summary: "OpenSHMEM 1.6: headers, compiler wrappers, manual",
            text: "oshcc, oshc++ and oshfort compile parallel programs in C, C++ and\n Fortran. The package has the headers, \
                   the archive, the modules of\n Fortran, the pages of the manual and examples.",
            alternatives: Some(("oshcc", WRAPPERS)),
        },
    ]
}

pub(super) fn make(product: &Product) -> Outcome<Vec<PathBuf>> {
    let processor = match product.toolchain.processor() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    packages(c_library::oldest(product)?).iter().map(|package| one(product, package, processor)).collect()
}

fn one(product: &Product, package: &DebianPackage, processor: &str) -> Outcome<PathBuf> {
    let root = product.scratch.join("debian").join(package.name);
    files(product, package, &root)?;
    documents(product, package, &root)?;
    control(package, processor, &root)?;
    plain_modes(&root)?;
    let file = product.output.join(format!("{}_{VERSION}_{processor}.deb", package.name));
    // Times of folders come from their making; dpkg-deb cuts what is younger than this off.
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&file).env("SOURCE_DATE_EPOCH", &product.time);
    command::read(&mut build)?;
    Ok(file)
}

/// The files of the part. The library lies where the loader looks, and its prefix has links to it.
fn files(product: &Product, package: &DebianPackage, root: &Path) -> Outcome {
    let system = format!("usr/lib/{}-linux-gnu", product.toolchain.processor());
    for file in disk::files(&product.tree)? {
        if file.starts_with(notices::FOLDER) || part(&file) != package.part {
            continue;
        }
        let to = match package.part {
            PackagePart::Library => Path::new(&system).join(file.file_name().unwrap_or_default()),
            _ => Path::new(PREFIX).join(&file),
        };
        installation::copy(&product.tree.join(&file), &root.join(&to))?;
        if package.part == PackagePart::Library {
            // Debian's libraries cannot be run.
            mode(&root.join(to), 0o644)?;
        }
    }
    match package.part {
        PackagePart::Library => Ok(()),
        PackagePart::Tools => {
            let library = format!("../../{}-linux-gnu/liboxshmem.so.1", product.toolchain.processor());
            link_to(&library, &root.join(PREFIX).join("lib/liboxshmem.so.1"))?;
            link_to("../lib/oxshmem/bin/oxshmem", &root.join("usr/bin/oxshmem"))?;
            let page = root.join("usr/share/man/man1/oxshmem.1");
            installation::copy(&product.tree.join("share/man/man1/oxshmem-explain.1"), &page)?;
            command::run(Command::new("gzip").args(["-9", "-n"]).arg(page))
        }
        PackagePart::Development => {
            link_to("liboxshmem.so.1", &root.join(&system).join("liboxshmem.so"))?;
            for description in disk::entries(&root.join(PREFIX).join("lib/pkgconfig"))? {
                let text = disk::read(&description)?.replace("${pcfiledir}/../..", &format!("/{PREFIX}"));
                let name = description.file_name().unwrap_or_default();
                write(&root.join(&system).join("pkgconfig").join(name), &text)?;
            }
            link_to("../../oxshmem/lib/cmake/oxshmem", &root.join(&system).join("cmake/oxshmem"))
        }
    }
}

/// Licences, changes, and the exceptions from Debian's rules with their reasons.
fn documents(product: &Product, package: &DebianPackage, root: &Path) -> Outcome {
    let folder = root.join("usr/share/doc").join(package.name);
    installation::copy(&top().join("ci/packages/debian/copyright"), &folder.join("copyright"))?;
    installation::copy(&product.tree.join(notices::FOLDER).join("THIRD-PARTY.txt"), &folder.join("THIRD-PARTY.txt"))?;
    let date = command::read(Command::new("date").args(["-u", "-R", "-d", &format!("@{}", product.time)]))?;
    let changes = format!(
        "oxshmem ({VERSION}) unstable; urgency=medium\n\n  * The changelog of oxshmem has all changes.\n\n -- {MAINTAINER}  {}\n",
        date.trim()
    );
    write(&folder.join("changelog"), &changes)?;
    for text in ["changelog", "THIRD-PARTY.txt"] {
        command::run(Command::new("gzip").args(["-9", "-n", "-f"]).arg(folder.join(text)))?;
    }
    let exceptions = top().join("ci/packages/debian").join(format!("{}.lintian-overrides", package.name));
    if exceptions.exists() {
        installation::copy(&exceptions, &root.join("usr/share/lintian/overrides").join(package.name))?;
    }
    Ok(())
}

/// Writes the files that dpkg reads.
fn control(package: &DebianPackage, processor: &str, root: &Path) -> Outcome {
    let files = disk::files(root)?;
    let sizes = files.iter().filter_map(|file| root.join(file).symlink_metadata().ok());
    let kibibytes: u64 = sizes.map(|file| file.len().div_ceil(1024)).sum();
    let sums = files.iter().filter(|file| !root.join(file).is_symlink());
    let sums = command::read(Command::new("md5sum").args(sums).current_dir(root))?;
    let folder = root.join("DEBIAN");
    write(&folder.join("md5sums"), &sums)?;
    write(
        &folder.join("control"),
        &format!(
            "Package: {}\nSource: oxshmem\nVersion: {VERSION}\nArchitecture: {processor}\nMaintainer: {MAINTAINER}\n\
             Installed-Size: {kibibytes}\nDepends: {}\nSection: {}\nPriority: optional\nDescription: {}\n {}\n",
            package.name, package.depends, package.section, package.summary, package.text
        ),
    )?;
    if package.part == PackagePart::Library {
        write(&folder.join("shlibs"), &format!("liboxshmem 1 liboxshmem1 (>= {VERSION})\n"))?;
        write(&folder.join("triggers"), "activate-noawait ldconfig\n")?;
    }
    if let Some((leader, others)) = package.alternatives {
        let place = |name: &str| format!("/usr/bin/{name} {name} /{PREFIX}/bin/{name}");
        let followers: String = others.iter().map(|name| format!(" \\\n        --slave {}", place(name))).collect();
        let install = format!("    update-alternatives --install {} 40{followers}\n", place(leader));
        script(&folder.join("postinst"), &format!("if [ \"$1\" = configure ]; then\n{install}fi\n"))?;
        let compiled = match package.part {
            // Compiled files of the Python module: dpkg removes no folder that has files of others.
            PackagePart::Tools => format!("    find /{PREFIX}/lib/python -depth -path '*/__pycache__*' -delete\n"),
            _ => String::new(),
        };
        let remove = format!("{compiled}    update-alternatives --remove {leader} /{PREFIX}/bin/{leader}\n");
        script(&folder.join("prerm"), &format!("if [ \"$1\" != upgrade ]; then\n{remove}fi\n"))?;
    }
    Ok(())
}

fn script(path: &Path, body: &str) -> Outcome {
    write(path, &format!("#!/bin/sh\nset -e\n{body}"))?;
    mode(path, 0o755)
}

/// Sets the permissions of a file; a link has none of its own.
fn mode(path: &Path, mode: u32) -> Outcome {
    if path.is_symlink() {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| format!("{}: {error}", path.display()))
}
