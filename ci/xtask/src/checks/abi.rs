//! The interface that a C, C++ or Fortran program sees, checked on an installation.

mod fortran;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_api::constants::{INTERNAL, OBJECTS};
use oxshmem_api::expand::{public_names, symbols};
use oxshmem_api::generate::generics_test;

use crate::counts::{CheckCounts, skipped};
use crate::disk::{make_folder, write};
use crate::product::library::SYSTEM;
use crate::{Outcome, command, target};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Checks the installation below `prefix`.
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
        for (library, options) in [("liboxshmem.so", &["-D"][..]), ("liboxshmem.a", &["-g"])] {
            let outcome = self.visible(library, options).and_then(|found| compare(&found));
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
        let text = format!("{CXX_CALLS}{CXX_TYPES}");
        for compiler in ["g++", "clang++"].into_iter().filter(|compiler| command::exists(compiler)) {
            let options = [&WARNINGS[..], &["-std=c++11", "-fsyntax-only"]].concat();
            let outcome = self.compile(compiler, &options, "overloads.cc", &text);
            self.record(&format!("overloads with {compiler}"), outcome);
            let options = [&options[..], &["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]].concat();
            let outcome = self.compile(compiler, &options, "handles.cc", CXX_HANDLES);
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
            let outcome = self.compile(compiler, &options, "arguments.c", ARGUMENTS);
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
        let link: Vec<&str> = link.iter().map(String::as_str).collect();
        let source = self.scratch.join("tool.c");
        write(&source, TOOL)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-I"]).arg(self.prefix.join("include")).arg(to_program).arg(source);
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
        let outcome = fs::read_to_string(folder.join("prototypes-1.6.txt"))
            .map_err(|error| format!("{}: {error}", folder.display()))
            .and_then(|list| {
                let rows = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'));
                let ours: Vec<&str> = rows.filter(|(name, _)| names.contains(*name)).map(|(_, c)| c).collect();
                let text = format!("#include <shmem.h>\n{}\n", ours.join("\n"));
                self.compile("gcc", &["-std=c99", "-fsyntax-only"], "given.c", &text)
            });
        self.record("given prototypes", outcome);
        let mut compiler = Command::new("gcc");
        compiler.args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-I"]).arg(self.prefix.join("include"));
        let outcome = command::read(compiler.arg(folder.join("check_generics.c"))).map(drop);
        self.record("given macros", outcome);
    }

    fn compile(&self, compiler: &str, options: &[&str], file: &str, text: &str) -> Outcome {
        let source = self.scratch.join(file);
        write(&source, text)?;
        let mut command = Command::new(compiler);
        command.args(options).arg("-I").arg(self.prefix.join("include")).arg(source);
        command::read(&mut command).map(drop)
    }
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
    "#include <shmemx.h>\n\
     void f(long *d, const long *s, shmem_ctx_t c);\n\
     void f(long *d, const long *s, shmem_ctx_t c) {\n\
       shmemx_long_put_nb(d, s, 1, 0, NULL); shmemx_long_put_nb(d, s, 1, 0); shmemx_getmem_nb(d, s, 8, 0, NULL);\n\
       shmemx_ctx_long_put_nb(c, d, s, 1, 0); void (*g)(void *, const void *, size_t, int) = shmemx_put64_nb; g(d, s, 1, 0);\n\
     }\n",
    "#define I 1\n#define complex 2\n\
     #include <mpp/shmemx.h>\n#include <pshmem.h>\n#include <shmem.h>\n#include <shmem.h>\n\
     #undef I\n#undef complex\n\
     static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};\n\
     static shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};\n\
     static long sync[SHMEM_REDUCE_SYNC_SIZE] = {SHMEM_SYNC_VALUE};\n\
     float I;\n\
     int complex(int value);\n\
     int complex(int value) { switch (value) { case SHMEM_CMP_EQ: return (int) I; case SHMEM_SIGNAL_ADD + 100: break; }\n\
       return contexts[0] == contexts[1] || teams[0] == teams[1] || sync[0] || SIZE_MAX == 0; }\n",
];

/// Arguments of every kind: arrays, side effects, nested calls, constants, null pointers with a count of zero; and the
/// functions that have a macro's name.
const ARGUMENTS: &str = "#include <shmem.h>\n\
     static int array[4]; static char text[4]; static struct { long v[2]; } group;\n\
     void f(int *i, shmem_ctx_t c, int *const fixed);\n\
     void f(int *i, shmem_ctx_t c, int *const fixed) {\n\
       shmem_put(array, array, 4, 0); shmem_get(group.v, group.v, 2, 0); shmem_p(fixed, 1, 0);\n\
       shmem_p(&array[(*i)++], shmem_g(&array[1], 0), 0); shmem_p(array + 1, (*i)++, 0);\n\
       shmem_p(c, &group.v[0], shmem_atomic_fetch_add(c, group.v, 1, 0), 0);\n\
       shmem_put(c, &array[(*i)++], ((int[]){1, 2}), 2, 0); shmem_put(text, \"x\", 1, 0); shmem_put(c, text, \"x\", 1, 0);\n\
       shmem_put(array, NULL, 0, 0); shmem_get(c, array, NULL, 0, 0);\n\
       shmem_p(SHMEM_CTX_DEFAULT, array, 1, 0); shmem_wait_until(array, SHMEM_CMP_NE, 0);\n\
       (shmem_wait_until)(group.v, SHMEM_CMP_EQ, 1L);\n\
     }\n\
     void (*function)(uint64_t *, uint64_t, int) = &shmem_signal_set;\n";

/// Calls that no macro may accept.
const WRONG_TYPES: [&str; 5] = [
    "void f(struct odd *a) { shmem_put(a, a, 1, 0); }",
    "void f(shmem_ctx_t c, struct odd *a) { shmem_put(c, a, a, 1, 0); }",
    "void f(float *a) { shmem_atomic_add(a, 1, 0); }",
    "void f(const int *a) { shmem_p(a, 1, 0); }",
    "void f(double *a) { shmem_wait_until(a, SHMEM_CMP_EQ, 1.0); }",
];

const CXX_CALLS: &str = "#include <complex>\n#include <shmem.h>\n\
     void f(shmem_ctx_t c, double *d, long *l, unsigned short *s, uint64_t *u) {\n\
       shmem_put(d, d, 1, 0); shmem_put(c, d, d, 1, 0); shmem_p(l, 3, shmem_g(s, 0));\n\
       shmem_atomic_add(u, 1, 0); shmem_wait_until(l, SHMEM_CMP_EQ, 1); shmem_wait_until(u, SHMEM_CMP_EQ, 1);\n\
       shmem_signal_set(u, 1, 0); shmem_signal_set(c, u, 1, 0); (void) shmem_swap(l, 1, 0);\n\
     }\n\
     int g(shmem_team_t t, std::complex<double> *z, std::complex<float> *c, double *d) {\n\
       return shmem_sum_reduce(t, z, z, 1) + shmem_prod_reduce(t, c, c, 1) + shmem_max_reduce(t, d, d, 1) + shmem_sync(t);\n\
     }\n";

/// Handles of different kinds are different types, and each is the header's struct.
const CXX_TYPES: &str = "int which(shmem_ctx_t);\nlong which(shmem_team_t);\n\
     static_assert(sizeof(which(SHMEM_CTX_INVALID)) == sizeof(int), \"\");\n\
     static_assert(sizeof(which(SHMEM_TEAM_INVALID)) == sizeof(long), \"\");\n";

/// The handles that stand for nothing, for programs that are compiled without casts of C and without 0 as a pointer.
const CXX_HANDLES: &str = "#include <shmemx.h>\n\
     shmem_ctx_t context = SHMEM_CTX_INVALID;\nshmem_team_t teams[] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_NULL};\n\
     shmem_req_h request = SHMEM_REQ_INVALID;\n";

const TOOL: &str = "#include <shmem.h>\n#include <pshmem.h>\n\
     static int seen;\nstatic int from = 7, to;\n\
     void shmem_int_put(int *dest, const int *source, size_t nelems, int pe) {\n\
       seen++; pshmem_int_put(dest, source, nelems, pe);\n\
     }\n\
     int main(void) {\n\
       shmem_init();\n\
       shmem_int_put(&to, &from, 1, shmem_my_pe());\n\
       shmem_quiet();\n\
       shmem_ctx_quiet(SHMEM_CTX_DEFAULT);\n\
       shmem_team_t team = SHMEM_TEAM_INVALID;\n\
       int wrong = seen != 1 || to != 7 || shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) || team != SHMEM_TEAM_WORLD;\n\
       shmem_finalize();\n\
       return wrong;\n\
     }\n";
