//! The interface that a C, C++ or Fortran program sees, checked on an installation.

mod fortran;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_api::constants::{INTERNAL, OBJECTS};
use oxshmem_api::expand::{public_names, symbols};
use oxshmem_api::generate::generics_test;

use crate::counts::{CheckCounts, skipped};
use crate::disk::{self, make_folder, write};
use crate::product::library::{AROUND_FORK, SYSTEM};
use crate::{Outcome, command, target, top};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let scratch = target().join("check-abi");
    make_folder(&scratch)?;
    let mut bench = Bench { prefix: prefix.into(), scratch, counts: CheckCounts::default() };
    bench.symbols();
    bench.prototypes();
    bench.headers();
    bench.generics();
    bench.overridable();
    bench.fortran();
    bench.given_lists();
    Ok(bench.counts)
}

struct Bench {
    prefix: PathBuf,
    scratch: PathBuf,
    counts: CheckCounts,
}

impl Bench {
    fn record(&mut self, what: &str, outcome: Outcome) {
        self.counts += CheckCounts::of(what, outcome);
    }

    fn skip(&mut self, what: &str, why: &str) {
        self.counts += skipped!("{what}: {why}");
    }

    /// Both libraries show what the table says and nothing else: usual names weak, profiling names strong, and both
    /// at one address; of Fortran's names gfortran's is the strong one.
    fn symbols(&mut self) {
        // The archive has one more, for the linker of a fully static program.
        for (library, options, more) in
            [("liboxshmem.so", &["-D"][..], None), ("liboxshmem.a", &["-g"], Some(AROUND_FORK))]
        {
            let outcome = self.visible(library, options).and_then(|mut found| match more {
                Some(name) if found.remove(name).is_none() => Err(format!("{name} is missing")),
                _ => compare(&found),
            });
            self.record(&format!("symbols of {library}"), outcome);
        }
    }

    fn visible(&self, library: &str, options: &[&str]) -> Outcome<BTreeMap<String, DynamicSymbol>> {
        let path = self.prefix.join("lib").join(library);
        let text = command::read(Command::new("nm").args(options).args(["--defined-only", "-P"]).arg(path))?;
        let mut found = BTreeMap::new();
        for line in text.lines() {
            let [name, kind, address, ..] = line.split(' ').collect::<Vec<_>>()[..] else {
                continue;
            };
            let name = name.split('@').next().expect("split yields one part at least");
            // The version's own name is listed as an absolute symbol.
            if kind != "A" {
                found.insert(name.into(), DynamicSymbol { kind: kind.into(), address: address.into() });
            }
        }
        Ok(found)
    }

    /// The headers declare every routine with the table's prototype, under both names.
    fn prototypes(&mut self) {
        let mut text = String::from("#include <shmemx.h>\n#include <pshmem.h>\n");
        for symbol in symbols() {
            text += &format!("{}\n", symbol.prototype.to_c());
            if let Some(twin) = symbol.twin() {
                let mut prototype = symbol.prototype.clone();
                prototype.name = twin;
                text += &format!("{}\n", prototype.to_c());
            }
        }
        let outcome = self.compile("gcc", &["-std=c99", "-fsyntax-only"], "prototypes.c", &text);
        self.record("prototypes", outcome);
    }

    /// Every header, alone and together, compiles as every language without a warning.
    fn headers(&mut self) {
        const C: [&str; 4] = ["c99", "c11", "c17", "c2x"];
        const CXX: [&str; 5] = ["c++11", "c++14", "c++17", "c++20", "c++2b"];
        for (compiler, file, standards) in [
            ("gcc", "headers.c", &C[..]),
            ("clang", "headers.c", &C),
            ("g++", "headers.cc", &CXX),
            ("clang++", "headers.cc", &CXX),
        ] {
            if !command::exists(compiler) {
                self.skip(&format!("headers with {compiler}"), "the compiler is not installed");
                continue;
            }
            for standard in standards {
                let standard = format!("-std={standard}");
                let options = [&WARNINGS[..], &[standard.as_str(), "-fsyntax-only"]].concat();
                let outcome = HEADERS.iter().try_for_each(|text| self.compile(compiler, &options, file, text));
                self.record(&format!("headers with {compiler} {standard}"), outcome);
            }
        }
        for compiler in ["g++", "clang++"].into_iter().filter(|compiler| command::exists(compiler)) {
            let options = [&WARNINGS[..], &["-std=c++11", "-fsyntax-only"]].concat();
            let outcome = self.compile_file(compiler, &options, &source("overloads.cc"));
            self.record(&format!("overloads with {compiler}"), outcome);
            let options = [&options[..], &["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]].concat();
            let outcome = self.compile_file(compiler, &options, &source("handles.cc"));
            self.record(&format!("handles without casts of C with {compiler}"), outcome);
        }
    }

    /// Every macro takes every type it should and ends in a routine for that very type.
    fn generics(&mut self) {
        for compiler in ["gcc", "clang"] {
            if !command::exists(compiler) {
                self.skip(&format!("type-generic macros with {compiler}"), "the compiler is not installed");
                continue;
            }
            let outcome = self.generics_with(compiler);
            self.record(&format!("type-generic macros with {compiler}"), outcome);
            let options = [&WARNINGS[..], &["-std=c11", "-fsyntax-only"]].concat();
            let outcome = self.compile_file(compiler, &options, &source("arguments.c"));
            self.record(&format!("arguments of macros with {compiler}"), outcome);
            let refused = WRONG_TYPES.iter().try_for_each(|line| {
                let text = format!("#include <shmem.h>\nstruct odd {{ char c[3]; }};\n{line}\n");
                match self.compile(compiler, &["-std=c11", "-fsyntax-only"], "wrong.c", &text) {
                    Ok(()) => Err(format!("accepted: {line}")),
                    Err(_) => Ok(()),
                }
            });
            self.record(&format!("wrong types are refused by {compiler}"), refused);
        }
    }

    fn generics_with(&self, compiler: &str) -> Outcome {
        let object = self.scratch.join("generics.o");
        let to_object = format!("-o{}", object.display());
        let options = [&WARNINGS[..], &["-std=c11", "-c", &to_object]].concat();
        let test = generics_test();
        self.compile(compiler, &options, "generics.c", &test.text)?;
        let text = command::read(Command::new("nm").args(["-u", "-P"]).arg(&object))?;
        let called: BTreeSet<String> = text.lines().filter_map(|line| Some(line.split(' ').next()?.into())).collect();
        if called == test.calls {
            Ok(())
        } else {
            Err(format!(
                "calls {:?}, should call {:?}",
                called.difference(&test.calls).take(5).collect::<Vec<_>>(),
                test.calls.difference(&called).take(5).collect::<Vec<_>>()
            ))
        }
    }

    /// A tool's own `shmem_int_put` takes the place of ours and reaches ours by its profiling name, with either
    /// library, and handles compare equal across the executable's border.
    fn overridable(&mut self) {
        let library = self.prefix.join("lib");
        let rpath = format!("-Wl,-rpath,{}", library.display());
        let shared = [format!("-L{}", library.display()), rpath, "-loxshmem".into()];
        let fixed = [library.join("liboxshmem.a").display().to_string()];
        for (name, link, extra) in [
            ("liboxshmem.so", &shared[..], &[][..]),
            ("liboxshmem.so without PIE", &shared, &["-no-pie", "-fno-pie"]),
            ("liboxshmem.a", &fixed, SYSTEM),
            ("liboxshmem.a in a static program", &fixed, &["-static"]),
        ] {
            let outcome = self.tool(link, extra);
            self.record(&format!("a tool over {name}"), outcome);
        }
    }

    fn tool(&self, link: &[String], extra: &[&str]) -> Outcome {
        let program = self.scratch.join("tool");
        let to_program = format!("-o{}", program.display());
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-I"]).arg(self.prefix.join("include")).arg(to_program).arg(source("tool.c"));
        command::read(compiler.args(link).args(extra))?;
        command::read(&mut Command::new(&program)).map(drop)
    }

    /// The same questions asked with lists from outside this repository, when `OXSHMEM_SPEC` says where they are.
    fn given_lists(&mut self) {
        let Some(folder) = std::env::var_os("OXSHMEM_SPEC").map(PathBuf::from) else {
            self.skip("outside lists of prototypes and macros", "OXSHMEM_SPEC names no folder");
            return;
        };
        let names: BTreeSet<String> = public_names().into_iter().collect();
        let outcome = disk::read(&folder.join("prototypes-1.6.txt")).and_then(|list| {
            let rows = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'));
            let ours: Vec<&str> = rows.filter(|(name, _)| names.contains(*name)).map(|(_, c)| c).collect();
            let text = format!("#include <shmem.h>\n{}\n", ours.join("\n"));
            self.compile("gcc", &["-std=c99", "-fsyntax-only"], "given.c", &text)
        });
        self.record("given prototypes", outcome);
        let options = ["-std=c11", "-Wall", "-Werror", "-fsyntax-only"];
        let outcome = self.compile_file("gcc", &options, &folder.join("check_generics.c"));
        self.record("given macros", outcome);
    }

    fn compile(&self, compiler: &str, options: &[&str], file: &str, text: &str) -> Outcome {
        let source = self.scratch.join(file);
        write(&source, text)?;
        self.compile_file(compiler, options, &source)
    }

    fn compile_file(&self, compiler: &str, options: &[&str], source: &Path) -> Outcome {
        let mut command = Command::new(compiler);
        command.args(options).arg("-I").arg(self.prefix.join("include")).arg(source);
        command::read(&mut command).map(drop)
    }
}

/// A program of `ci/abi`.
fn source(name: &str) -> PathBuf {
    top().join("ci/abi").join(name)
}

/// A line of `nm`.
struct DynamicSymbol {
    kind: String,
    address: String,
}

fn compare(found: &BTreeMap<String, DynamicSymbol>) -> Outcome {
    let mut wrong = Vec::new();
    for symbol in symbols() {
        let twin = symbol.twin();
        let (usual, strong) = (found.get(&symbol.name), twin.as_ref().map(|twin| (twin, found.get(twin))));
        match (usual, strong) {
            (Some(usual), None) if usual.kind == "T" => {}
            (Some(usual), Some((_, Some(strong))))
                if usual.kind == "W" && strong.kind == "T" && usual.address == strong.address => {}
            _ => wrong.push(symbol.name.clone()),
        }
    }
    for entry in oxshmem_api::fortran::entries() {
        let strong = found.get(&entry.symbol).filter(|strong| strong.kind == "T");
        let is_alias = |name: &String| {
            let (weak, strong) = (found.get(name)?, strong?);
            (weak.kind == "W" && weak.address == strong.address).then_some(())
        };
        if !entry.aliases().iter().all(|name| is_alias(name).is_some()) {
            wrong.push(entry.symbol);
        }
    }
    let public: BTreeSet<String> = public_names().into_iter().collect();
    wrong.extend(found.keys().filter(|name| !public.contains(*name)).map(|name| format!("stray {name}")));
    wrong
        .extend(OBJECTS.iter().chain(INTERNAL).filter(|name| !found.contains_key(**name)).map(|name| name.to_string()));
    match wrong.len() {
        0 => Ok(()),
        count => Err(format!("{count} wrong, for example {}", wrong[..count.min(8)].join(", "))),
    }
}

/// Programs whose only content is the headers and names that must stay free.
const HEADERS: [&str; 7] = [
    "#include <shmem.h>\n",
    "#include <shmemx.h>\n",
    "#include <pshmem.h>\n",
    "#include <mpp/shmem.h>\n",
    "#include <mpp/shmemx.h>\n",
    include_str!("../../../abi/extensions.c"),
    include_str!("../../../abi/free_names.c"),
];

const WRONG_TYPES: [&str; 5] = [
    "void f(struct odd *a) { shmem_put(a, a, 1, 0); }",
    "void f(shmem_ctx_t c, struct odd *a) { shmem_put(c, a, a, 1, 0); }",
    "void f(float *a) { shmem_atomic_add(a, 1, 0); }",
    "void f(const int *a) { shmem_p(a, 1, 0); }",
    "void f(double *a) { shmem_wait_until(a, SHMEM_CMP_EQ, 1.0); }",
];
