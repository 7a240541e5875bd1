//! The crates that ours are built from: each is used, has a row in ARCHITECTURE.md, and has a licence that `deny.toml` allows.
//!
//! `cargo deny` checks more (advisories, sources, versions) and is asked too where it is installed. Compiling it takes minutes, so
//! the checks do not do that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::checks::house::leaves;
use crate::counts::{CheckCounts, failed, skipped};
use crate::product::crates::metadata;
use crate::{Outcome, command, disk, top};

pub(crate) fn check() -> Outcome<CheckCounts> {
    let metadata = metadata(&[])?;
    let policy = disk::read(&top().join("deny.toml"))?;
    let mut counts = CheckCounts::default();
    let mut report = |subject: &str, found: Vec<String>| {
        found.iter().for_each(|line| failed!("{line}"));
        println!("{subject}: {} found", found.len());
        counts += CheckCounts::one(found.is_empty());
    };
    report("dependencies that no file uses", unused(&metadata, |folder, build| words_below(&folder, build)));
    let page = disk::read(&top().join("ARCHITECTURE.md"))?;
    report("dependencies without a row in ARCHITECTURE.md", without_a_row(&metadata, &page));
    report("licences that deny.toml does not allow", strange_licences(&metadata, &allowed(&policy)));
    counts += deny()?;
    Ok(counts)
}

/// `cargo deny check`, where it is installed.
fn deny() -> Outcome<CheckCounts> {
    let installed = command::output(Command::new("cargo").args(["deny", "--version"]))?;
    if !installed.status.success() {
        let how = "`cargo install --locked cargo-deny` brings what checks them";
        return Ok(skipped!("advisories and sources of crates ({how})"));
    }
    let cargo_deny = |words: &[&str]| command::run(Command::new("cargo").arg("deny").args(words).current_dir(top()));
    let words = ["--log-level", "error", "check", "bans", "licenses", "sources"];
    let mut counts = CheckCounts::one(cargo_deny(&words).is_ok());
    counts += match cargo_deny(&["fetch", "db"]) {
        Ok(()) => CheckCounts::one(cargo_deny(&["check", "advisories"]).is_ok()),
        Err(_) => skipped!("advisories (their list cannot be fetched)"),
    };
    Ok(counts)
}

/// The words of the Rust files of a package. `build` asks for those of the build script alone.
fn words_below(folder: &Path, build: bool) -> BTreeSet<String> {
    if build {
        return words_in(&folder.join("build.rs")).collect();
    }
    let folders = ["src", "tests", "examples", "benches"].map(|name| folder.join(name));
    let files = |folder: &PathBuf| -> Vec<PathBuf> {
        disk::files(folder).unwrap_or_default().iter().map(|file| folder.join(file)).collect()
    };
    let files = folders.iter().flat_map(files).filter(|path| path.extension().is_some_and(|end| end == "rs"));
    files.flat_map(|file| words_in(&file)).collect()
}

/// The words of a file. `serde(with = "serde_bytes")` names a crate in a text.
fn words_in(file: &Path) -> impl Iterator<Item = String> + use<> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // A file that does not lex does not compile either: the compiler says so.
    leaves(text.parse().unwrap_or_default()).map(|token| token.to_string().trim_matches('"').to_owned())
}

/// Dependencies of our packages that no row of ARCHITECTURE.md's table of dependencies names.
fn without_a_row(metadata: &Value, page: &str) -> Vec<String> {
    let rows = page.split("## What we depend on").nth(1).unwrap_or_default().lines();
    let first_cells = rows.filter_map(|row| row.strip_prefix("| ")?.split(" |").next());
    let named: BTreeSet<&str> = first_cells.flat_map(|cell| cell.split([',', ' '])).collect();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let ours = packages.filter(|package| package["source"].is_null());
    let dependencies = ours.flat_map(|package| package["dependencies"].as_array().into_iter().flatten());
    let from_elsewhere = dependencies.filter(|dependency| dependency["path"].is_null());
    let names: BTreeSet<&str> = from_elsewhere.filter_map(|dependency| dependency["name"].as_str()).collect();
    let missing = names.into_iter().filter(|name| !named.contains(name));
    missing.map(|name| format!("ARCHITECTURE.md: no row says why there is `{name}`")).collect()
}

/// Dependencies of our packages whose name stands in no Rust file of the package.
fn unused(metadata: &Value, words: impl Fn(std::path::PathBuf, bool) -> BTreeSet<String>) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // The name in `use` is that of the library target, which may differ from the package's.
    let libraries: BTreeMap<&str, String> = packages
        .clone()
        .filter_map(|package| {
            let mut targets = package["targets"].as_array()?.iter();
            let is_lib = |kind: &Value| ["lib", "rlib", "proc-macro", "staticlib"].iter().any(|name| kind == name);
            let is_library = |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(is_lib));
            Some((package["name"].as_str()?, targets.find(is_library)?["name"].as_str()?.replace('-', "_")))
        })
        .collect();
    let ours = packages.filter(|package| package["source"].is_null());
    let mut found = Vec::new();
    for package in ours {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().unwrap_or(Path::new("")).to_path_buf();
        let [product, script] = [false, true].map(|build| words(folder.clone(), build));
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["name"].as_str().unwrap_or_default();
            let word = match dependency["rename"].as_str() {
                Some(other) => other.replace('-', "_"),
                None => libraries.get(name).cloned().unwrap_or_else(|| name.replace('-', "_")),
            };
            let place = if dependency["kind"] == "build" { &script } else { &product };
            if !place.contains(&word) {
                found.push(format!("{}: `{name}` is in Cargo.toml and in no Rust file", package["name"]));
            }
        }
    }
    found
}

fn allowed(policy: &str) -> BTreeSet<String> {
    let list = policy.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn strange_licences(metadata: &Value, allowed: &BTreeSet<String>) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let strange = packages.filter(|package| !is_allowed(package["license"].as_str().unwrap_or_default(), allowed));
    strange
        .map(|package| format!("{} {}: licence {}", package["name"], package["version"], package["license"]))
        .collect()
}

/// Whether an SPDX expression leaves a choice that is allowed: one between each `AND` and the next. Where a choice is between several
/// licences at once, this may ask for more than the expression does, and never for less.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let choices = expression.replace('/', " OR ").replace(['(', ')'], "");
    choices.split(" AND ").all(|choice| choice.split(" OR ").any(|licence| allowed.contains(licence.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn licences(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_licence_needs_one_choice_that_is_allowed() {
        let list = licences(&["MIT", "ISC", "Unicode-3.0"]);
        for good in ["MIT", "MIT/Apache-2.0", "Apache-2.0 OR MIT", "(MIT OR Zlib) AND Unicode-3.0", "ISC AND MIT"] {
            assert!(is_allowed(good, &list), "{good}");
        }
        let bad = [
            "",
            "GPL-3.0-only",
            "MIT AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "MIT OR",
            "(Zlib OR ISC) AND GPL-2.0",
        ];
        for bad in bad {
            assert!(!is_allowed(bad, &list), "{bad}");
        }
    }

    #[test]
    fn a_dependency_without_a_row_is_found() {
        let metadata = serde_json::json!({ "packages": [
            { "source": null, "dependencies": [{ "name": "libc" }, { "name": "tokio" }, { "name": "ours", "path": "crates/ours" }] },
            { "source": "registry", "dependencies": [{ "name": "theirs" }] },
        ]});
        let page = "| tokio | earlier table |\n## What we depend on, and why\n| crate |\n| libc, rustix (build) | os | calls |\n";
        let found = without_a_row(&metadata, page);
        assert_eq!(found, ["ARCHITECTURE.md: no row says why there is `tokio`"]);
    }

    #[test]
    fn the_policy_names_licences() {
        let policy = std::fs::read_to_string(top().join("deny.toml")).expect("the policy is there");
        assert!(allowed(&policy).contains("MIT"));
        assert!(!allowed(&policy).contains("GPL-3.0-only"));
    }

    #[test]
    fn a_dependency_that_no_file_names_is_found() {
        let metadata = serde_json::json!({"packages": [
            {"name": "ours", "source": null, "manifest_path": "/x/Cargo.toml", "targets": [], "dependencies": [
                {"name": "used-crate", "rename": null, "kind": null},
                {"name": "idle-crate", "rename": null, "kind": null},
                {"name": "other-name", "rename": null, "kind": "dev"},
                {"name": "cc", "rename": null, "kind": "build"},
            ]},
            {"name": "other-name", "source": "registry", "targets": [{"kind": ["lib"], "name": "short"}], "dependencies": []},
        ]});
        let words = |_, build| licences(if build { &[] } else { &["used_crate", "short", "cc"] });
        let found = unused(&metadata, words);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("idle-crate") && found[1].contains("`cc`"), "{found:?}");
    }
}
