//! The places of a program behind addresses: file and line where the program was compiled with `-g`, else the function.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use addr2line::Loader;
use oxshmem_profile::totals::{CallAddress, CallPlace, Total};

/// The places that have been looked up.
#[derive(Default)]
pub(crate) struct ProgramPlaces {
    files: HashMap<String, Option<Loader>>,
    known: HashMap<CallAddress, String>,
}

impl ProgramPlaces {
    /// The places of the program with their routines, by time. A compiler makes several calls of one line: they are one place.
    pub(crate) fn of(&mut self, sites: &BTreeMap<(String, CallPlace), Total>) -> Vec<((String, String), Total)> {
        let mut by_name: BTreeMap<(String, String), Total> = BTreeMap::new();
        for ((routine, site), total) in sites {
            by_name.entry((routine.clone(), self.name(site))).or_default().merge(total);
        }
        by_time(by_name)
    }

    pub(crate) fn name(&mut self, place: &CallPlace) -> String {
        match place {
            CallPlace::Address(address) => self.of_address(address),
            CallPlace::Line(line) => line.split_once(" at ").map_or(line.as_str(), |(_, line)| line).into(),
        }
    }

    fn of_address(&mut self, site: &CallAddress) -> String {
        if let Some(name) = self.known.get(site) {
            return name.clone();
        }
        let file = self.files.entry(site.file.clone()).or_insert_with(|| Loader::new(&site.file).ok());
        let name = file.as_ref().and_then(|file| look_up(file, site.address)).unwrap_or_else(|| plain(site));
        self.known.insert(site.clone(), name.clone());
        name
    }
}

/// A place behind a verb: at a line, and without lines in a function, whose name begins with the word.
pub(crate) fn behind_verb(place: &str) -> String {
    if place.starts_with("in ") { format!(" {place}") } else { format!(" at {place}") }
}

pub(crate) fn by_time<K, T: Borrow<Total>>(totals: impl IntoIterator<Item = (K, T)>) -> Vec<(K, T)> {
    let mut rows: Vec<(K, T)> = totals.into_iter().filter(|(_, total)| total.borrow().calls > 0).collect();
    rows.sort_by(|a, b| b.1.borrow().time.total_cmp(&a.1.borrow().time));
    rows
}

/// The call lies before the address to which it returns. The routines of the header that C++ inlines are not the program's.
fn look_up(file: &Loader, behind: u64) -> Option<String> {
    let at = behind.checked_sub(1)?;
    let mut place = None;
    if let Ok(mut frames) = file.find_frames(at) {
        while let Ok(Some(frame)) = frames.next() {
            let Some((path, line)) = frame.location.and_then(|location| location.file.zip(location.line)) else {
                continue;
            };
            let name = last_part(path);
            place = Some(format!("{name}:{line}"));
            if !["shmem.h", "shmemx.h"].contains(&name) {
                break;
            }
        }
    }
    place.or_else(|| file.find_symbol(at).map(|function| format!("in {function}")))
}

fn plain(site: &CallAddress) -> String {
    match site.file.as_str() {
        "" => "unknown".into(),
        file => format!("{}+{:#x}", last_part(file), site.address),
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_this_program_has_a_line_or_a_function() {
        let here = std::env::current_exe().expect("a test is a file");
        let file = here.display().to_string();
        let loader = Loader::new(&file).expect("this program can be read");
        let own = a_place_of_this_program_has_a_line_or_a_function as *const () as usize as u64;
        // A position-independent program lies elsewhere in memory; the symbol's low bits are those of the file.
        assert!(loader.find_symbol(own).is_none_or(|name| !name.is_empty()));
        let mut places = ProgramPlaces::default();
        let unknown = CallAddress { file: "/nowhere/lib.so".into(), address: 0x10 };
        assert_eq!(places.name(&CallPlace::Address(unknown)), "lib.so+0x10");
        assert_eq!(places.of_address(&CallAddress { file: String::new(), address: 1 }), "unknown");
        for line in ["step at heat.py:28", "heat.py:28"] {
            assert_eq!(places.name(&CallPlace::Line(line.into())), "heat.py:28");
        }
    }

    #[test]
    fn calls_of_one_line_are_one_place() {
        let site = |line: &str| ("shmem_put".to_owned(), CallPlace::Line(line.into()));
        let total = |calls, time| {
            let mut total = Total::default();
            (total.calls, total.time) = (calls, time);
            total
        };
        let sites = [
            (site("step at heat.py:28"), total(2, 4.0)),
            (site("heat.py:28"), total(1, 8.0)),
            (site("heat.py:9"), total(1, 1.0)),
        ];
        let places = ProgramPlaces::default().of(&sites.into());
        let told: Vec<_> = places.iter().map(|((_, place), total)| (place.as_str(), total.calls, total.time)).collect();
        assert_eq!(told, [("heat.py:28", 3, 12.0), ("heat.py:9", 1, 1.0)]);
    }
}
