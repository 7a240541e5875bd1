use super::*;

fn wrapper(name: &str, variables: &[(&str, &str)]) -> Wrapper {
    let variable = |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.into());
    let is_clang = |compiler: &[OsString]| compiler.iter().any(|word| word.to_string_lossy().contains("clang"));
    Wrapper::new(name, Path::new("/opt/osh/bin"), variable, |_| false, is_clang)
}

fn acts(name: &str, arguments: &str) -> String {
    let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
    match wrapper(name, &[]).act(&arguments) {
        Action::Print(text) => format!("print {text}"),
        Action::Run(command) => line(command),
        Action::Refuse(error) => format!("refuse {error}"),
        Action::MakeModules(modules) => format!("make modules in {}", modules.include.display()),
    }
}

const LINK: &str = "-L/opt/osh/lib -Wl,-rpath,/opt/osh/lib -loxshmem";

#[test]
fn flags_are_added_where_they_serve() {
    assert_eq!(acts("oshcc", "a.c -o a"), format!("cc a.c -o a -I/opt/osh/include {LINK}"));
    assert_eq!(acts("oshc++", "-c a.cc"), "c++ -c a.cc -I/opt/osh/include");
    assert_eq!(acts("oshfort", "a.f90"), format!("gfortran a.f90 -I/opt/osh/include {LINK}"));
    for none in ["--version", "-v", "", "-o a", "-print-search-dirs"] {
        assert_eq!(acts("oshcc", none), format!("cc {none}").trim_end());
    }
    assert!(acts("oshcc", "-x c -").ends_with("-loxshmem"), "standard input is a file too");
    let named = format!("gfortran -x f77 a.old -I/opt/osh/include -x none {LINK}");
    assert_eq!(acts("oshfort", "-x f77 a.old"), named, "our archives have no language");
    assert!(acts("oshfort", "-xf77 a.old").contains(" -x none ") && !acts("oshfort", "-xhost a.f90").contains("none"));
    assert_eq!(acts("oshfort", "-x f77 -c a.old"), "gfortran -x f77 -c a.old -I/opt/osh/include");
    assert_eq!(acts("oshcc", "-r a.o b.o -o c.o"), "cc -r a.o b.o -o c.o -I/opt/osh/include", "no library in it");
    assert!(acts("oshcc", "a.c -o").contains("write `-o NAME`"), "-o would take -I for the name");
    let exported = format!("cc a.c -Xlinker -E -o a -I/opt/osh/include {LINK}");
    assert_eq!(acts("oshcc", "a.c -Xlinker -E -o a"), exported, "the linker's -E exports symbols");
    for object in
        ["-Xlinker -r a.o", "-nostdlib -Wl,-r a.o -o c.o", "-Wl,-O1,--relocatable a.o", "-Xlinker --relocatable a.o"]
    {
        assert_eq!(acts("oshcc", object), format!("cc {object} -I/opt/osh/include"), "no library in it");
    }
    assert!(acts("oshcc", "-Wl,-rpath,-O a.o").ends_with(LINK));
    assert_eq!(acts("oshcc", "a.c -Xlinker -E -c"), "cc a.c -Xlinker -E -c -I/opt/osh/include");
    let whole = "-o a -Lown -Wl,--whole-archive -lown -Wl,--no-whole-archive";
    assert_eq!(acts("oshcc", whole), format!("cc {whole} -I/opt/osh/include {LINK}"), "the program is in a library");
}

#[test]
fn headers_alone_are_compiled_and_not_linked() {
    for alone in ["a.h", "a.h -o a.h.gch", "-I inc -O2 a.hpp b.hh", "-x c++-header a.inc", "-xc-header -"] {
        assert_eq!(acts("oshcc", alone), format!("cc {alone} -I/opt/osh/include"));
    }
    for program in ["a.h a.c", "-include a.h a.c", "a.h -lmine", "-x c a.h", "-x c-header a.inc -x none b.o"] {
        assert!(acts("oshcc", program).ends_with(LINK), "{program}");
    }
}

#[test]
fn a_comma_in_the_prefix_does_not_end_the_path_of_the_library() {
    let wrapper = Wrapper::new("oshcc", Path::new("/opt/osh,1/bin"), |_| None, |_| false, |_| false);
    let link = "-L/opt/osh,1/lib -Xlinker -rpath -Xlinker /opt/osh,1/lib -loxshmem";
    assert_eq!(wrapper.act(&["--showme:link".into()]), Action::Print(link.into()));
}

#[test]
fn long_names_of_options_that_stop_before_the_link_are_known() {
    for option in ["--compile", "--preprocess", "--assemble", "--analyze"] {
        assert_eq!(acts("oshcc", &format!("{option} a.c")), format!("cc {option} a.c -I/opt/osh/include"));
    }
}

#[test]
fn the_fortran_module_is_linked_before_the_library() {
    let here = |path: &Path| path == Path::new("/opt/osh/lib/liboxshmem_f08.a");
    let libraries = |name| {
        let wrapper = Wrapper::new(name, Path::new("/opt/osh/bin"), |_| None, here, |_| false);
        wrapper.act(&["--showme:link".into()])
    };
    assert_eq!(libraries("oshfort"), Action::Print(format!("/opt/osh/lib/liboxshmem_f08.a {LINK}")));
    assert_eq!(libraries("oshcc"), Action::Print(LINK.into()));
}

#[test]
fn archives_bring_the_system_libraries() {
    let shared_rest = "/opt/osh/lib/liboxshmem.a -lpthread -ldl -lm -lrt -lgcc_s";
    assert_eq!(acts("oshcc", "a.o -static-oxshmem"), format!("cc a.o -I/opt/osh/include {shared_rest}"));
    let all_static = format!("{} /opt/osh/lib/liboxshmem.a -lpthread -ldl -lm -lrt -lgcc_eh", archive::FORKS);
    assert_eq!(acts("oshcc", "-static a.o"), format!("cc -static a.o -I/opt/osh/include {all_static}"));
    let threads = format!("{} {all_static}", archive::FORTRAN_THREADS);
    assert_eq!(acts("oshfort", "-static a.o"), format!("gfortran -static a.o -I/opt/osh/include {threads}"));
}

#[test]
fn a_program_for_the_race_detector_is_instrumented_and_finds_its_library_first() {
    let library = "-Wl,--no-as-needed,-l:liboxshmem-race.so.1 -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset -loxshmem";
    let specs = "-I/opt/osh/include -g -specs=/opt/osh/lib/oxshmem-race.specs";
    let copies = format!("{} {}", copies::PLAIN, copies::GNU.join(" "));
    assert_eq!(acts("oshcc", "--race -c a.c"), format!("cc -c a.c {specs} {copies}"));
    // The last word on a macro counts.
    let checked = acts("oshcc", "--race -D_FORTIFY_SOURCE=2 -c a.c");
    assert_eq!(checked, format!("cc -D_FORTIFY_SOURCE=2 -c a.c {specs} {copies}"));
    // The preprocessor reads its own options last.
    let apart = format!("{} {} {}", copies::PLAIN, copies::PLAIN_TO_PREPROCESSOR, copies::GNU.join(" "));
    for checked in ["-Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3", "-Xpreprocessor -D_FORTIFY_SOURCE=2"] {
        let compiled = acts("oshcc", &format!("--race {checked} -c a.c"));
        assert_eq!(compiled, format!("cc {checked} -c a.c {specs} {apart}"));
    }
    assert!(!acts("oshcc", "--race -Wp,-MD,a.d -c a.c").contains("-Wp,-U"), "it is told nothing without need");
    let folder = oxshmem_test_folder::TestFolder::new("copies");
    for checked in ["-Wp,-D_FORTIFY_SOURCE=3", "-Xpreprocessor -D_FORTIFY_SOURCE=2"] {
        let file = format!("@{}", folder.write("flags", checked).display());
        let compiled = acts("oshcc", &format!("--race {} -c a.c", line(opened(vec![file.into()]))));
        assert_eq!(compiled, format!("cc {checked} -c a.c {specs} {apart}"), "the words are in a file");
    }
    assert_eq!(
        acts("oshfort", "--race a.f90"),
        format!("gfortran a.f90 {specs} -L/opt/osh/lib -Wl,-rpath,/opt/osh/lib {library}")
    );
    assert!(acts("oshcc", "--race -static a.c").starts_with("refuse --race does not go together"));
    let clang = wrapper("oshcc", &[("OSHCC", "clang")]).act(&["--race".into(), "-c".into(), "a.c".into()]);
    let Action::Run(clang) = clang else { panic!("it compiles") };
    let flags = "-I/opt/osh/include -g -fsanitize=thread -fno-sanitize-link-runtime -U_FORTIFY_SOURCE";
    assert_eq!(line(clang), format!("clang -c a.c {flags}"));
}

#[test]
fn questions_are_answered_in_both_dialects() {
    assert_eq!(acts("oshcc", "-show"), format!("print cc -I/opt/osh/include {LINK}"));
    assert_eq!(acts("oshcc", "--showme"), format!("print cc -I/opt/osh/include {LINK}"));
    let archive = "/opt/osh/lib/liboxshmem.a -lpthread -ldl -lm -lrt -lgcc_s";
    assert_eq!(acts("oshcc", "-show -static-oxshmem"), format!("print cc -I/opt/osh/include {archive}"));
    assert!(!acts("oshcc", "-show --race").contains("--race"), "the compiler does not know it");
    assert_eq!(acts("oshcc", "-show -c a.c"), "print cc -c a.c -I/opt/osh/include");
    assert_eq!(acts("oshcc", "-show -c"), "print cc -c -I/opt/osh/include");
    assert_eq!(acts("oshcc", "-showme a.c"), format!("print cc a.c -I/opt/osh/include {LINK}"));
    assert_eq!(acts("oshcc", "--showme:compile"), "print -I/opt/osh/include");
    assert_eq!(acts("oshcc", "--showme:link"), format!("print {LINK}"));
    assert_eq!(acts("oshcc", "-showme:libs"), "print oxshmem");
    assert_eq!(acts("oshcc", "-showme:libdirs"), "print /opt/osh/lib");
    assert_eq!(acts("oshcc", "-showme:incdirs"), "print /opt/osh/include");
    assert_eq!(acts("oshfort", "--showme:command"), "print gfortran");
    assert!(acts("oshcxx", "--showme:version").starts_with("print oshcxx: oxshmem"));
    for help in ["--showme:help", "--help"] {
        let shown = acts("oshcc", help);
        assert!(shown.contains("-showme:libs"), "{help}");
        // Two languages have other tools.
        assert!(["Python", "Rust", "`oxshmem sim`"].iter().all(|word| shown.contains(word)), "{help}");
    }
    assert_eq!(acts("oshcc", "--help=warnings"), "cc --help=warnings", "the compiler's");
    for (asked, meant) in [
        ("-showme:complie", "-showme:compile"),
        ("--showme:lib a.c", "--showme:libs"),
        ("-show:compile", "-showme:compile"),
        ("-shwo", "cc -shwo"),
        ("-showem", "-showme"),
        ("-showme:cflags", "`oshcc --help`"),
    ] {
        assert!(acts("oshcc", asked).contains(meant), "{asked}: {}", acts("oshcc", asked));
    }
    assert!(acts("oshcc", "-showme:complie").starts_with("refuse unknown option -showme:complie\n"));
}

#[test]
fn another_compiler_may_be_named_but_not_ourselves() {
    let command = |variables: &[_]| wrapper("oshcc", variables).act(&["--showme:command".into()]);
    assert_eq!(command(&[("OSHCC", "clang -m64")]), Action::Print("clang -m64".into()));
    assert_eq!(command(&[("SHMEM_CC", "gcc-12")]), Action::Print("gcc-12".into()));
    assert_eq!(command(&[("OSHCC", "/usr/bin/oshcc")]), Action::Print("cc".into()));
    assert_eq!(command(&[("OSHCC", "ccache gcc")]), Action::Print("ccache gcc".into()));
    assert_eq!(command(&[("OSHCC", "ccache /usr/bin/oshcc")]), Action::Print("cc".into()), "it would never end");
    assert_eq!(command(&[("OSHCC", "gcc -I/opt/oshcc")]), Action::Print("gcc -I/opt/oshcc".into()));
    assert_eq!(command(&[("OSHCC", "")]), Action::Print("cc".into()));
    let there = |path: &Path| path == Path::new("/opt/my tools/gcc");
    let variable = |name: &str| (name == "OSHCC").then(|| "/opt/my tools/gcc".into());
    let blanks = Wrapper::new("oshcc", Path::new("/opt/osh/bin"), variable, there, |_| false);
    assert_eq!(blanks.act(&["--showme:command".into()]), Action::Print("'/opt/my tools/gcc'".into()));
}

#[test]
fn libraries_are_found_where_an_installation_has_them() {
    for folder in ["lib", "lib64"] {
        let there = |path: &Path| path == Path::new("/usr").join(folder).join("liboxshmem.so");
        assert_eq!(libraries(Path::new("/usr"), there), Path::new("/usr").join(folder));
    }
    assert_eq!(libraries(Path::new("/usr"), |_| false), Path::new("/usr/lib"));
}

#[test]
fn words_survive_a_shell() {
    assert_eq!(quoted("a b".as_ref()), "'a b'");
    assert_eq!(quoted("it's".as_ref()), "'it'\\''s'");
    assert_eq!(quoted("-DX=1".as_ref()), "-DX=1");
    assert_eq!(quoted("".as_ref()), "''");
}
