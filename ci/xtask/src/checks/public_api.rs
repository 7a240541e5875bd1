//! The public interface of the Rust API as a committed list, so that a change of it is a change that a reviewer sees; and its
//! documentation, in which every item has an example.
//!
//! `cargo xtask semver` says which changes break programs; it needs a tool of its own, and this list needs none. It comes
//! from rustdoc's JSON, which only unstable options make, so the compiler is told to allow them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::counts::{CheckCounts, failed, skipped};
use crate::{Outcome, command, disk, target, top};

/// The crate that users depend on.
const PACKAGE: &str = "oxshmem";
/// Its features that add items to the interface and are not on by themselves.
const FEATURES: &str = "bytemuck,zerocopy,rayon,serde";

fn list() -> PathBuf {
    top().join("crates/shmem/public-api.txt")
}

pub(crate) fn write() -> Outcome {
    let text = items(&documented()?)?.map_err(|why| format!("the public interface of {PACKAGE}: {why}"))?;
    disk::write(&list(), &text)?;
    println!("wrote {}", list().display());
    Ok(())
}

/// Says which items have no example, and what has come and what has gone since the list was written. Links in the documentation that
/// lead nowhere are errors.
pub(crate) fn check() -> Outcome<CheckCounts> {
    let json = documented()?;
    let mut counts = examples(&json)?;
    counts += compare(&json)?;
    Ok(counts)
}

/// The items without an example.
fn examples(json: &Path) -> Outcome<CheckCounts> {
    let data: Value =
        serde_json::from_str(&disk::read(json)?).map_err(|error| format!("{}: {error}", json.display()))?;
    let (all, lacking) = with_and_without_example(&data);
    lacking.iter().for_each(|item| failed!("{item} has no example"));
    println!("examples of {PACKAGE}: {} of {all} items have one", all - lacking.len());
    let passed = all > 0 && lacking.is_empty();
    Ok(CheckCounts::one(passed))
}

/// The kinds of items that are to have an example.
const KINDS: &[&str] = &["function", "struct", "enum", "union", "trait", "macro", "constant", "static", "type_alias"];

/// The number of public items that can be named, and the places of those without an example, by rustdoc's data. (Its lint
/// `missing_doc_code_examples` does not see what is exported from a private module.)
fn with_and_without_example(data: &Value) -> (usize, Vec<String>) {
    let items = || data["index"].as_object().into_iter().flat_map(|index| index.values());
    let inner = |item: &Value, kind: &str, part: &str| item["inner"][kind][part].clone();
    let lists = items().flat_map(|item| ["module", "impl"].map(|kind| inner(item, kind, "items")));
    let listed = lists.filter_map(|list| list.as_array().cloned()).flatten();
    let named: BTreeSet<u64> =
        listed.chain(items().map(|item| inner(item, "use", "id"))).filter_map(|id| id.as_u64()).collect();
    let asked = |item: &&Value| {
        item["visibility"] == "public"
            && item["id"].as_u64().is_some_and(|id| named.contains(&id))
            && KINDS.iter().any(|kind| item["inner"].get(kind).is_some())
    };
    let without = |item: &&Value| !item["docs"].as_str().unwrap_or_default().contains("```");
    let place = |item: &Value| {
        let (name, span) = (item["name"].as_str().unwrap_or_default(), &item["span"]);
        format!("{name} ({}:{})", span["filename"].as_str().unwrap_or_default(), span["begin"][0])
    };
    (items().filter(asked).count(), items().filter(asked).filter(without).map(place).collect())
}

fn compare(json: &Path) -> Outcome<CheckCounts> {
    let text = match items(json)? {
        Ok(text) => text,
        Err(why) => return Ok(skipped!("public interface of {PACKAGE}: {why}")),
    };
    let committed = disk::read(&list())?;
    let lacks = |text: &str, line: &str| text.lines().all(|other| other != line);
    let gone = committed.lines().filter(|line| lacks(&text, line)).map(|line| format!("- {line}"));
    let come = text.lines().filter(|line| lacks(&committed, line)).map(|line| format!("+ {line}"));
    let changes: Vec<String> = gone.chain(come).collect();
    changes.iter().for_each(|change| println!("{change}"));
    println!("public interface of {PACKAGE}: {} items compared", text.lines().count());
    if !changes.is_empty() {
        failed!("the public interface has changed; if that is meant, `cargo xtask public-api` writes the list");
    }
    Ok(CheckCounts::one(changes.is_empty()))
}

/// The file of rustdoc's data. Whatever rustdoc complains of is an error.
fn documented() -> Outcome<PathBuf> {
    let folder = target().join("public-api");
    let mut rustdoc = command::cargo();
    rustdoc.env("RUSTC_BOOTSTRAP", "1").args(["rustdoc", "--quiet", "--package", PACKAGE, "--features", FEATURES]);
    rustdoc.args(["--lib", "--target-dir"]).arg(&folder).args(["--", "-Zunstable-options", "--output-format", "json"]);
    command::read(rustdoc.arg("-Dwarnings"))?;
    Ok(folder.join(format!("doc/{PACKAGE}.json")))
}

/// The list, or why there can be none here.
fn items(json: &Path) -> Outcome<Result<String, String>> {
    let arguments = ["public-api".as_ref(), "--print".as_ref(), json.as_os_str()];
    let why = "this compiler's rustdoc writes another format than the crate `public-api` reads";
    command::printed(&arguments, (OTHER_FORMAT, why))
}

/// The printer's message when it does not understand rustdoc.
const OTHER_FORMAT: &str = "rustdoc's JSON is not understood";

/// The public items of the crate by rustdoc's data, an item to a line. This is the part that needs the feature.
#[cfg(feature = "printers")]
pub(crate) fn print(json: &Path) -> Outcome {
    let builder = public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_derived_impls(true);
    let api = builder.build().map_err(|error| format!("{OTHER_FORMAT}: {error}"))?;
    api.items().for_each(|item| println!("{item}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn an_item_without_an_example_is_found_wherever_it_is_exported_from() {
        let item = |id: u64, visibility: &str, kind: &str, inner: serde_json::Value, docs: &str| {
            let span = json!({ "filename": "a.rs", "begin": [id, 1] });
            json!({ "id": id, "name": "it", "visibility": visibility, "inner": { kind: inner }, "docs": docs, "span": span })
        };
        let data = json!({ "index": {
            "0": item(0, "public", "module", json!({ "items": [1, 2, 8] }), ""),
            "1": item(1, "public", "use", json!({ "id": 3 }), ""),
            "2": item(2, "public", "function", json!({}), "```\nf();\n```"),
            "3": item(3, "public", "struct", json!({}), "Of a private module."),
            "4": item(4, "default", "impl", json!({ "items": [5, 6] }), ""),
            "5": item(5, "public", "function", json!({}), "A method."),
            "6": item(6, "default", "function", json!({}), "A method of a trait."),
            "7": item(7, "public", "trait", json!({}), "Nobody can name it."),
            "8": item(8, "public", "module", json!({ "items": [] }), "A chapter."),
        }});
        let (all, lacking) = super::with_and_without_example(&data);
        assert_eq!((all, lacking), (3, vec!["it (a.rs:3)".to_owned(), "it (a.rs:5)".to_owned()]));
    }
}
