//! The Debian packages and compilers' parts that checks need: installed when this user may, reported when not.

use std::process::{Command, Stdio};

use crate::command::{self, exists};
use crate::counts::CheckCounts;

/// A program that some check runs, or the path of a file that it reads, and the package that has it.
const PROGRAMS: &[(&str, &str)] = &[
    ("cc", "gcc"),
    ("c++", "g++"),
    ("clang", "clang"),
    // Its OpenMP, of which the race detector is a tool.
    ("/usr/share/doc/libomp-dev/copyright", "libomp-dev"),
    ("gfortran", "gfortran"),
    ("make", "make"),
    ("cmake", "cmake"),
    ("pkg-config", "pkg-config"),
    ("mpiexec.hydra", "mpich"),
    ("mpicc.mpich", "libmpich-dev"),
    ("python3", "python3"),
    // The part of Python that makes environments.
    ("/usr/share/doc/python3-venv/copyright", "python3-venv"),
    // With the macros for pages of the manual, which groff-base has.
    ("groff", "groff-base"),
    ("man", "man-db"),
    ("unshare", "util-linux"),
    ("ip", "iproute2"),
    ("/usr/include/rdma/fabric.h", "libfabric-dev"),
    ("/usr/include/ucp/api/ucp.h", "libucx-dev"),
    ("/usr/include/hwloc.h", "libhwloc-dev"),
    ("lstopo-no-graphics", "hwloc-nox"),
    // Where it lies depends on the processor.
    ("/usr/share/doc/libpmix-dev/copyright", "libpmix-dev"),
    ("/usr/include/slurm/pmi2.h", "libpmi2-0-dev"),
    ("/usr/include/slurm/pmi.h", "libpmi0-dev"),
    // Allocators that programs bring.
    ("/usr/share/doc/libjemalloc2/copyright", "libjemalloc2"),
    ("/usr/share/doc/libmimalloc2.0/copyright", "libmimalloc2.0"),
    ("/usr/share/doc/libtcmalloc-minimal4/copyright", "libtcmalloc-minimal4"),
    ("otf2-print", "otf2-tools"),
    // Launchers of others.
    ("mpirun.openmpi", "openmpi-bin"),
    // The peer of `oxshmem bench --compare openmpi`.
    ("/usr/share/doc/libopenmpi-dev/copyright", "libopenmpi-dev"),
    ("srun", "slurm-client"),
    ("/usr/sbin/slurmctld", "slurmctld"),
    ("/usr/sbin/slurmd", "slurmd"),
    ("/usr/share/doc/slurm-wlm-basic-plugins/copyright", "slurm-wlm-basic-plugins"),
    ("munge", "munge"),
    // Remote shells.
    ("ssh", "openssh-client"),
    ("/usr/sbin/sshd", "openssh-server"),
    // Opens reports.
    ("chromium", "chromium"),
    // Packages.
    ("xz", "xz-utils"),
    ("lintian", "lintian"),
    ("rpmbuild", "rpm"),
    ("rpmlint", "rpmlint"),
    // The rigs.
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("cpio", "cpio"),
    ("modprobe", "kmod"),
    ("ibv_devices", "ibverbs-utils"),
    ("/usr/sbin/nft", "nftables"),
];

pub(crate) fn has_ucx() -> bool {
    let libraries = command::output(Command::new("/sbin/ldconfig").arg("-p"));
    libraries.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("libucp.so.0"))
}

/// Installs what is missing. Checks that need what stays missing say so themselves.
pub(crate) fn install() -> CheckCounts {
    let wanted: Vec<&str> = missing().map(|(_, package)| *package).collect();
    if wanted.is_empty() {
        println!("nothing is missing");
        return CheckCounts::one(true);
    }
    println!("missing: {}", wanted.join(" "));
    match administrator() {
        Some(prefix) => {
            apt_get(&prefix, &["update"]);
            let install = ["install", "-y", "--no-install-recommends"];
            // One package that cannot be had does not keep the others away.
            if !apt_get(&prefix, &[&install[..], &wanted].concat()) {
                for package in &wanted {
                    apt_get(&prefix, &[&install[..], &[package]].concat());
                }
            }
        }
        None => println!("this user may not install packages: run `apt-get install {}` as root", wanted.join(" ")),
    }
    let left: Vec<String> = missing().map(|(program, package)| format!("{program} (package {package})")).collect();
    if left.is_empty() {
        return CheckCounts::one(true);
    }
    println!("skipped: the checks that need {}", left.join(", "));
    CheckCounts { skipped: left.len(), ..CheckCounts::default() }
}

/// Adds Miri to rustup's nightly compiler. Without rustup, that compiler or a network there is none.
pub(crate) fn add_miri() {
    let add = ["component", "add", "--toolchain", "nightly", "miri", "rust-src"];
    if let Err(why) = command::read(Command::new("rustup").args(add)) {
        println!("{why}");
    }
}

fn missing() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    PROGRAMS.iter().filter(|(program, _)| !exists(program))
}

/// The words before a command that make it run as root, if there is `apt-get` and a way to be root without a question.
fn administrator() -> Option<Vec<&'static str>> {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let sudo = || Command::new("sudo").args(["-n", "true"]).output().is_ok_and(|output| output.status.success());
    match exists("apt-get") {
        true if root => Some(vec![]),
        true if sudo() => Some(vec!["sudo", "-n"]),
        _ => None,
    }
}

/// Whether it went well; if not, what it said is printed.
fn apt_get(prefix: &[&str], arguments: &[&str]) -> bool {
    let always = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "Acquire::Retries=3"];
    let words = [prefix, &always, arguments].concat();
    let said = match command::output(Command::new(words[0]).args(&words[1..]).stdin(Stdio::null())) {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(why) => why,
    };
    println!("failed: {}\n{}", words.join(" "), said.trim_end());
    false
}
