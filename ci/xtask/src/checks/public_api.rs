//! The public interface of the Rust API as a committed list, so that a change of it is a change that a reviewer sees.
//!
//! `cargo xtask semver` says which changes break programs; it needs a tool of its own, and this list needs none. It comes
//! from rustdoc's JSON, which only unstable options make, so the compiler is told to allow them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::counts::CheckCounts;
use crate::{Outcome, command, target, top};

/// The crate that users depend on.
const PACKAGE: &str = "oxshmem";
/// Its features that add items to the interface and are not on by themselves.
const FEATURES: &str = "bytemuck,zerocopy,rayon,serde";

fn list() -> PathBuf {
    top().join("crates/shmem/public-api.txt")
}

/// Writes the list.
pub(crate) fn write() -> Outcome {
    let text = generate()?.map_err(|why| format!("the public interface of {PACKAGE}: {why}"))?;
    fs::write(list(), text).map_err(|error| format!("{}: {error}", list().display()))?;
    println!("wrote {}", list().display());
    Ok(())
}

/// Says what has come and what has gone since the list was written.
pub(crate) fn check() -> Outcome<CheckCounts> {
    let text = match generate()? {
        Ok(text) => text,
        Err(why) => {
            println!("SKIPPED public interface of {PACKAGE}: {why}");
            return Ok(CheckCounts { skipped: 1, ..CheckCounts::default() });
        }
    };
    let committed = fs::read_to_string(list()).map_err(|error| format!("{}: {error}", list().display()))?;
    let lacks = |text: &str, line: &str| text.lines().all(|other| other != line);
    let gone = committed.lines().filter(|line| lacks(&text, line)).map(|line| format!("- {line}"));
    let come = text.lines().filter(|line| lacks(&committed, line)).map(|line| format!("+ {line}"));
    let changes: Vec<String> = gone.chain(come).collect();
    changes.iter().for_each(|change| println!("{change}"));
    println!("public interface of {PACKAGE}: {} items compared", text.lines().count());
    if changes.is_empty() {
        return Ok(CheckCounts { passed: 1, ..CheckCounts::default() });
    }
    println!("FAILED: the public interface has changed; if that is meant, `cargo xtask public-api` writes the list");
    Ok(CheckCounts { failed: 1, ..CheckCounts::default() })
}

/// The list, or why there can be none here.
fn generate() -> Outcome<Result<String, String>> {
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let folder = target().join("public-api");
    let mut rustdoc = cargo();
    rustdoc.env("RUSTC_BOOTSTRAP", "1").current_dir(top());
    rustdoc
        .args(["rustdoc", "--quiet", "--package", PACKAGE, "--features", FEATURES, "--lib", "--target-dir"])
        .arg(&folder);
    let documented = command::output(rustdoc.args(["--", "-Zunstable-options", "--output-format", "json"]))?;
    if !documented.status.success() {
        return Err(format!("rustdoc has failed: {}", String::from_utf8_lossy(&documented.stderr).trim_end()));
    }
    let json = folder.join(format!("doc/{PACKAGE}.json"));
    let printer = ["run", "--quiet", "--package", "xtask", "--features", "public-api", "--", "public-api", "--print"];
    let output = command::output(cargo().args(printer).arg(json).current_dir(top()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return String::from_utf8(output.stdout).map(Ok).map_err(|error| error.to_string());
    }
    if messages.contains(OTHER_FORMAT) {
        return Ok(Err("this compiler's rustdoc writes another format than the crate `public-api` reads".into()));
    }
    Err(format!("the public interface of {PACKAGE} cannot be listed: {}", messages.trim_end()))
}

/// The printer's message when it does not understand rustdoc.
const OTHER_FORMAT: &str = "rustdoc's JSON is not understood";

/// The public items of the crate by rustdoc's data, an item to a line. This is the part that needs the feature.
#[cfg(feature = "public-api")]
pub(crate) fn print(names: &[String]) -> Outcome {
    for json in names {
        let builder =
            public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_derived_impls(true);
        let api = builder.build().map_err(|error| format!("{OTHER_FORMAT}: {error}"))?;
        api.items().for_each(|item| println!("{item}"));
    }
    Ok(())
}

/// Without the crate that reads rustdoc's JSON there is nothing to print.
#[cfg(not(feature = "public-api"))]
pub(crate) fn print(_names: &[String]) -> Outcome {
    Err("this xtask was built without its feature `public-api`; use `cargo xtask public-api`".into())
}
