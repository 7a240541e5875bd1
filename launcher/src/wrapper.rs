//! The compiler wrappers: a compiler's command line with what an OpenSHMEM program needs added to it.
//!
//! One program is all wrappers; it acts by the name that it is called by. Its action is a pure function of its
//! arguments and surroundings.

mod archive;
mod blind;
mod copies;
mod headers;
mod kinds;
mod languages;
pub mod modules;
mod response;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use oxshmem_base::{Error, names};

use modules::FortranModules;

/// A language that has a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `oshcc`
    C,
    /// `oshc++`
    Cxx,
    /// `oshfort`
    Fortran,
}

impl Language {
    /// The language that a wrapper's name stands for.
    pub fn of_name(name: &str) -> Option<Language> {
        Some(match name {
            "oshcc" | "shmemcc" => Language::C,
            "oshc++" | "oshcxx" | "oshCC" | "shmemc++" | "shmemcxx" | "shmemCC" => Language::Cxx,
            "oshfort" | "shmemfort" => Language::Fortran,
            _ => return None,
        })
    }

    /// The variables that name another compiler, and the compiler if none is set.
    fn compilers(self) -> (&'static [&'static str], &'static str) {
        match self {
            Language::C => (&["OSHCC", "SHMEM_CC"], "cc"),
            Language::Cxx => (&["OSHCXX", "SHMEM_CXX"], "c++"),
            Language::Fortran => (&["OSHFORT", "SHMEM_FC"], "gfortran"),
        }
    }
}

/// The action of the wrapper.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Prints this line.
    Print(String),
    /// Becomes this command.
    Run(Vec<OsString>),
    /// Compiles the Fortran modules of the installation.
    MakeModules(FortranModules),
    /// Does nothing, and says why.
    Refuse(Error),
}

/// Where oxshmem is installed and which compiler serves it.
#[derive(Debug)]
pub struct Wrapper {
    name: String,
    compiler: Vec<OsString>,
    include: PathBuf,
    lib: PathBuf,
    fortran: bool,
    /// The object file of the Fortran module `shmem_f08`, in its archive, if this wrapper is for Fortran and the file is there.
    module: Option<PathBuf>,
    /// Whether the compiler is clang or built on it.
    clang: bool,
}

/// Options that are ours and not the compiler's.
const OURS: [&str; 3] = [archive::OPTION, "--race", "-race"];

const HELP: &str = "is a compiler that knows OpenSHMEM: it takes the compiler's own arguments.

  -show, -showme            print the command that would run
  -showme:compile           print the arguments that compile a file
  -showme:link              print the arguments that link a program
  -showme:libs              print the names of the libraries
  -showme:libdirs           print the folders of the libraries
  -showme:incdirs           print the folders of the headers
  -showme:command           print the compiler's name
  -showme:version           print the version
  -static-oxshmem           take oxshmem from its archive, the rest as usual
  --make-modules            compile the Fortran modules of the installation (oshfort)
  --race                    look for data races between PEs when the program runs;
                            a program in Rust does with `cargo oxrun --race`; one in
                            Python is not seen, `oxshmem sim` is for it
  --help, -showme:help      print this; `cc --help` lists the compiler's own

OSHCC or SHMEM_CC, OSHCXX or SHMEM_CXX, OSHFORT or SHMEM_FC name another compiler.";

/// The arguments, with the words of a file (`@FILE`) in the place of its name where the wrapper acts by one of them.
pub fn opened(arguments: Vec<OsString>) -> Vec<OsString> {
    response::opened(arguments, matters)
}

/// Whether the wrapper acts by this argument, wherever it stands.
fn matters(argument: &OsString) -> bool {
    let is_one_of = |options: &[&str]| options.iter().any(|option| argument == option);
    is_one_of(&OURS)
        || is_one_of(&STOPS)
        || is_one_of(&[modules::OPTION])
        || makes_an_object(argument)
        || archive::is_asked_for(argument)
        || languages::are_named_by(argument)
        || copies::may_look_for_overflows(argument)
        || question(argument).is_some()
}

impl Wrapper {
    /// The wrapper of this name in the installation that has `bin` as one of its folders.
    /// `is_clang` tells whether a compiler is clang or built on it; it is asked only where that matters.
    pub fn new(
        name: &str,
        bin: &Path,
        variable: impl Fn(&str) -> Option<OsString>,
        exists: impl Fn(&Path) -> bool,
        is_clang: impl Fn(&[OsString]) -> bool,
    ) -> Wrapper {
        let language = Language::of_name(name).unwrap_or(Language::C);
        let (overrides, default) = language.compilers();
        let values = overrides.iter().filter_map(|name| variable(name));
        let chosen = values.map(|value| words(value, &exists)).find(|words| names_a_compiler(words));
        let prefix = bin.parent().unwrap_or(Path::new("/"));
        let compiler = chosen.unwrap_or_else(|| vec![default.into()]);
        let lib = libraries(prefix, &exists);
        let fortran = language == Language::Fortran;
        let module = fortran.then(|| lib.join(modules::ARCHIVE)).filter(|path| exists(path));
        Wrapper {
            name: name.into(),
            clang: is_clang(&compiler),
            compiler,
            include: prefix.join("include"),
            lib,
            fortran,
            module,
        }
    }

    /// The action that these arguments ask for.
    pub fn act(&self, arguments: &[OsString]) -> Action {
        let asked = arguments.iter().find_map(question);
        let arguments: Vec<OsString> =
            arguments.iter().filter(|argument| question(argument).is_none()).cloned().collect();
        match asked.map(|asked| asked.trim_start_matches('-')) {
            // Without a file the question is about the wrapper itself: everything that it would add to one.
            Some("show" | "showme") => Action::Print(line(self.command_with_flags(&arguments))),
            Some("showme:compile") => Action::Print(line(self.compile_flags(&arguments))),
            Some("showme:link") => Action::Print(line(self.link_flags(&arguments))),
            Some("showme:libs") => Action::Print("oxshmem".into()),
            Some("showme:libdirs") => Action::Print(quoted(self.lib.as_os_str())),
            Some("showme:incdirs") => Action::Print(quoted(self.include.as_os_str())),
            Some("showme:command") => Action::Print(line(self.compiler.clone())),
            Some("showme:version") => {
                Action::Print(format!("{}: oxshmem {} (OpenSHMEM 1.6)", self.name, env!("CARGO_PKG_VERSION")))
            }
            Some("help" | "showme:help") => Action::Print(format!("{} {HELP}", self.name)),
            Some(_) => Action::Refuse(unknown(asked.unwrap_or_default(), &self.name)),
            None if self.fortran && arguments.iter().any(|argument| argument == modules::OPTION) => {
                let (compiler, include, lib) = (self.compiler.clone(), self.include.clone(), self.lib.clone());
                Action::MakeModules(FortranModules { compiler, include, lib })
            }
            None if arguments.last().is_some_and(|last| last == "-o") => Action::Refuse(
                Error::new("-o stands at the end, without the name of a file")
                    .because("the compiler would take the folder of oxshmem's headers for the name")
                    .fix("write `-o NAME`"),
            ),
            None if asks_for_races(&arguments) && arguments.iter().any(archive::is_asked_for) => Action::Refuse(
                Error::new("--race does not go together with a library from an archive")
                    .because("the race detector puts itself between the program and the shared library")
                    .fix("leave out -static and -static-oxshmem"),
            ),
            None => Action::Run(self.command(&arguments)),
        }
    }

    /// A note for the user, before the compiler complains in its own words.
    pub fn note(&self, arguments: &[OsString]) -> Option<Error> {
        let of_modules = self.fortran.then(|| modules::note(&self.include, arguments)).flatten();
        let links = has_input(arguments) && is_link(arguments);
        let of_kinds = || self.fortran.then(|| kinds::note(arguments)).flatten();
        of_modules
            .or_else(of_kinds)
            .or_else(|| (links && asks_for_races(arguments)).then(|| blind::note(arguments)).flatten())
    }

    /// The compiler's command, with our flags where it has something to work on.
    fn command(&self, arguments: &[OsString]) -> Vec<OsString> {
        if has_input(arguments) {
            return self.command_with_flags(arguments);
        }
        self.compiler.iter().chain(theirs(arguments)).cloned().collect()
    }

    /// The same with our flags in any case. The user's arguments come first, so that their folders are searched first.
    fn command_with_flags(&self, arguments: &[OsString]) -> Vec<OsString> {
        let mut command = self.compiler.clone();
        command.extend(theirs(arguments).cloned());
        command.extend(self.compile_flags(arguments));
        if is_link(arguments) {
            if arguments.iter().any(languages::are_named_by) {
                // It ends here: the compiler would read our archives as sources.
                command.extend(["-x", "none"].map(OsString::from));
            }
            command.extend(self.link_flags(arguments));
        }
        command
    }

    fn compile_flags(&self, arguments: &[OsString]) -> Vec<OsString> {
        let mut flags = vec![joined("-I", &self.include)];
        if asks_for_races(arguments) {
            // The compiler's instrumentation without its library, and with lines for the reports.
            flags.push("-g".into());
            if self.clang {
                flags.extend(CLANG_RACE.map(OsString::from))
            } else {
                flags.push(joined("-specs=", &self.lib.join("oxshmem-race.specs")))
            }
            if Language::of_name(&self.name) != Some(Language::Fortran) {
                flags.extend(copies::flags(self.compiler.iter().chain(arguments), self.clang));
            }
        }
        flags
    }

    fn link_flags(&self, arguments: &[OsString]) -> Vec<OsString> {
        let module = self.module.iter().map(|path| path.clone().into_os_string());
        module.chain(self.library_flags(arguments)).collect()
    }

    fn library_flags(&self, arguments: &[OsString]) -> Vec<OsString> {
        if let Some(flags) = archive::flags(arguments, &self.lib, self.fortran) {
            return flags;
        }
        let mut flags = vec![joined("-L", &self.lib)];
        flags.extend(run_path(&self.lib));
        if asks_for_races(arguments) {
            flags.push("-Wl,--no-as-needed,-l:liboxshmem-race.so.1".into());
            flags.push("-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset".into());
        }
        flags.push("-loxshmem".into());
        flags
    }
}

/// The folder of the libraries: the first of those that installations have in which ours lies.
fn libraries(prefix: &Path, exists: impl Fn(&Path) -> bool) -> PathBuf {
    let folders = library_folders(prefix);
    let found = folders.iter().find(|folder| exists(&folder.join("liboxshmem.so")));
    found.unwrap_or(&folders[0]).clone()
}

/// The folders in which installations have libraries.
pub(crate) fn library_folders(prefix: &Path) -> [PathBuf; 3] {
    let several = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    ["lib", "lib64", &several].map(|folder| prefix.join(folder))
}

/// How clang is told to instrument a program without linking its own library.
const CLANG_RACE: [&str; 2] = ["-fsanitize=thread", "-fno-sanitize-link-runtime"];

fn asks_for_races(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| argument == "--race" || argument == "-race")
}

/// The arguments that the compiler knows.
fn theirs(arguments: &[OsString]) -> impl Iterator<Item = &OsString> {
    arguments.iter().filter(|argument| !OURS.iter().any(|ours| argument == ours))
}

/// The argument if it is a question to the wrapper. No compiler has an option that begins in the same way.
fn question(argument: &OsString) -> Option<&str> {
    let text = argument.to_str()?;
    let word = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
    (word == "help" || word.starts_with("show")).then_some(text)
}

/// The error about a question that [`HELP`] does not list.
fn unknown(asked: &str, wrapper: &str) -> Error {
    let word = asked.trim_start_matches('-');
    let dashes = &asked[..asked.len() - word.len()];
    let error = Error::new(format!("unknown option {asked}"));
    let known = HELP.split([' ', ',', '`', '\n']).filter(|word| word.starts_with('-'));
    match names::nearest(word, known.map(|option| option.trim_start_matches('-'))) {
        Some(near) => error.fix(format!("did you mean {dashes}{near}?")),
        None => error.fix(format!("choose one of those that `{wrapper} --help` lists")),
    }
}

/// Whether the compiler is given something to work on: a file, or a library, which may have all of a program. A question like
/// `--version` gets no flags.
fn has_input(arguments: &[OsString]) -> bool {
    let mut is_value = false;
    arguments.iter().any(|argument| {
        let value = std::mem::replace(&mut is_value, argument == "-o" || argument == "-x");
        let text = argument.to_string_lossy();
        !value && (text == "-" || !text.starts_with('-') || text.starts_with("-l"))
    })
}

/// Options of the compiler that leave no room for a link of a program at the end.
const STOPS: [&str; 11] = [
    "-c",
    "-E",
    "-S",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--compile",
    "--preprocess",
    "--assemble",
    "--precompile",
    "--analyze",
];

/// Whether the arguments end in a link of a program. Headers alone are compiled; with a library they would be linked.
fn is_link(arguments: &[OsString]) -> bool {
    let mut is_of_linker = false;
    let goes_on = |argument: &OsString| {
        // An option behind `-Xlinker` is the linker's: its `-E` and `-S` do something else.
        let of_linker = std::mem::replace(&mut is_of_linker, argument == "-Xlinker");
        !makes_an_object(argument) && (of_linker || !STOPS.iter().any(|stop| argument == stop))
    };
    arguments.iter().all(goes_on) && !headers::are_alone(arguments)
}

/// Whether the argument asks for a link to an object file, in words of the compiler or of the linker. Such a link would take the library's
/// archive into the object, and the program would have the library twice.
fn makes_an_object(argument: &OsString) -> bool {
    let text = argument.to_string_lossy();
    let is_it = |word: &str| word == "-r" || word == "--relocatable";
    text.strip_prefix("-Wl,").map_or_else(|| is_it(&text), |words| words.split(',').any(is_it))
}

/// A compiler given by a variable may carry arguments: `gcc -m64`. It may also be a file whose path has blanks.
fn words(text: OsString, exists: impl Fn(&Path) -> bool) -> Vec<OsString> {
    if exists(Path::new(&text)) {
        return vec![text];
    }
    text.to_string_lossy().split_whitespace().map(OsString::from).collect()
}

/// Users set `OSHCC=oshcc` for their build system. A wrapper that obeyed it would call itself for ever.
/// It may stand behind another program, as in `ccache oshcc`. An option is no program, whatever its folder is called.
fn names_a_compiler(words: &[OsString]) -> bool {
    let is_ours = |word: &OsString| {
        let name = Path::new(word).file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| Language::of_name(name).is_some())
    };
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    !words.is_empty() && !words.iter().filter(|word| !is_option(word)).any(is_ours)
}

fn joined(flag: &str, folder: &Path) -> OsString {
    let mut joined = OsString::from(flag);
    joined.push(folder);
    joined
}

/// The linker's option by which programs find their library in this folder. A comma ends an argument within `-Wl`.
fn run_path(folder: &Path) -> Vec<OsString> {
    if folder.as_os_str().as_encoded_bytes().contains(&b',') {
        return vec!["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), folder.into()];
    }
    vec![joined("-Wl,-rpath,", folder)]
}

fn line(words: impl IntoIterator<Item = OsString>) -> String {
    words.into_iter().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+%@".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests;
