//! The manual against the routine table: nothing is missing, and nothing is named that does not exist.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use oxshmem_api::constants::{EXTENSIONS, FORTRAN_TEAMS, GROUPS, HINTS, UNDERSCORED};
use oxshmem_api::fortran;
use oxshmem_api::generate::{Help, manual_pages};
use oxshmem_api::manual::{ManualBlock, Page, folder, pages, quoted};
use oxshmem_api::prototype::Prototype;
use oxshmem_api::table::families;
use oxshmem_base::knobs::{self, Knob};

fn sources() -> Vec<Page> {
    pages().unwrap_or_else(|error| panic!("{error}"))
}

/// The pages about routines.
fn routines() -> Vec<Page> {
    sources().into_iter().filter(|page| page.section == 3).collect()
}

#[test]
fn every_row_is_on_one_page() {
    let mut seen: BTreeMap<String, Vec<String>> = families().map(|family| (family.pattern(), vec![])).collect();
    seen.extend(fortran::entries().into_iter().map(|entry| (entry.pattern, vec![])));
    for page in routines() {
        let c = page.families.iter().map(|family| family.pattern());
        let fortran: BTreeSet<String> = page.entries.iter().map(|entry| entry.pattern.clone()).collect();
        for pattern in c.chain(fortran) {
            seen.get_mut(&pattern).expect("pages name rows only").push(page.name.clone());
        }
    }
    for (pattern, pages) in &seen {
        assert!(pages.len() < 2, "{pattern} is on the pages {pages:?}");
    }
    let missing: Vec<&String> = seen.iter().filter(|(_, pages)| pages.is_empty()).map(|(pattern, _)| pattern).collect();
    assert!(missing.is_empty(), "without a page: {missing:#?}");
}

#[test]
fn names_of_files_and_rows_are_unique() {
    for page in sources() {
        assert!(folder().join(page.file()).exists(), "{} lies in a file of another name", page.name);
    }
    let patterns: Vec<String> = families().map(|family| family.pattern()).collect();
    assert_eq!(patterns.iter().collect::<BTreeSet<_>>().len(), patterns.len());
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for file in manual_pages(&sources(), &[]) {
        let before = seen.insert(file.path.clone(), file.text.clone());
        assert!(before.is_none_or(|before| before == file.text), "{} is on two pages", file.path);
    }
}

#[test]
fn every_parameter_is_described() {
    let mut wrong = Vec::new();
    for page in routines() {
        let c = page.families.iter().flat_map(|family| {
            let context = family.ctx.then(|| "ctx".to_string());
            Prototype::parse(family.prototype).parameters.into_iter().map(|parameter| parameter.name).chain(context)
        });
        // A length that the compiler passes behind the programmer's back is no pointer.
        let visible = |entry: &fortran::FortranEntry| {
            let parameters = entry.prototype.parameters.clone();
            parameters.into_iter().filter(|parameter| parameter.ctype.ends_with('*')).map(|parameter| parameter.name)
        };
        let wanted: BTreeSet<String> = c.chain(page.entries.iter().flat_map(visible)).collect();
        let blocks = page.section("Arguments").map_or(&[][..], |section| &section.blocks);
        let described: BTreeSet<String> = blocks
            .iter()
            .filter_map(|block| if let ManualBlock::Term(term, _) = block { Some(quoted(term)) } else { None })
            .flatten()
            .map(String::from)
            .collect();
        if described != wanted {
            let missing: Vec<_> = wanted.difference(&described).collect();
            let surplus: Vec<_> = described.difference(&wanted).collect();
            wrong.push(format!("{}: not described {missing:?}, described but no argument {surplus:?}", page.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_page_has_its_sections() {
    let wanted = ["Description", "Arguments", "Return value", "Notes", "Example", "See also"];
    for page in routines() {
        let titles: Vec<&str> = page.sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, wanted, "{}", page.name);
        assert!(page.programs("c").count() + page.programs("fortran").count() > 0, "{} has no program", page.name);
    }
    for page in sources() {
        assert!(page.sections.iter().all(|section| !section.blocks.is_empty()), "{}: an empty section", page.name);
        assert_eq!(page.sections.last().expect("there is a section").title, "See also", "{}", page.name);
    }
}

/// Every name in backticks that looks like one of ours is one.
#[test]
fn names_exist() {
    let known = known();
    let mut wrong = Vec::new();
    for page in sources() {
        let texts = page.blocks().filter_map(|block| match block {
            ManualBlock::Text(text) | ManualBlock::Item(text) | ManualBlock::Heading(text) => Some(text.clone()),
            ManualBlock::Term(term, text) => Some(format!("{term} {text}")),
            ManualBlock::Table(rows) => Some(rows.concat().join(" ")),
            ManualBlock::Code(..) | ManualBlock::Behaviours(_) => None,
        });
        for text in texts {
            for name in quoted(&text).into_iter().map(|code| code.split(['(', '=', ' ']).next().unwrap_or(code)) {
                let ours = ["shmem", "SHMEM_", "SHMEMX_"].iter().any(|start| name.starts_with(start));
                let is_prefix = name.ends_with('_');
                if ours && !is_prefix && !known.contains(name) {
                    wrong.push(format!("{}: {name}", page.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn see_also_leads_to_pages() {
    let files: BTreeSet<String> = manual_pages(&sources(), &[]).into_iter().map(|file| file.path).collect();
    for page in sources() {
        for block in &page.section("See also").expect("every page ends with it").blocks {
            let ManualBlock::Text(text) = block else { panic!("{}: See also is a list in a line", page.name) };
            for name in quoted(text) {
                let (name, section) = name.trim_end_matches(')').split_once('(').unwrap_or((name, "3"));
                let path = format!("man{section}/{name}.{section}");
                assert!(files.contains(&path), "{}: there is no {path}", page.name);
                assert!(path != page.path(&page.name), "{}: a page need not lead to itself", page.name);
            }
        }
    }
}

/// Each behaviour that a conformance program shows is on some page.
#[test]
fn every_behaviour_is_stated() {
    let pages = sources();
    let stated: BTreeSet<&str> = pages
        .iter()
        .flat_map(Page::blocks)
        .filter_map(|block| if let ManualBlock::Behaviours(numbers) = block { Some(numbers) } else { None })
        .flatten()
        .map(String::as_str)
        .collect();
    let lists =
        [include_str!("../../shmem-c/tests/behaviours.txt"), include_str!("../../shmem-c/tests/teams/behaviours.txt")];
    let numbers = lists.iter().flat_map(|list| list.lines()).filter(|line| !line.starts_with('#'));
    let shown: BTreeSet<&str> = numbers.filter_map(|line| line.split('\t').next()).collect();
    let missing: Vec<_> = shown.difference(&stated).collect();
    assert!(missing.is_empty(), "{} behaviours are on no page: {missing:?}", missing.len());
    let unknown: Vec<_> = stated.difference(&shown).collect();
    assert!(unknown.is_empty(), "no behaviour has these numbers: {unknown:?}");
}

#[test]
fn sources_keep_to_the_style() {
    for page in sources() {
        let path = folder().join(page.file());
        let text = fs::read_to_string(&path).expect("the page has been read before");
        for (number, line) in text.lines().enumerate() {
            let wide = line.chars().count() > 120;
            let odd = line.ends_with(' ') || line.contains('\t');
            assert!(!wide && !odd, "{}:{}: too long, a tab or blanks at the end", path.display(), number + 1);
        }
        assert!(!page.purpose.ends_with('.') && page.purpose.len() < 75, "{}: {}", page.name, page.purpose);
    }
}

#[test]
fn environment_and_options_come_from_their_own_places() {
    let help = Help { command: "oshrun".into(), text: "Usage: oshrun -n N PROGRAM".into() };
    let files = manual_pages(&sources(), &[help]);
    let text = |path: &str| &files.iter().find(|file| file.path == path).expect("the page is made").text;
    for knob in knobs::all() {
        assert!(text("man7/oxshmem.7").contains(knob.name), "{} is not in oxshmem(7)", knob.name);
    }
    for subject in knobs::SUBJECTS {
        let is_its_heading = |line: &str| line.starts_with(".SS ") && line.contains(subject.title);
        assert!(text("man7/oxshmem.7").lines().any(is_its_heading), "oxshmem(7) has no part `{}`", subject.title);
    }
    assert!(text("man1/oshrun.1").contains("Usage: oshrun"));
    assert_eq!(text("man3/shmem_long_max_to_all.3"), ".so man3/shmem_max_to_all.3\n");
    // Fortran has no other spelling of a shift, and does not tell a constant from a routine.
    for constant in ["SHMEM_CTX_NOSTORE             4", "SHMEM_SIG_ADD   1"] {
        assert!(text("man7/shmem_f08.7").contains(constant), "{constant} is not in shmem_f08(7)");
    }
    assert!(!text("man7/shmem_f08.7").contains("1L <<"));
    // A count is an INTEGER whatever the kind, and an element is of the kind.
    let page = text("man3/shmem_max_to_all.3");
    for line in ["    INTEGER nreduce, PE_start, logPE_stride, PE_size", "    KIND dest(*), source(*), pWrk(*)"] {
        assert!(page.lines().any(|known| known == line), "shmem_max_to_all(3) does not declare `{line}`");
    }
}

/// All that a page may name.
fn known() -> BTreeSet<String> {
    let mut known: BTreeSet<String> = ["shmem.h", "shmemx.h", "shmem", "shmemx", "shmem_f08"].map(String::from).into();
    let includes = ["shmem.fh", "shmemx.fh", "shmem_functions.fh", "shmemx_functions.fh", "shmem_f08.f90"];
    known.extend(includes.map(String::from));
    for kind in ["shmem_ctx_t", "shmem_team_t", "shmem_team_config_t", "shmem_ctx_session_config_t"] {
        known.insert(kind.into());
    }
    for handle in ["CTX_DEFAULT", "CTX_INVALID", "TEAM_WORLD", "TEAM_SHARED", "TEAM_INVALID"] {
        known.insert(format!("SHMEM_{handle}"));
    }
    known.extend(FORTRAN_TEAMS.iter().map(|(name, _)| format!("SHMEM_TEAM_{name}")));
    known.insert("SHMEMX_TEAM_NODE".into());
    known.extend(HINTS.iter().map(|(name, _)| format!("SHMEMX_{name}")));
    let constants = GROUPS.iter().flat_map(|group| group.constants).chain(EXTENSIONS);
    known.extend(constants.map(|(name, _)| format!("SHMEM_{name}")));
    known.extend(UNDERSCORED.iter().map(|name| format!("_SHMEM_{name}")));
    known.extend(knobs::all().flat_map(Knob::names).map(String::from));
    known.extend(fortran::entries().iter().map(fortran::FortranEntry::name));
    known.extend(fortran::GENERICS.iter().map(|(name, _)| name.to_string()));
    known.extend(
        [
            "shmem_req_h",
            "SHMEM_REQ_INVALID",
            "SHMEM_SIG_SET",
            "SHMEM_SIG_ADD",
            "shmemx_ct_t",
            "shmemx_pcntr_t",
            "shmemx_broadcast",
            "shmem_sync",
            "shmemcc",
            "shmemc++",
            "shmemcxx",
            "shmemCC",
            "shmemfort",
        ]
        .map(String::from),
    );
    for file in manual_pages(&sources(), &[]) {
        let name = file.path.split('/').nth(1).and_then(|file| file.rsplit_once('.')).expect("man3/NAME.3");
        known.insert(name.0.into());
    }
    known
}
