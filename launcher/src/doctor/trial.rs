//! A small job on the hosts: whether it runs, which transport it takes and why no other one, and how far each host is from
//! each other one.

use std::process::Stdio;

use oxshmem_base::Error;
use oxshmem_report::units;

use super::finding::Diagnosis;
use crate::hosts::as_option;
use crate::machine::{beside, helper};
use crate::tool_job;
use crate::wrapper::quoted;

/// A job that takes longer hangs.
const SECONDS: &str = "60";

/// Runs it with one PE on each host; without hosts with two PEs that count as two nodes.
pub(crate) fn run(hosts: &[&str], agent: Option<&str>) -> Result<Vec<Diagnosis>, Error> {
    let mut command = tool_job::launcher(beside("oshrun")?);
    command.args(["--explain", "--timeout", SECONDS]);
    let shape = shape(hosts, agent);
    command.args(&shape);
    let program = helper("oshbench")?;
    let output = command.arg(program).args(["distances", "200", "0", "8", ""]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Error::new("oshrun cannot be started").because(error))?;
    let name = match hosts {
        [] => "two nodes on this host".to_owned(),
        [one] => (*one).to_owned(),
        several => several.join(", "),
    };
    let (text, messages) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        let words: Vec<String> = shape.iter().map(|word| quoted(word.as_ref())).collect();
        let fix = format!(
            "the message says what to do; to run your own program in the same way: oshrun --explain -v {} ./program",
            words.join(" ")
        );
        let failed = Diagnosis::fault("a small job fails").fix(fix).of(&name, "job");
        return Ok(vec![failed.because(format!("{}\n{}", output.status, messages.trim_end()))]);
    }
    let mut all = vec![Diagnosis::good("a small job runs").of(&name, "job")];
    all.extend(text.lines().find_map(|line| transport(&name, line)));
    all.extend(text.lines().filter_map(|line| distance(hosts, line)));
    Ok(all)
}

/// Arguments of oshrun for one PE on each host, or for two PEs that count as two nodes.
fn shape(hosts: &[&str], agent: Option<&str>) -> Vec<String> {
    let named: Vec<String> = hosts.iter().map(|host| as_option(host)).collect();
    let mut words: Vec<String> = match hosts {
        [] => ["-n", "2", "--nodes", "2"].map(str::to_owned).to_vec(),
        _ => ["-H", &named.join(","), "-N", "1"].map(str::to_owned).to_vec(),
    };
    words.extend(agent.iter().flat_map(|agent| ["--launch-agent".to_owned(), (*agent).to_owned()]));
    words
}

/// The transport of the job, from the line that `oshrun --explain` prints.
fn transport(name: &str, line: &str) -> Option<Diagnosis> {
    let (_, between) = line.split_once("; between nodes: ")?;
    let (chosen, rejected) = between.split_once("; rejected: ").unwrap_or((between, ""));
    let good = Diagnosis::good(chosen).of(name, "transport");
    Some(match rejected {
        "" => good,
        rejected => good.because(format!("rejected: {rejected}")),
    })
}

/// How long a get between two hosts takes, from a line of the job: `form` has the numbers of the PEs.
fn distance(hosts: &[&str], line: &str) -> Option<Diagnosis> {
    let row: serde_json::Value = serde_json::from_str(line).ok()?;
    let (from, to) = row["form"].as_str()?.split_once(" from ")?;
    let samples: Vec<f64> = row["samples"].as_array()?.iter().filter_map(serde_json::Value::as_f64).collect();
    let median = oxshmem_report::statistics::median(&samples)?;
    let host = |pe: &str| {
        pe.parse::<usize>().ok().and_then(|pe| hosts.get(pe)).map_or(format!("node {pe}"), |host| host.to_string())
    };
    let verdict = format!("a get of 8 bytes takes {} (median of {} batches)", units::time(median), samples.len());
    Some(Diagnosis::note(verdict).of(&format!("{} – {}", host(from), host(to)), "distance"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_told_with_its_reasons() {
        let line = "oxshmem: 2 PEs on 2 nodes; launcher: PMI-1; between nodes: tcp: port 1; atomics by x; rejected: ofi (no card), ucx (no card)";
        let told = transport("n1, n2", line).expect("the line tells");
        assert_eq!(told.verdict, "tcp: port 1; atomics by x");
        assert_eq!(told.because.as_deref(), Some("rejected: ofi (no card), ucx (no card)"));
        assert_eq!(transport("n1", "something else"), None);
    }

    #[test]
    fn the_remedy_of_a_job_that_fails_is_a_command_that_runs() {
        assert_eq!(shape(&[], None).join(" "), "-n 2 --nodes 2");
        assert_eq!(shape(&["a", "b"], Some("rsh {host}")), ["-H", "a,b", "-N", "1", "--launch-agent", "rsh {host}"]);
        assert_eq!(shape(&["me@2001:db8::7", "b"], None), ["-H", "me@[2001:db8::7],b", "-N", "1"]);
    }

    #[test]
    fn each_pair_has_its_distance() {
        let line = r#"{"pattern":"distance","form":"0 from 1","bytes":8,"samples":[900,1000,5000]}"#;
        let told = distance(&["a", "b"], line).expect("the line tells");
        assert_eq!(
            (told.host.as_str(), told.verdict.as_str()),
            ("a – b", "a get of 8 bytes takes 1.00 µs (median of 3 batches)")
        );
        assert_eq!(distance(&[], line).map(|told| told.host), Some("node 0 – node 1".into()));
        assert_eq!(distance(&[], "noise"), None);
    }
}
