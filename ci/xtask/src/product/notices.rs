//! Licences: ours, those of the crates inside an installation, and a list of these crates for programs.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::disk::write;
use crate::product::crates::{metadata, of_others};
use crate::product::installation;
use crate::product::recipe::{Recipe, VERSION};
use crate::{Outcome, top};

pub(crate) const FOLDER: &str = "share/doc/oxshmem";
/// The list of components, in the form of CycloneDX.
pub(crate) const COMPONENTS: &str = "oxshmem.cdx.json";

const DOCUMENTS: &[&str] =
    &["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md"];

pub(crate) fn install(recipe: &Recipe, prefix: &Path) -> Outcome {
    let folder = prefix.join(FOLDER);
    for document in DOCUMENTS {
        installation::copy(&top().join(document), &folder.join(document))?;
    }
    let metadata = metadata(&["--filter-platform", &recipe.toolchain.triple()])?;
    let crates = of_others(&metadata);
    write(&folder.join("THIRD-PARTY.txt"), &third_party(&crates))?;
    let components = serde_json::to_string_pretty(&components(&crates)).map_err(|error| error.to_string())?;
    write(&folder.join(COMPONENTS), &format!("{components}\n"))
}

/// Every crate with its licence, then the texts of these licences.
fn third_party(crates: &[&Value]) -> String {
    let text_of = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let mut text = String::from("oxshmem is built from these crates, whose licences follow.\n\n");
    for package in crates {
        let [name, version, licence, place] =
            ["name", "version", "license", "repository"].map(|key| text_of(&package[key]));
        text += &format!("{name} {version}: {licence} ({place})\n");
    }
    for package in crates {
        let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().unwrap_or(Path::new(""));
        for (name, licence) in licences(folder) {
            let title = format!("{} {}, {name}", text_of(&package["name"]), text_of(&package["version"]));
            text += &format!("\n{}\n{title}\n\n{}\n", "=".repeat(72), licence.trim_end());
        }
    }
    text
}

/// The files of a crate that hold its licence and its notice, by name.
fn licences(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(String, String)> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, fs::read_to_string(entry.path()).ok()?)))
        .filter(|(name, _)| {
            ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|word| name.to_uppercase().contains(word))
        })
        .collect();
    found.sort();
    found
}

/// The list of components for programs that look for weaknesses.
fn components(crates: &[&Value]) -> Value {
    let component = |package: &&Value| {
        let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap_or("unknown"));
        json!({
            "type": "library",
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": [{"expression": package["license"].as_str().unwrap_or("unknown").replace('/', " OR ")}],
        })
    };
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "library",
            "name": "oxshmem",
            "version": VERSION,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }},
        "components": crates.iter().map(component).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_crate_of_the_product_with_its_licence() {
        let here = Recipe::new("dev").toolchain.triple();
        let metadata = metadata(&["--filter-platform", &here]).expect("cargo describes the workspace");
        let crates = of_others(&metadata);
        let text = third_party(&crates);
        for name in ["libc", "ring", "tokio"] {
            assert!(text.contains(&format!("\n{name} ")), "{name}");
        }
        for name in ["proptest", "windows-sys"] {
            assert!(!text.contains(&format!("\n{name} ")), "{name} is for tests, or for another system");
        }
        let list = components(&crates);
        let named = list["components"].as_array().expect("a list");
        assert_eq!(named.len(), crates.len());
        assert!(named.iter().all(|component| component["licenses"][0]["expression"] != "unknown"));
    }
}
