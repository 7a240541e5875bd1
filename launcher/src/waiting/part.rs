//! The part that this process has in a job with hosts that wait.

use oxshmem_base::Error;

use crate::hosts::{as_option, is_here};
use crate::layout;
use crate::link::sealed::JobKey;
use crate::plan::{JobPlan, WaitingHosts};

/// The part of this process in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPart {
    /// It starts the job.
    Launches,
    /// It waits for the launcher.
    Waits(WaitingHosts),
}

/// The part of this process: with `--meet` the first host launches, and the others wait. Nobody launches a job that is only shown.
pub fn part_of(plan: &JobPlan) -> Result<JobPart, Error> {
    let (Some(waiting), Some(hosts)) = (&plan.places.waiting, &plan.places.hosts) else { return Ok(JobPart::Launches) };
    if let Some(host) = hosts.iter().find(|host| host.name.contains('@')) {
        return Err(as_another_user(&host.name, waiting));
    }
    if plan.dry_run {
        return Ok(JobPart::Launches);
    }
    if !waiting.meets || is_here(&hosts[0].name) {
        // The ways to the hosts read it again. They would say for each of them that it cannot be used.
        if !hosts.iter().all(|host| is_here(&host.name)) {
            JobKey::read(&waiting.key)?;
        }
        return Ok(JobPart::Launches);
    }
    if hosts.iter().any(|host| is_here(&host.name)) {
        // No other host needs to wait for a command that the first one refuses.
        layout::laid_out(plan, String::new()).map_err(|(_, error)| error)?;
        return Ok(JobPart::Waits(waiting.clone()));
    }
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Err(Error::new("--meet: this host is none of those that are named")
        .because(format!("it is called {}, and -H or --hostfile names {} and others", own.trim(), hosts[0].name))
        .fix("name every host by its own name, with or without a domain behind it"))
}

/// A name with a user in it never has an address.
fn as_another_user(name: &str, waiting: &WaitingHosts) -> Error {
    let option = if waiting.meets { "--meet" } else { "--hosts-wait" };
    let host = name.rsplit('@').next().unwrap_or_default();
    Error::new(format!("{option}: `{name}` names a user, and no remote shell is used"))
        .because("PEs run as the user of the agent that waits on the host")
        .fix(format!("leave the user out: {}", as_option(host)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use oxshmem_test_folder::TestFolder;

    use super::*;

    fn part(options: &str) -> Result<JobPart, Error> {
        let plan = JobPlan::from_arguments(format!("{options} ./a").split(' ').map(Into::into).collect());
        part_of(&plan.expect("the command line is well formed"))
    }

    #[test]
    fn no_host_waits_for_a_job_that_is_only_shown() {
        let shown = "--meet --key-file key -H elsewhere,localhost";
        assert!(matches!(part(shown), Ok(JobPart::Waits(_))));
        assert_eq!(part(&format!("{shown} --dry-run")).ok(), Some(JobPart::Launches));
    }

    #[test]
    fn no_host_waits_for_a_job_that_the_first_one_refuses() {
        let line = "--meet --key-file key -H elsewhere,localhost -n";
        assert!(matches!(part(&format!("{line} 2")), Ok(JobPart::Waits(_))));
        let told = part(&format!("{line} 1")).expect_err("one PE is too few for two hosts").to_string();
        assert!(told.contains("host localhost waits, and gets none of 1 PE\n"), "{told}");
    }

    #[test]
    fn a_user_has_no_part_in_the_name_of_a_host_that_waits() {
        for (option, name, host) in [
            ("--meet", "me@localhost", "localhost"),
            ("--hosts-wait", "me@n1", "n1"),
            ("--hosts-wait --dry-run", "me@[fd00::9]", "[fd00::9]"),
        ] {
            let told = part(&format!("{option} --key-file key -H localhost,{name}")).expect_err(name).to_string();
            let first = option.split(' ').next().unwrap_or_default();
            let whole = name.replace(['[', ']'], "");
            let what = format!("{first}: `{whole}` names a user, and no remote shell is used");
            assert!(told.contains(&what) && told.ends_with(&format!("leave the user out: {host}")), "{told}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_used_is_a_wrong_command_line() {
        let folder = TestFolder::new("key");
        let (short, long) = (folder.write("short", "0123\n"), folder.write("long", "0123456789abcdef\n"));
        let none = folder.join("none");
        let with = |key: &Path, rest: &str| part(&format!("--hosts-wait --key-file {} {rest}", key.display()));
        assert_eq!(with(&long, "-H elsewhere").ok(), Some(JobPart::Launches));
        for (key, why) in [(&short, "it has 4 bytes"), (&none, "No such file")] {
            let told = with(key, "-H localhost,elsewhere").expect_err(why).to_string();
            assert!(told.contains("cannot use the key in ") && told.contains(why), "{told}");
            // No way leads to a host that waits.
            for rest in ["-H localhost", "-H elsewhere --dry-run"] {
                assert_eq!(with(key, rest).ok(), Some(JobPart::Launches), "{rest}");
            }
        }
    }
}
