//! Stops of this process by its terminal.

use std::os::fd::AsFd;

use rustix::termios;

use crate::{kernel_text, process};

/// Whether a write to this stream would stop the process now: it is the terminal of its session, stops writers of the background, and another
/// group is in the foreground.
pub fn would_stop_us(stream: &impl AsFd) -> bool {
    process::stops_writers(stream)
        && termios::tcgetpgrp(stream).is_ok_and(|foreground| foreground != rustix::process::getpgrp())
}

/// Whether something could continue this process after a stop. The system stops no group without a parent in the same session outside of
/// it: no shell knows the group any more.
pub fn is_in_job_control() -> bool {
    let place = |pid: u32| {
        let stat = kernel_text::read(format!("/proc/{pid}/stat")).ok()?;
        // The fields after the command's closing bracket: state, parent, group, session.
        let mut fields = stat.rsplit(") ").next()?.split(' ').skip(1).map(|field| field.parse::<u32>().ok());
        Some((fields.next()??, fields.next()??, fields.next()??))
    };
    let Some((mut above, group, session)) = place(process::pid()) else { return false };
    loop {
        match place(above) {
            Some((next, its, same)) if same == session && its == group => above = next,
            Some((_, _, same)) => return same == session,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use oxshmem_test_folder::{again, is_again};

    use super::*;

    #[test]
    fn a_group_without_a_parent_outside_of_it_is_stopped_by_no_terminal() {
        if is_again() {
            println!("in job control: {}", is_in_job_control());
            return;
        }
        let told = |test: &mut Command| {
            let output = test.output().expect("the test starts");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains("in job control: "), "{text}");
            text.contains("in job control: true")
        };
        // A group of its own has this process as a parent outside of it. A new session has none.
        assert!(told(again(&[]).process_group(0)));
        assert!(!told(&mut again(&["setsid", "--wait"])));
        assert!(!would_stop_us(&std::fs::File::open("/dev/null").expect("a device")));
    }
}
