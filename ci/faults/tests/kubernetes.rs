//! The manifests for Kubernetes: every field of theirs is one that the published interfaces have, and what they say fits together.

use std::fs;
use std::path::{Path, PathBuf};

use oxshmem_faults::{Job, prefix};
use serde::Deserialize;
use serde_json::Value;

fn manifests() -> Vec<PathBuf> {
    let folder = prefix().join("share/oxshmem/examples/kubernetes");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("a manifest");
    let read = |document| Value::deserialize(document).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_norway::Deserializer::from_str(&text).map(read).collect()
}

/// The rules of the published interfaces for the fields that are used (`kubernetes/schema.json`): a part of JSON Schema. Fields that it does
/// not name are mistakes, as for a server that checks strictly.
struct Schema(Value);

impl Schema {
    fn read() -> Schema {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes/schema.json");
        Schema(serde_json::from_str(&fs::read_to_string(file).expect("the schema")).expect("JSON"))
    }

    /// Checks a document by its kind.
    fn check(&self, document: &Value) -> Result<(), String> {
        let kind = format!("{} {}", text(document, "/apiVersion"), text(document, "/kind"));
        let rule = self.0["kinds"].get(&kind).ok_or_else(|| format!("`{kind}` is no known kind"))?;
        self.fits(rule, document, &kind)
    }

    fn fits(&self, rule: &Value, value: &Value, place: &str) -> Result<(), String> {
        if let Some(name) = rule["$ref"].as_str() {
            return self.fits(&self.0["definitions"][name], value, place);
        }
        if let Some(words) = rule["enum"].as_array() {
            return if words.contains(value) { Ok(()) } else { Err(format!("{place}: {value} is none of {words:?}")) };
        }
        let has_type = match rule["type"].as_str().expect("every rule has a type") {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            "boolean" => value.is_boolean(),
            other => panic!("the schema has a type `{other}`"),
        };
        if !has_type {
            return Err(format!("{place}: {value} is not of type {}", rule["type"]));
        }
        if !rule["pattern"].is_null() && !is_label(value.as_str().unwrap_or_default()) {
            return Err(format!("{place}: {value} is no name of a host"));
        }
        for name in rule["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            value.get(name).ok_or_else(|| format!("{place}: {name} is missing"))?;
        }
        for (name, inner) in value.as_object().into_iter().flatten() {
            let known = rule["properties"].get(name).or(rule.get("values"));
            self.fits(known.ok_or_else(|| format!("{place} has no field {name}"))?, inner, &format!("{place}.{name}"))?;
        }
        for (inner, number) in value.as_array().into_iter().flatten().zip(0..) {
            self.fits(&rule["items"], inner, &format!("{place}[{number}]"))?;
        }
        Ok(())
    }
}

/// Whether a text is a label of RFC 1123.
fn is_label(text: &str) -> bool {
    let allowed = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with('-') && !text.ends_with('-')
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} is missing in {value}"))
}

/// All values of a field, wherever it is.
fn fields<'v>(value: &'v Value, name: &str) -> Vec<&'v Value> {
    let own = value.get(name);
    let inside =
        value.as_object().into_iter().flat_map(|fields| fields.values()).chain(value.as_array().into_iter().flatten());
    own.into_iter().chain(inside.flat_map(|inner| fields(inner, name))).collect()
}

#[test]
fn every_field_of_a_manifest_is_one_of_the_published_interface() {
    let schema = Schema::read();
    let mut kinds = Vec::new();
    for file in manifests() {
        for document in documents(&file) {
            schema.check(&document).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
            kinds.push(text(&document, "/kind").to_owned());
        }
    }
    kinds.sort();
    assert_eq!(kinds, ["Job", "JobSet", "MPIJob", "Secret", "Service"]);
}

#[test]
fn the_schema_finds_mistakes() {
    let schema = Schema::read();
    let job = documents(&manifests()[0]).into_iter().find(|document| document["kind"] == "Job").expect("a Job");
    let mistakes: [(&str, Value, &str); 5] = [
        ("/spec", serde_json::json!({"template": {}}), "spec is missing"),
        ("/spec/completions", "4".into(), "not of type \"integer\""),
        ("/spec/completionMode", "indexed".into(), "none of"),
        ("/spec/template/spec/subdomain", "Ring.".into(), "no name of a host"),
        (
            "/spec/template/spec",
            serde_json::json!({"containers": [], "restartpolicy": "Never"}),
            "no field restartpolicy",
        ),
    ];
    for (place, value, words) in mistakes {
        let mut wrong = job.clone();
        *wrong.pointer_mut(place).expect("the field is there") = value;
        let why = schema.check(&wrong).expect_err(place);
        assert!(why.contains(words), "{place}: {why}");
    }
}

#[test]
fn names_numbers_and_keys_of_a_manifest_fit_together() {
    for file in manifests() {
        let all = documents(&file);
        let named = |kind: &str| all.iter().find(|document| document["kind"] == kind);
        for document in all.iter().filter(|document| document["kind"] != "Secret") {
            // The key is where the command looks for it, from the Secret that the comments make.
            for container in
                fields(document, "containers").into_iter().flat_map(|list| list.as_array().into_iter().flatten())
            {
                let words: Vec<&str> =
                    container["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                let after = |option: &str| words.iter().position(|word| *word == option).map(|at| words[at + 1]);
                assert_eq!(after("--key-file"), Some("/etc/oxshmem/key"));
                assert_eq!(text(container, "/volumeMounts/0/mountPath"), "/etc/oxshmem");
                // The launcher lays the job out as the manifest says, and would name what it does not know.
                if let Some(hosts) = after("-H") {
                    let shown = Job::new("--dry-run").run(Path::new(words[1]), &words[2..]);
                    let first = format!("host {}0", hosts.split('[').next().unwrap());
                    assert!(shown.expect(0).stdout.starts_with(&first), "{first}");
                }
            }
            for secret in fields(document, "secret") {
                assert_eq!(text(secret, "/secretName"), "ring-key");
            }
        }
        if let Some(job) = named("Job") {
            let service = named("Service").expect("a Job needs a Service");
            assert_eq!(text(job, "/spec/template/spec/subdomain"), text(service, "/metadata/name"));
            assert_eq!(text(service, "/spec/clusterIP"), "None");
            let selected = service.pointer("/spec/selector/batch.kubernetes.io~1job-name");
            assert_eq!(selected, job.pointer("/metadata/name"));
            assert_eq!(hosts_of(job, "ring-"), (4, "ring".into()));
            assert_eq!(job["spec"]["completions"], 4);
            assert_eq!(job["spec"]["parallelism"], 4);
        }
        if let Some(set) = named("JobSet") {
            assert_eq!(hosts_of(set, "ring-pes-0-"), (4, "ring".into()));
            assert_eq!(text(set, "/spec/network/subdomain"), "ring");
            assert_eq!(fields(set, "completions"), [&Value::from(4)]);
            assert_eq!(text(set, "/spec/replicatedJobs/0/name"), "pes");
        }
        if let Some(secret) = named("Secret") {
            // A key that everybody can read here must never open a pod.
            assert!(text(secret, "/stringData/key").len() < 16);
        }
    }
}

/// How many hosts `-H` names, and their domain; their names begin with `prefix`.
fn hosts_of(document: &Value, prefix: &str) -> (usize, String) {
    let commands = fields(document, "command");
    let words: Vec<&str> = commands[0].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let list = words[words.iter().position(|word| *word == "-H").unwrap() + 1];
    let (range, domain) = list.strip_prefix(prefix).unwrap().trim_start_matches('[').split_once("].").unwrap();
    let (first, last) = range.split_once('-').unwrap();
    (last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1, domain.to_owned())
}
