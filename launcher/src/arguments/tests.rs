//! The meaning of command lines.

use super::*;

fn plan(line: &str) -> JobPlan {
    JobPlan::from_arguments(line.split(' ').map(OsString::from).collect()).unwrap()
}

fn refused(line: &str) -> String {
    match JobPlan::from_arguments(line.split(' ').map(OsString::from).collect()) {
        Err(Refusal::Usage(error)) => error.to_string(),
        Err(Refusal::Error(error)) => error.to_string(),
        Ok(plan) => panic!("{line} was taken as {plan:?}"),
    }
}

#[test]
fn the_command_is_shown_consistent_by_clap() {
    OshrunOptions::command().debug_assert();
    NextApp::command().debug_assert();
}

#[test]
fn all_ways_to_say_how_many() {
    for line in ["-n 3 ./a", "-np 3 ./a", "--np 3 ./a", "-n3 ./a", "--np=3 ./a", "-l -np 3 ./a", "-x A=1 -np 3 ./a"] {
        assert_eq!(plan(line).size(), 3, "{line}");
    }
    assert_eq!(plan("./a").size(), 1);
    for line in ["-ln 3 ./a", "-vln3 ./a", "-lx A=1 -n 3 ./a"] {
        assert_eq!((plan(line).size(), plan(line).label), (3, Label::Number), "{line}: options behind one dash");
    }
}

#[test]
fn an_option_of_the_whole_job_behind_a_colon_is_said_to_stand_before_the_first_program() {
    for option in ["-H", "--timeout", "--bind", "-l"] {
        let error = refused(&format!("-n 1 ./a : {option} 3 ./b"));
        let place = format!("`oshrun {option} ... ./a : ... ./b`");
        assert!(error.starts_with(&format!("{option} stands behind a colon")) && error.contains(&place), "{error}");
    }
    assert!(refused("-n 1 ./a : --no-such-option ./b").contains("unexpected argument '--no-such-option'"));
}

#[test]
fn the_programs_own_arguments_are_left_alone() {
    assert_eq!(plan("./a --mca btl tcp -c 2").programs[0].command.len(), 6);
    let plan = plan("-n 2 ./a -np 7 --label -n x -- y");
    let command: Vec<_> = plan.programs[0].command.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(command, ["./a", "-np", "7", "--label", "-n", "x", "--", "y"]);
    assert_eq!(plan.label, Label::None);
}

#[test]
fn binding_is_said_in_several_ways() {
    for (line, bind) in [
        ("./a", None),
        ("--bind ./a", Some(BindTo::Core)),
        ("--bind -n 2 ./a", Some(BindTo::Core)),
        ("--bind core ./a", Some(BindTo::Core)),
        ("--bind=numa ./a", Some(BindTo::Numa)),
        ("-n 2 --bind none ./a", Some(BindTo::None)),
        ("--bind ./numa numa", Some(BindTo::Core)),
    ] {
        assert_eq!(plan(line).bind, bind, "{line}");
    }
    assert_eq!(plan("--display map ./a").display, Some(Display::Table));
    assert_eq!(plan("--display=map=svg ./a").display, Some(Display::Picture));
}

#[test]
fn several_programs_each_with_their_own_options() {
    let plan = plan("-l -n 2 -x A=1 ./a x : -np 3 --wdir /tmp ./b : ./c");
    let counts: Vec<_> = plan.programs.iter().map(|program| program.count).collect();
    assert_eq!(counts, [2, 3, 1]);
    assert_eq!(plan.programs[0].variables, [("A".to_string(), "1".into())]);
    assert_eq!(plan.programs[1].wdir.as_deref(), Some("/tmp".as_ref()));
    assert_eq!(plan.label, Label::Number);
}

#[test]
fn wrong_command_lines_are_refused_with_a_reason() {
    for (line, word) in [
        ("-n 0 ./a", "0"),
        ("-n", "-n"),
        ("-n many ./a", "many"),
        ("-n ./a", "the number of PEs is missing after -n"),
        ("-n 1200001 ./a", "1 to 1200000 PEs"),
        ("-n 2", "no program"),
        ("-n 2 ./a : -n 2", "no program"),
        ("--stdin 2 -n 2 ./a", "no such PE"),
        ("--only 0-x ./a", "PE"),
        ("--timeout 0 ./a", "above 0"),
        ("--timeot 3 ./a", "--timeout"),
        ("-x =3 ./a", "no name"),
        ("-x  ./a", "no name"),
        ("--only 1-0 -n 2 ./a", "the range 1-0 runs backwards"),
        ("--demo ./a", "`./a` stands behind the options"),
        ("-c 2 ./a", "say the number of PEs with -n N"),
        ("-p 2 ./a", "say the number of PEs with -n N, and"),
        ("--pes 2 ./a", "say the number of PEs with -n N"),
        ("--ntasks=2 ./a", "--ntasks is an option of another launcher"),
        ("--npernode 2 ./a", "say the number of PEs on each host with -N N"),
        ("-genv A 1 ./a", "-x NAME=VALUE"),
        ("-n 2 --mca btl tcp ./a", "SHMEM_TRANSPORT"),
        ("-hosts a,b ./a", "-H HOSTS"),
        ("-n 2 ./a : -ppn 2 ./b", "-N N"),
        ("--only 5 -n 2 ./a", "--only 5: there is no such PE"),
        ("--trace-events 10 ./a", "--trace <FILE>"),
        ("--map cyclic --nodes 2 -n 4 ./a", "--nodes makes nodes of equal blocks"),
        ("--sim=foo -n 2 ./a", "`foo` is neither a seed nor a strategy"),
        ("-l --output-dir=o ./a", "--label is about output that is shown"),
        ("--output-dir o --tag-output ./a", "--tag-output is about output"),
        ("--output-dir o --timestamp-output ./a", "--timestamp-output is about output"),
        ("--output-dir o -n 2 --only 1 ./a", "--only is about output"),
        ("--sim -H localhost:4 ./a", "--sim runs all PEs on this machine"),
        ("--trace ./a", "./a is the value of --trace"),
        ("--trace ./a", "`oshrun --trace=FILE ./a`"),
        ("-n 2 --output-dir out", "`oshrun --output-dir=DIR ./hello`"),
        ("-n 2 -x ./a", "`oshrun -x NAME[=VALUE] ./a`"),
        ("-np4 ./a", "write -np 4"),
        ("-np=4 ./a", "write -np 4"),
        ("--map socket -n 2 ./a", "--map numa --bind=core"),
        ("--map socket -n 2 ./a", "takes block, cyclic or numa"),
        ("--map=l3cache:span ./a", "--map numa --bind=core"),
        ("-n 2 --map core ./a", "with --bind=core; --map block"),
        ("--map node ./a", "in turn with --map cyclic"),
        ("--map slot ./a", "with --map block"),
        ("--map ppr:2:node ./a", "on each host with -N N"),
    ] {
        let text = refused(line);
        assert!(text.contains(word), "{line}: {text}");
    }
}

#[test]
fn a_number_of_pes_behind_the_program_is_noted() {
    let note = |line| plan(line).notes.concat();
    for line in ["./a -n 4", "./a x -np 4", "-l ./a --np 4"] {
        assert!(note(line).contains("options of oshrun stand before the program, `oshrun -n 4 ./a`"), "{line}");
    }
    for (line, command) in [
        ("python a.py -n 4", "python a.py"),
        ("venv/bin/python3 -u a.py x -n 4", "venv/bin/python3 -u a.py"),
        ("python -m job -n 4", "python -m job"),
        ("python -n 4", "python"),
    ] {
        assert!(note(line).contains(&format!("-n 4 goes to {command}: options of")), "{line}");
        assert!(note(line).contains(&format!("`oshrun -n 4 {command}`")), "{line}");
    }
    for line in ["-n 2 ./a -n 4", "-n 1 ./a -n 4", "-N 2 ./a -n 4", "-H b ./a -n 4", "./a -n x", "./a -n", "./a 4"] {
        assert_eq!(note(line), "", "{line}");
    }
}

#[test]
fn a_variable_that_is_not_set_is_noted() {
    assert_eq!(plan("-x OSHRUN_UNSET -x B=1 -n 2 ./a").notes.len(), 1);
    assert!(plan("-n 2 ./a : -x OSHRUN_UNSET ./b").notes[0].contains("-x OSHRUN_UNSET: this variable is not set"));
}

#[test]
fn a_word_that_may_be_meant_for_the_option_before_it_has_a_hint() {
    let hint = |line| plan(line).hint.unwrap_or_default();
    assert_eq!(hint("-n 2 --profile mydir ./a"), "--profile takes its directory with `=`: --profile=mydir");
    assert_eq!(hint("4 ./a"), "did you mean -n 4?");
    assert_eq!(hint("-l 4 ./a"), "did you mean -n 4?");
    assert_eq!(hint("-n 2 4 ./a"), "");
    assert_eq!(hint("--sim 7 ./a"), "--sim takes its seed with `=`: --sim=7");
    assert!(hint("--bind socket -n 2 ./a").contains("`socket` is none of them"));
    assert!(hint("-n 2 SHMEM_CHECK=3 ./a").contains("`SHMEM_CHECK=3 oshrun ...`, `oshrun -x SHMEM_CHECK=3 ...`"));
    assert_eq!(hint("./a=1"), "", "no name of a variable");
    for line in
        ["--profile ./a", "--profile ./a x", "--profile -n 2 ./a", "--bind core ./a", "--profile -n 2 a b", "a b"]
    {
        assert_eq!(hint(line), "", "{line}");
    }
    assert_eq!(plan("--sim=lazy:3,death ./a").programs[0].variables[0].1, "sim:lazy:3,death");
    for line in ["--sim -n 4 ./a", "--sim -N 4 ./a", "--sim -n 3 ./a : -n 1 ./b"] {
        assert_eq!((plan(line).size(), plan(line).nodes), (4, 4), "{line}: PEs of one node need no network");
    }
    assert!(!plan("--sim ./a").places.size_is_open, "no scheduler makes it larger");
    assert!(plan("--sim -n 1 ./a").places.only_here && !plan("-n 1 ./a").places.only_here);
    assert!(plan("--only 0-3,1 -n 2 ./a").only.is_some());
}

#[test]
fn hosts_and_how_many_on_each() {
    let named = |line| plan(line).places.hosts.unwrap().len();
    assert_eq!(named("-H a,b:2 ./a"), 2);
    assert_eq!(named("--host n[1-3] -n 6 ./a"), 3);
    assert_eq!(plan("-N 4 ./a").size(), 4);
    for line in ["--nodes 2 -N 3 ./a", "--sim --nodes 2 -N 3 ./a", "--nodes 3 -N 4 -n 6 ./a"] {
        assert_eq!(plan(line).size(), 6, "{line}");
    }
    assert!(plan("-H a,b -N 4 ./a").places.size_is_open);
    assert_eq!(plan("-H a -np 3 --map cyclic ./a").places.map, HostOrder::Cyclic);
    for (line, word) in [
        ("-H a --hostfile f ./a", "hostfile"),
        ("-H , ./a", "no host"),
        ("--hostfile /no/such/file ./a", "/no/such/file"),
        ("-H a --nodes 2 ./a", "--nodes"),
        ("--map random ./a", "random"),
    ] {
        let text = refused(line);
        assert!(text.contains(word), "{line}: {text}");
    }
}

#[test]
fn lists_and_times() {
    let list = PeList::parse("0-3,7").unwrap();
    let named: Vec<u32> = (0..10).filter(|&pe| list.contains(pe)).collect();
    assert_eq!(named, [0, 1, 2, 3, 7]);
    assert_eq!(seconds("1.5").unwrap(), Duration::from_millis(1500));
    assert_eq!(seconds("2s").unwrap(), Duration::from_secs(2));
    assert!(seconds("-1").is_err() && seconds("nan").is_err() && seconds("0").is_err());
    assert_eq!((seconds("1e300"), seconds("inf")), (seconds("1e19"), seconds("1e19")), "as good as no limit");
    assert_eq!(seconds("1e-300"), seconds("1e-9"));
    assert!(std::time::Instant::now().checked_add(seconds("1e19").unwrap()).is_some(), "it has an end");
    assert!(!(seconds("1e-9").unwrap() / 8).is_zero(), "a host is looked at so often");
}

#[test]
fn the_value_of_a_variable_may_be_any_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = |text: &[u8]| OsString::from_vec(text.to_vec());
    let plan = |variable: &[u8]| JobPlan::from_arguments(vec!["-x".into(), bytes(variable), "./a".into()]);
    let named = [bytes(b"--wdir=/\xff"), "./a".into()];
    let named = JobPlan::from_arguments(named.to_vec()).expect("an option and a program").programs.remove(0);
    assert_eq!((named.wdir, named.command), (Some(bytes(b"/\xff").into()), vec!["./a".into()]));
    assert_eq!(plan(b"A=\xff=b").unwrap().programs[0].variables, [("A".to_string(), bytes(b"\xff=b"))]);
    assert!(matches!(plan(b"\xff=1"), Err(Refusal::Error(error)) if error.to_string().contains("not UTF-8")));
}
