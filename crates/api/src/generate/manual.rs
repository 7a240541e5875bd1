//! The manual: pages for `man`, from their sources, the routine table, the knob table and what the tools say of themselves.

use oxshmem_base::knobs::{IGNORED, KnobSubject, SUBJECTS};
use roff::{Inline, Roff, bold, italic, roman};

use super::manual_synopsis::{Forms, c, forms, fortran, fortran_2008, generics};
use super::{File, f08};
use crate::constants::GROUPS;
use crate::fortran::FortranStatus;
use crate::manual::{ManualBlock, Page, quoted};

/// A tool's answer to a request for help.
#[derive(Debug)]
pub struct Help {
    /// The tool, and the subcommand if it is about one.
    pub command: String,
    /// Its text.
    pub text: String,
}

/// All files of the manual, with paths below `share/man`: the pages, and a file that points to its page for every
/// routine in C and Fortran.
pub fn pages(sources: &[Page], help: &[Help]) -> Vec<File> {
    let mut files = Vec::new();
    for page in sources {
        let target = page.path(&page.name);
        let aliases = page.aliases();
        files.push(File { text: render(page, help), path: target.clone() });
        files.extend(aliases.iter().map(|alias| File { path: page.path(alias), text: format!(".so {target}\n") }));
    }
    files
}

fn render(page: &Page, help: &[Help]) -> String {
    let mut roff = Roff::new();
    let section = page.section.to_string();
    let version = concat!("oxshmem ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [page.name.as_str(), &section, " ", version, "OpenSHMEM"]);
    // Names are not to be broken, and lines are not to be stretched.
    roff.control("nr", ["HY", "0"]).control("nh", []).control("ad", ["l"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{} - {}", names(page).join(", "), page.purpose))]);
    synopsis(&mut roff, page);
    for section in &page.sections {
        roff.control("SH", [section.title.to_uppercase().as_str()]);
        match section.title.as_str() {
            "See also" => see_also(&mut roff, page),
            _ => section.blocks.iter().for_each(|block| show(&mut roff, block)),
        }
        match section.title.as_str() {
            "Description" => tables(&mut roff, page),
            "Options" => options(&mut roff, page, help),
            "Environment" if page.section == 7 => environment(&mut roff),
            "Constants" if page.section == 7 => constants(&mut roff, page.name == "shmem_f08"),
            _ => {}
        }
    }
    roff.render()
}

/// The names in the first line, by which `apropos` finds the page too: without the types, of which there are many.
fn names(page: &Page) -> Vec<String> {
    let mut names = vec![page.name.clone()];
    for name in page.names.iter().cloned().chain(page.families.iter().map(|family| family.generic_name())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn synopsis(roff: &mut Roff, page: &Page) {
    let (c, generics, fortran) = (c(page), generics(page), fortran(page));
    if c.is_empty() && fortran.is_empty() {
        return;
    }
    roff.control("SH", ["SYNOPSIS"]);
    code(roff, &c);
    if !generics.is_empty() {
        roff.control("SS", ["C11 and C++"]);
        code(roff, &generics);
    }
    if !fortran.is_empty() {
        roff.control("SS", ["Fortran"]);
        code(roff, &fortran);
    }
    let modern = fortran_2008(page);
    if !modern.is_empty() {
        roff.control("SS", ["Fortran 2008"]);
        code(roff, &modern);
    }
}

/// Types and editions.
fn tables(roff: &mut Roff, page: &Page) {
    if page.families.is_empty() {
        return;
    }
    roff.control("SS", ["Types and standing"]);
    let legend = "SINCE is the edition of OpenSHMEM that brought a form.";
    roff.control("PP", []).text([roman(legend)]);
    for Forms { names, rows, standing } in forms(page) {
        let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let end = if rows.is_empty() { format!(": {standing}.") } else { ":".into() };
        paragraph(roff, &format!("{list}{end}"));
        if !rows.is_empty() {
            code(roff, &aligned(&rows));
        }
    }
    if page.families.iter().any(|family| family.ctx && family.parts.iter().any(|part| part.since < "1.4")) {
        paragraph(roff, "Forms with a context came with 1.4 or with the form itself, whichever is later.");
    }
    if page.entries.iter().any(|entry| entry.status == FortranStatus::Standard) {
        paragraph(roff, "The standard has Fortran up to 1.4.");
    }
}

/// The answers of the tools that have a name of the page; a subcommand is named as `git` names its own, by a hyphen.
fn options(roff: &mut Roff, page: &Page, help: &[Help]) {
    let named = |command: &str| page.name == command || page.names.iter().any(|name| name == command);
    for Help { command, text } in help.iter().filter(|help| named(&help.command.replace(' ', "-"))) {
        roff.control("SS", [command.as_str()]);
        let lines: Vec<String> = text.lines().map(|line| line.trim_end().into()).collect();
        code(roff, &lines);
    }
}

/// Every environment variable, as its row describes it, below its subject.
fn environment(roff: &mut Roff) {
    for KnobSubject { title, knobs } in SUBJECTS {
        roff.control("SS", [*title]);
        for knob in *knobs {
            roff.control("TP", []).text([bold(knob.name)]);
            let mut text = format!("{}. Value: {}. Default: {}.", capital(knob.doc), knob.values(), knob.default);
            if !knob.aliases.is_empty() {
                text += &format!(" Also read as {}.", knob.aliases.join(", "));
            }
            roff.text([roman(text)]);
        }
    }
    roff.control("SS", ["Accepted without effect"]);
    roff.text([roman("Scripts that were written for other libraries may set these:")]);
    for knob in IGNORED {
        roff.control("TP", []).text([bold(knob.name)]).text([roman(format!("{}.", capital(knob.doc)))]);
    }
}

/// Every constant of the headers, or of the Fortran module, with its value.
fn constants(roff: &mut Roff, in_module: bool) {
    let row = |(name, value): &(&str, &str)| {
        if in_module {
            vec![f08::constant(name), f08::in_fortran(value)]
        } else {
            vec![format!("SHMEM_{name}"), value.to_string()]
        }
    };
    for group in GROUPS {
        paragraph(roff, group.title);
        code(roff, &aligned(&group.constants.iter().map(row).collect::<Vec<_>>()));
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn see_also(roff: &mut Roff, page: &Page) {
    let texts = page.section("See also").into_iter().flat_map(|section| &section.blocks);
    let names = texts.filter_map(|block| if let ManualBlock::Text(text) = block { Some(quoted(text)) } else { None });
    let mut line = Vec::new();
    for name in names.flatten() {
        let (name, section) = name.split_once('(').unwrap_or((name, "3)"));
        if !line.is_empty() {
            line.push(roman(", "));
        }
        line.extend([bold(name), roman(format!("({section}"))]);
    }
    roff.text(line);
}

fn show(roff: &mut Roff, block: &ManualBlock) {
    match block {
        ManualBlock::Heading(text) => {
            roff.control("SS", [text.as_str()]);
        }
        ManualBlock::Text(text) => paragraph(roff, text),
        ManualBlock::Term(term, text) => {
            roff.control("TP", []).text(inline(term)).text(inline(text));
        }
        ManualBlock::Item(text) => {
            roff.control("IP", ["-", "2"]).text(inline(text));
        }
        ManualBlock::Table(rows) => code(roff, &aligned(rows)),
        ManualBlock::Code(_, lines) => code(roff, lines),
        ManualBlock::Behaviours(_) => {}
    }
}

fn paragraph(roff: &mut Roff, text: &str) {
    roff.control("PP", []).text(inline(text));
}

/// Lines as they are.
fn code(roff: &mut Roff, lines: &[String]) {
    roff.control("PP", []).control("RS", ["4"]).control("EX", []);
    for line in lines {
        roff.text([roman(line.as_str())]);
    }
    roff.control("EE", []).control("RE", []);
}

/// Text in which backticks mark what is typed and stars what is stressed; a star between blanks is a product.
fn inline(text: &str) -> Vec<Inline> {
    let product = "\u{d7}";
    let text = text.replace(" * ", &format!(" {product} "));
    let mut pieces = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            pieces.push(bold(part));
            continue;
        }
        for (at, part) in part.split('*').enumerate().filter(|(_, part)| !part.is_empty()) {
            let part = part.replace(product, "*");
            pieces.push(if at % 2 == 1 { italic(part) } else { roman(part) });
        }
    }
    pieces
}

/// Cells in columns.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| plain(cell).len()).max();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let padded = cells.map(|(at, cell)| format!("{:<1$}", plain(cell), width(at).unwrap_or(0)));
        padded.collect::<Vec<_>>().join("   ").trim_end().to_string()
    };
    rows.iter().map(line).collect()
}

/// The text without the marks of its style.
fn plain(text: &str) -> String {
    text.replace('`', "")
}
