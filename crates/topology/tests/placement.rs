//! Where PEs go on the machines that the tests know: the tables that users see, and one picture.
//!
//! With BLESS=1 what comes out becomes what is expected; look at the difference before you commit it.

mod machines;

use std::path::Path;
use std::sync::Mutex;

use machines::machine;
use oxshmem_base::knobs::NicPolicy;
use oxshmem_topology::map::{self, Shown};
use oxshmem_topology::nic::{self, Wish};
use oxshmem_topology::{Bind, Map, Node, PePlace, below, picture, placement};

/// A machine of the list; each is looked at once.
fn node(name: &'static str) -> Node {
    static KNOWN: Mutex<Vec<(&str, Node)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().expect("no test fails in here");
    if let Some((_, node)) = known.iter().find(|(other, _)| *other == name) {
        return node.clone();
    }
    let node = below(&machine(name).tree().0).expect("a whole tree");
    known.push((name, node.clone()));
    node
}

fn placed(node: &Node, pes: usize, bind: Bind, map: Map, wish: &Wish) -> Vec<PePlace> {
    let all: Vec<u32> = node.processors.iter().map(|processor| processor.cpu).collect();
    let cpus = placement::processors(node, &all, pes, bind, map);
    let mut places = placement::places(node, &cpus);
    nic::assign(node, &mut places, wish).expect("a card for everybody");
    places
}

fn shown<'n>(name: &'n str, node: &'n Node, pes: &'n [u32], places: &'n [PePlace]) -> Shown<'n> {
    Shown { host: name, node, source: "/sys", pes, places }
}

/// Compares with a file of `tests/expected`.
fn expect(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("the expectation");
    }
    let expected = std::fs::read_to_string(&path).expect("the expectation");
    assert!(text == expected, "{file} is expected to be\n{expected}\nand is\n{text}");
}

#[test]
fn tables_of_all_machines() {
    let near = Wish::default();
    let cray = |policy, number| Wish::new(policy, None, number).expect("a policy");
    let table: [(&'static str, usize, Bind, Map, Wish, &str); 9] = [
        ("two-socket-infiniband", 4, Bind::Core, Map::Block, near.clone(), "4-cores"),
        ("two-socket-infiniband", 5, Bind::Core, Map::Numa, near.clone(), "5-cores-by-numa"),
        ("two-socket-infiniband", 3, Bind::None, Map::Block, near.clone(), "3-unbound"),
        ("slingshot-four-cards", 8, Bind::Core, Map::Block, near.clone(), "8-cores"),
        ("slingshot-four-cards", 6, Bind::Numa, Map::Numa, cray(NicPolicy::Numa, None), "6-numa-nodes"),
        ("slingshot-four-cards", 8, Bind::Core, Map::Block, cray(NicPolicy::Block, Some("2:1,3")), "8-cores-two-cards"),
        ("laptop", 4, Bind::Core, Map::Block, near.clone(), "4-cores"),
        ("laptop", 6, Bind::Core, Map::Block, near.clone(), "6-on-4-cores"),
        ("cloud-without-numa", 2, Bind::Core, Map::Block, near, "2-cores"),
    ];
    for (name, pes, bind, map, wish, what) in table {
        let node = node(name);
        let places = placed(&node, pes, bind, map, &wish);
        let numbers: Vec<u32> = (0..pes as u32).collect();
        expect(&format!("{name}.{what}.txt"), &map::text(&shown(name, &node, &numbers, &places)));
    }
}

#[test]
fn pictures() {
    for (name, pes, bind) in [("slingshot-four-cards", 16, Bind::Core), ("two-socket-infiniband", 6, Bind::Numa)] {
        let node = node(name);
        let places = placed(&node, pes, bind, Map::Block, &Wish::default());
        let numbers: Vec<u32> = (0..pes as u32).collect();
        expect(&format!("{name}.svg"), &picture::svg(&shown(name, &node, &numbers, &places)));
    }
}

#[test]
fn a_picture_counts_its_pes() {
    let node = node("laptop");
    for (numbers, title) in [(&[3][..], "<title>1 PE on laptop<"), (&[0, 1], "<title>2 PEs on laptop<")] {
        let places = placed(&node, numbers.len(), Bind::Core, Map::Block, &Wish::default());
        let picture = picture::svg(&shown("laptop", &node, numbers, &places));
        assert!(picture.contains(title), "{picture}");
    }
}

#[test]
fn one_line_for_the_curious() {
    let node = node("two-socket-infiniband");
    let places = placed(&node, 4, Bind::Core, Map::Block, &Wish::default());
    let machine = "node: 2 packages, 2 NUMA nodes, 2 L3s, 32 cores, 64 processors (by /sys)";
    assert_eq!(
        map::line(&shown("node", &node, &[0, 1, 2, 3], &places)),
        format!(
            "{machine}; PE 0-1 on NUMA 0 with mlx5_0 (PE 0 bound to processors 0,32, PE 1 bound to processors 8,40); \
             PE 2-3 on NUMA 1 with mlx5_1 (PE 2 bound to processors 16,48, PE 3 bound to processors 24,56)"
        )
    );
    let places = placed(&node, 2, Bind::None, Map::Block, &Wish::default());
    assert!(map::line(&shown("node", &node, &[0, 1], &places)).ends_with(" (not bound)"));
    let places = placed(&node, 1, Bind::Core, Map::Block, &Wish::default());
    let line = map::line(&shown("node", &node, &[0], &places));
    assert!(line.ends_with("; PE 0 on NUMA 0 with mlx5_0 (bound to processors 0,32)"), "{line}");
}

#[test]
fn groups_for_collectives() {
    let node = node("slingshot-four-cards");
    let places = placed(&node, 16, Bind::Core, Map::Block, &Wish::default());
    let groups = placement::groups(&places);
    assert_eq!(groups.numa, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
    assert_eq!(groups.l3, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
    assert_eq!(groups.package, [0; 16]);
}
