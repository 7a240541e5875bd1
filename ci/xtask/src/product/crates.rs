//! Our crates and those below them, as cargo describes them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Outcome, command, top};

/// The crates that an installation is built from.
const PRODUCT: &[&str] = &["oxshmem-c", "oxshmem-interpose", "oxshmem-launcher"];

/// Cargo's description of our packages and of those below them; with `--filter-platform TRIPLE` without what other processors and
/// systems need, which may not be on this machine.
pub(crate) fn metadata(arguments: &[&str]) -> Outcome<Value> {
    let mut cargo = command::cargo();
    cargo.args(["metadata", "--format-version", "1", "--locked"]).args(arguments);
    let text = command::read(cargo.current_dir(top()))?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// The crates of others that are in an installation, by name.
pub(crate) fn of_others(metadata: &Value) -> Vec<&Value> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let nodes = metadata["resolve"]["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut open: Vec<&str> = packages()
        .filter(|package| PRODUCT.iter().any(|name| package["name"] == *name))
        .filter_map(|package| package["id"].as_str())
        .collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !reached.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id);
        let edges = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
        open.extend(edges.filter(|edge| is_linked(edge)).filter_map(|edge| edge["pkg"].as_str()));
    }
    let mut found: Vec<&Value> = packages()
        .filter(|package| !package["source"].is_null() && package["id"].as_str().is_some_and(|id| reached.contains(id)))
        .collect();
    found.sort_by_key(|package| (package["name"].to_string(), package["version"].to_string()));
    found
}

/// Whether a dependency becomes a part of the program, not of its tests or its build.
fn is_linked(edge: &Value) -> bool {
    edge["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
}

/// Our crates that are published, each behind those that it needs.
pub(crate) fn in_order(metadata: &Value) -> Outcome<Vec<&Value>> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut left: Vec<&Value> =
        packages.filter(|package| package["source"].is_null() && package["publish"].is_null()).collect();
    let mut ordered: Vec<&Value> = Vec::new();
    while !left.is_empty() {
        let needs_one_of = |package: &Value, others: &[&Value]| {
            let needed = package["dependencies"].as_array().into_iter().flatten();
            let mut needed = needed.filter(|needed| needed["kind"] != "dev" || needed["req"] != "*");
            needed.any(|needed| others.iter().any(|other| other["name"] == needed["name"]))
        };
        let (ready, waiting): (Vec<&Value>, Vec<&Value>) =
            left.iter().partition(|package| !needs_one_of(package, &left));
        if ready.is_empty() {
            return Err(format!("crates that need each other: {}", names(&waiting)));
        }
        ordered.extend(ready);
        left = waiting;
    }
    Ok(ordered)
}

fn names(packages: &[&Value]) -> String {
    packages.iter().filter_map(|package| package["name"].as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, source: Value, needs: &[&str]) -> Value {
        let needs: Vec<Value> =
            needs.iter().map(|name| serde_json::json!({"name": name, "kind": null, "req": "^1"})).collect();
        serde_json::json!({"name": name, "id": name, "version": "1.0.0", "source": source, "publish": null, "dependencies": needs})
    }

    #[test]
    fn a_crate_stands_behind_those_that_it_needs() {
        let metadata = serde_json::json!({"packages": [
            package("top", Value::Null, &["middle", "libc"]),
            package("middle", Value::Null, &["base"]),
            package("base", Value::Null, &[]),
            package("libc", "registry".into(), &[]),
        ]});
        assert_eq!(names(&in_order(&metadata).expect("there is an order")), "base, middle, top");
        let circle = serde_json::json!({"packages": [
            package("a", Value::Null, &["b"]), package("b", Value::Null, &["a"]),
        ]});
        assert!(in_order(&circle).is_err());
    }

    #[test]
    fn a_crate_that_only_tests_need_is_not_in_the_product() {
        let edge = |package: &str, kind: Value| serde_json::json!({"pkg": package, "dep_kinds": [{"kind": kind}]});
        let other = |name: &str| package(name, "registry".into(), &[]);
        let metadata = serde_json::json!({
            "packages": [package("oxshmem-c", Value::Null, &[]), other("libc"), other("proptest")],
            "resolve": {"nodes": [{"id": "oxshmem-c", "deps": [
                edge("libc", Value::Null),
                edge("proptest", "dev".into()),
            ]}]},
        });
        assert_eq!(names(&of_others(&metadata)), "libc");
    }
}
