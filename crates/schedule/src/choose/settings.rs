//! The names that a job's variables give to collectives, as rows.

use alloc::vec::Vec;

use super::{ALL, ANY, Row};
use crate::algorithm::Collective;
use crate::algorithm::names::{find, serving};

/// The names that stand for no schedule: the rows as they are, and the engine of the node.
const WITHOUT_SCHEDULE: [&str; 2] = ["auto", "node"];

/// Has `name` answer for the collectives of a family, before the rows that there are. A name that serves none of them is an
/// error: the names that there are.
pub fn prefer(rows: &mut Vec<Row>, collectives: &[Collective], name: &str) -> Result<(), Vec<&'static str>> {
    match name {
        "auto" => {}
        "node" => rows.retain(|row| !collectives.contains(&row.collective)),
        name => {
            let row = |&collective: &Collective| {
                let schedule = find(collective, name)?;
                Some(Row { collective, max_size: ANY, max_bytes: ALL, schedule })
            };
            let named: Vec<Row> = collectives.iter().filter_map(row).collect();
            if named.is_empty() {
                return Err(WITHOUT_SCHEDULE.into_iter().chain(serving(collectives)).collect());
            }
            rows.splice(0..0, named);
        }
    }
    Ok(())
}
