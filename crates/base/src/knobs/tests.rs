use super::*;
use std::collections::HashSet;

fn read(vars: &[(&str, &str)]) -> Result<(Settings, Vec<String>), Error> {
    Settings::from_vars(vars.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())))
}

fn settings(vars: &[(&str, &str)]) -> Settings {
    read(vars).expect("sound values").0
}

fn warnings(vars: &[(&str, &str)]) -> Vec<String> {
    read(vars).expect("sound values").1
}

#[test]
fn nothing_set_gives_the_defaults_without_a_word() {
    assert_eq!(read(&[("PATH", "/bin"), ("HOME", "")]), Ok((Settings::default(), vec![])));
}

#[test]
fn names_are_unique_and_documented_in_one_line() {
    let mut seen = HashSet::new();
    for knob in all() {
        assert!(knob.names().all(|name| seen.insert(name) && is_ours(name)), "{}", knob.name);
        assert!(!knob.doc.is_empty() && !knob.doc.contains('\n') && !knob.default.is_empty(), "{}", knob.name);
    }
}

#[test]
fn the_default_text_of_every_knob_is_its_default() {
    for knob in all().filter(|knob| !knob.default.contains(' ')) {
        assert_eq!(settings(&[(knob.name, knob.default)]), Settings::default(), "{}", knob.name);
    }
}

#[test]
fn every_knob_of_the_library_changes_something_under_all_its_names() {
    // The race detector reads its variables itself.
    let is_of_library =
        |knob: &&Knob| !matches!(knob.value, Value::Tool | Value::Ignored) && !knob.name.starts_with("SHMEM_RACE_");
    for knob in all().filter(is_of_library) {
        let value = match (knob.value, knob.default) {
            (Value::Switch, "1") => "off",
            (Value::Switch | Value::Number, _) => "2",
            (Value::Size, _) => "3m",
            (Value::Word(words), default) => words.iter().find(|word| **word != default).expect("a choice"),
            (Value::Ports, _) => "41000-41999",
            (Value::Levels, _) => "4,16,64",
            (Value::Text | Value::Schedule(_), _) => "x",
            (Value::Tool | Value::Ignored, _) => unreachable!("filtered"),
        };
        for name in knob.names() {
            let (changed, warnings) = read(&[(name, value)]).expect("a sound value");
            assert_ne!(changed, Settings::default(), "{name}");
            assert_eq!(warnings.len(), usize::from(super::table::FORMER.contains(&name)), "{name}: {warnings:?}");
        }
    }
}

#[test]
fn the_choice_can_be_asked_for_without_the_list() {
    let asked = |value| {
        let settings = settings(&[("SHMEM_INFO", value)]);
        (settings.info, settings.info_lists)
    };
    assert_eq!([asked("1"), asked("choice"), asked("0")], [(true, true), (true, false), (false, false)]);
}

#[test]
fn ports_are_a_range_or_one() {
    for (text, ports) in [("41000-41999", (41000, 41999)), (" 5 - 6 ", (5, 6)), ("7", (7, 7))] {
        assert_eq!(settings(&[("SHMEM_TCP_PORTS", text)]).tcp_ports, Some(ports), "{text}");
    }
    for text in ["0", "9-8", "1-70000", "many", "5-", "-5"] {
        let error = read(&[("SHMEM_TCP_PORTS", text)]).expect_err(text).to_string();
        assert!(error.contains(&format!("SHMEM_TCP_PORTS={text}")) && error.contains("41000-41999"), "{error}");
    }
}

#[test]
fn switches_follow_custom() {
    for off in ["", "0", "n", "NO", "f", "False", "off", " 0 "] {
        assert!(!settings(&[("SHMEM_DEBUG", off)]).debug, "{off:?}");
        assert!(!settings(&[("SHMEM_STATICS", off)]).statics, "{off:?}");
    }
    for on in ["1", "yes", "y", "true", "on", "2", "whatever"] {
        assert!(settings(&[("SHMEM_DEBUG", on)]).debug, "{on:?}");
    }
}

#[test]
fn binding_is_a_word_or_a_switch() {
    let table =
        [("0", Bind::None), ("none", Bind::None), ("1", Bind::Core), ("core", Bind::Core), ("NUMA", Bind::Numa)];
    for (text, bind) in table {
        assert_eq!(settings(&[("SHMEM_BIND", text)]).bind, bind, "{text}");
    }
    assert!(read(&[("SHMEM_BIND", "cores")]).expect_err("a typo").to_string().ends_with("set SHMEM_BIND=core"));
}

#[test]
fn letters_behind_a_size_are_ignored_and_told() {
    let doubled = [("SHMEM_SYMMETRIC_SIZE", "1GG")];
    assert_eq!(settings(&doubled).symmetric_size, Some(1 << 30));
    assert_eq!(warnings(&doubled), ["SHMEM_SYMMETRIC_SIZE=1GG is read as 1 GiB; `G` at its end is ignored"]);
}

#[test]
fn the_current_name_wins_over_the_deprecated_one_and_says_so() {
    let both = [("SMA_SYMMETRIC_SIZE", "2m"), ("SHMEM_SYMMETRIC_SIZE", "1m")];
    assert_eq!(settings(&both).symmetric_size, Some(1 << 20));
    assert_eq!(warnings(&both), ["SMA_SYMMETRIC_SIZE=2m is ignored because SHMEM_SYMMETRIC_SIZE is set too"]);
    assert!(warnings(&[("SMA_DEBUG", "1"), ("SHMEM_DEBUG", "1")]).is_empty());
    assert!(!settings(&[("SMA_DEBUG", "1"), ("SHMEM_DEBUG", "0")]).debug);
}

#[test]
fn a_former_name_works_and_the_present_one_is_said() {
    let former = [("SHMEM_TCP_TIMEOUT", "7")];
    assert_eq!(settings(&former).peer_timeout, 7);
    assert_eq!(warnings(&former), ["SHMEM_TCP_TIMEOUT is called SHMEM_PEER_TIMEOUT now; the former name still works"]);
    assert!(warnings(&[("SHMEM_PEER_TIMEOUT", "7")]).is_empty());
    for name in super::table::FORMER {
        assert!(all().any(|knob| knob.aliases.contains(name)), "{name} is read no longer");
    }
}

#[test]
fn a_misspelt_name_is_answered_with_the_right_one() {
    assert_eq!(
        warnings(&[("SHMEM_SYMETRIC_SIZE", "1g")]),
        ["SHMEM_SYMETRIC_SIZE is not a variable of oxshmem; did you mean SHMEM_SYMMETRIC_SIZE?"]
    );
}

#[test]
fn an_unknown_name_that_resembles_none_is_named_without_a_guess() {
    let unknown = [("SHMEM_FOOO", "1"), ("SHMEM_COLL_SIZE", "3")];
    let told =
        ["SHMEM_FOOO", "SHMEM_COLL_SIZE"].map(|name| format!("{name} is not a variable of oxshmem and is ignored"));
    assert_eq!(warnings(&unknown), told);
}

#[test]
fn foreign_names_are_no_typos() {
    let foreign =
        [("SHMEM_OFI_TX_POLL_LIMIT", "2"), ("SMA_OFI_DOMAIN", "x"), ("SHMEM_ROOT", "/opt"), ("OSHRUN_DEBUG", "1")];
    assert_eq!(read(&foreign), Ok((Settings::default(), vec![])));
    let also = [("SHMEM_OFI_STX_MAX", "8"), ("SHMEM_OFI_DISABLE_MULTIRAIL", "1"), ("SHMEMX_DEBUG", "1")];
    assert_eq!(read(&also), Ok((Settings::default(), vec![])));
    assert_eq!(read(&[("SHMEM_BOUNCE_SIZE", "8k")]), Ok((Settings::default(), vec![])));
}

#[test]
fn a_slip_in_a_family_of_other_libraries_is_told() {
    for (slip, meant) in [
        ("SHMEM_OFI_PROVIDR", "SHMEM_OFI_PROVIDER"),
        ("SHMEM_OFI_DOMIAN", "SHMEM_OFI_DOMAIN"),
        ("SHMEM_OFI_NUM_NIC", "SHMEM_OFI_NUM_NICS"),
        ("SMA_SYMETRIC_SIZE", "SMA_SYMMETRIC_SIZE"),
    ] {
        assert_eq!(warnings(&[(slip, "1")]), [format!("{slip} is not a variable of oxshmem; did you mean {meant}?")]);
    }
}

#[test]
fn values_that_make_no_sense_are_errors_that_name_the_variable() {
    for (name, value) in [
        ("SHMEM_SYMMETRIC_SIZE", "lots"),
        ("SMA_SYMMETRIC_SIZE", "-1"),
        ("SHMEM_CHECK", "4"),
        ("SHMEM_CHECK", "-1"),
        ("SHMEM_WAIT", "spinn"),
        ("SHMEM_MAX_CTX", "1.5"),
    ] {
        let error = read(&[(name, value)]).expect_err(value).to_string();
        assert!(error.starts_with(&format!("{name}={value}")) && error.lines().count() == 3, "{error}");
    }
    assert!(read(&[("SHMEM_WAIT", "spinn")]).expect_err("a typo").to_string().ends_with("set SHMEM_WAIT=spin"));
}

#[test]
fn a_wait_that_sleeps_is_one_that_yields() {
    for (word, way) in ["auto", "spin", "yield", "sleep"].into_iter().zip(Wait::ALL.into_iter().chain([Wait::Yield])) {
        assert_eq!(settings(&[("SHMEM_WAIT", word)]).wait, way, "{word}");
    }
}

#[test]
fn the_largest_number_that_a_variable_takes_stands_in_its_row() {
    let numbers = all().filter(|knob| knob.value == Value::Number);
    let limited: Vec<_> = numbers.filter_map(|knob| Some((knob, read(&[(knob.name, "4294967295")]).err()?))).collect();
    assert_eq!(limited.len(), 3);
    for (knob, error) in limited {
        let most = error.reason().and_then(|why| why.rsplit(' ').next()).expect("it ends with the largest number");
        assert!(knob.doc.contains(most), "{}: {most}", knob.name);
    }
}

#[test]
fn an_empty_value_is_none_or_switches_off() {
    let empty = [("SHMEM_SYMMETRIC_SIZE", ""), ("SHMEM_CHECK", " "), ("SHMEM_WAIT", ""), ("SHMEM_DEBUG", "")];
    assert_eq!(read(&empty), Ok((Settings::default(), vec![])));
    // A name with an empty value does not hide one with a value.
    assert_eq!(settings(&[("SHMEM_SYMMETRIC_SIZE", ""), ("SMA_SYMMETRIC_SIZE", "1m")]).symmetric_size, Some(1 << 20));
}

#[test]
fn the_value_that_is_told_is_the_one_that_counts() {
    let told = |name: &str, set: &[(&str, &str)]| {
        let knob = all().find(|knob| knob.name == name).expect("a variable");
        let value = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string());
        knob.current_in(value).map(|(name, value)| format!("{name}={value}"))
    };
    let both = [("SHMEM_SYMMETRIC_SIZE", " "), ("SMA_SYMMETRIC_SIZE", "1m")];
    assert_eq!(told("SHMEM_SYMMETRIC_SIZE", &both).as_deref(), Some("SMA_SYMMETRIC_SIZE=1m"));
    assert_eq!(told("SHMEM_CHECK", &[("SHMEM_CHECK", "")]), None);
    assert_eq!(told("SHMEM_STATICS", &[("SHMEM_STATICS", "")]).as_deref(), Some("SHMEM_STATICS="));
}

#[test]
fn the_listing_names_every_variable() {
    let listing = listing();
    assert!(all().all(|knob| listing.contains(knob.name) && listing.contains(knob.doc)));
}
