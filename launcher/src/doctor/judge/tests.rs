use super::*;
use crate::doctor::finding::Severity;

fn healthy() -> Facts {
    Facts {
        host: "n1".into(),
        build: "1 abc".into(),
        lockable: None,
        open_files: 1 << 20,
        memory: (8 << 30, "/proc/meminfo".into()),
        processors: (4, 4),
        online_processors: 4,
        libraries: vec![("libfabric".into(), None), ("UCX".into(), Some("/lib/libucp.so.0".into()))],
        ..Facts::default()
    }
}

fn card() -> CardPort {
    CardPort {
        name: "mlx5_0:1".into(),
        state: "4: ACTIVE".into(),
        link: "InfiniBand".into(),
        rate: "100 Gb/sec".into(),
        roce_addresses: 0,
    }
}

/// The checks with something to do, with their severity.
fn complaints(facts: &Facts) -> Vec<(&'static str, Severity)> {
    let all = host(facts).into_iter().filter(|diagnosis| diagnosis.severity <= Severity::Warning);
    all.map(|diagnosis| {
        assert!(diagnosis.because.is_some() && diagnosis.fix.is_some(), "{diagnosis:?}");
        (diagnosis.check, diagnosis.severity)
    })
    .collect()
}

#[test]
fn a_healthy_host_has_no_complaint() {
    assert_eq!(complaints(&healthy()), []);
}

#[test]
fn what_is_not_there_and_not_needed_is_a_note() {
    let all = host(&healthy());
    let of = |check: &str| all.iter().find(|one| one.check == check).map(|one| one.severity);
    for check in ["huge pages", "/dev/shm", "ptrace", "cards", "launcher"] {
        assert_eq!(of(check), Some(Severity::Note), "{check}");
    }
}

#[test]
fn every_sick_part_is_named_with_reason_and_fix() {
    let cards = vec![card()];
    let cases: Vec<(Facts, &str, Severity)> = vec![
        (Facts { memory: (1 << 20, "memory.max".into()), ..healthy() }, "memory", Severity::Warning),
        (Facts { no_shared_memory: Some("EPERM".into()), ..healthy() }, "shared memory", Severity::Fault),
        (Facts { no_port: Some("EADDRINUSE".into()), ..healthy() }, "ports", Severity::Fault),
        (Facts { open_files: 256, ..healthy() }, "open files", Severity::Warning),
        (Facts { addresses: Some(40 << 30), ..healthy() }, "addresses", Severity::Warning),
        (Facts { processors: (2, 64), ..healthy() }, "processors", Severity::Warning),
        (Facts { numa_balancing: true, ..healthy() }, "topology", Severity::Warning),
        (Facts { other_tools: vec!["/usr/bin/oshcc".into()], ..healthy() }, "tools", Severity::Warning),
        (Facts { load: 3.0, ..healthy() }, "load", Severity::Warning),
        (Facts { processes: Some((10, 100, "pids.max".into())), ..healthy() }, "processes", Severity::Warning),
        (Facts { missing_modules: Some("/usr/include".into()), ..healthy() }, "Fortran", Severity::Warning),
        (
            Facts { lockable: Some(64 << 10), libraries: vec![], cards: cards.clone(), ..healthy() },
            "locked memory",
            Severity::Warning,
        ),
        (Facts { dev_shm: Some(64 << 20), libraries: vec![], cards, ..healthy() }, "/dev/shm", Severity::Warning),
    ];
    for (facts, check, severity) in cases {
        assert_eq!(complaints(&facts), [(check, severity)]);
    }
    // On a part of a large machine the load of the other parts is none of ours.
    let part = Facts { load: 3.0, processors: (1, 1), online_processors: 64, ..healthy() };
    assert_eq!(complaints(&part), []);
}

#[test]
fn a_card_needs_a_link_an_address_and_a_library() {
    let with = |card| Facts { cards: vec![card], libraries: vec![], ..healthy() };
    assert_eq!(complaints(&with(card())), []);
    assert_eq!(complaints(&with(CardPort { state: "1: DOWN".into(), ..card() })), [("cards", Severity::Warning)]);
    let roce = CardPort { link: "Ethernet".into(), ..card() };
    assert_eq!(complaints(&with(roce.clone())), [("cards", Severity::Warning)]);
    assert_eq!(complaints(&with(CardPort { roce_addresses: 2, ..roce })), []);
    assert_eq!(complaints(&Facts { cards: vec![card()], ..healthy() }), [("libraries", Severity::Warning)]);
}

#[test]
fn builds_and_clocks_of_hosts_are_compared() {
    let other = Facts { host: "n2".into(), build: "2 def".into(), ..healthy() };
    assert_eq!(builds(&[healthy(), healthy()]).map(|verdict| verdict.severity), Some(Severity::Good));
    let fault = builds(&[healthy(), healthy(), other]).expect("there are hosts");
    assert_eq!((fault.severity, fault.host.as_str()), (Severity::Fault, "n2"));
    let why = fault.because.expect("it has one");
    assert!(why.contains(&healthy().build) && why.ends_with("and not 2 def"), "{why}");
    let second = 1_000_000_000;
    assert_eq!(clock("n2", 10 * second, 10 * second + 5_000_000, 10 * second + 8_000_000).severity, Severity::Good);
    assert_eq!(clock("n2", 10 * second, 12 * second, 10 * second + 1000).severity, Severity::Warning);
    // A slow answer proves nothing.
    assert_eq!(clock("n2", 10 * second, 12 * second, 14 * second).severity, Severity::Good);
}
