//! Complaints about several jobs, in one message.

use crate::JobEnd;

/// A complaint, and the end of the job that it is about.
#[derive(Debug)]
pub struct Complaint {
    what: String,
    end: JobEnd,
}

impl Complaint {
    /// `what` is a sentence in one line.
    pub fn new(what: String, end: JobEnd) -> Complaint {
        Complaint { what, end }
    }
}

/// Ends a test that has complaints. The message has all of them before the output of a job: a log of which only a part is kept still
/// says what is wrong.
#[track_caller]
pub fn expect_no_complaints(complaints: &[Complaint]) {
    assert!(complaints.is_empty(), "{}", told(complaints));
}

fn told(complaints: &[Complaint]) -> String {
    let mut text: String = complaints.iter().map(|complaint| format!("{}\n", complaint.what)).collect();
    // The jobs of a program print much the same.
    if let Some(first) = complaints.first() {
        text += &format!("The job of the first complaint: {}", first.end);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn end(lines: [usize; 2]) -> JobEnd {
        let [stdout, stderr] = lines.map(|count| (1..=count).map(|line| format!("line {line}\n")).collect::<String>());
        JobEnd { status: Some(1), stdout, stderr, took: Duration::ZERO }
    }

    #[test]
    fn all_complaints_come_before_the_output_of_the_first_job() {
        let complaints = [("a is not found", 2), ("b is accused", 3)]
            .map(|(what, lines)| Complaint::new(what.into(), end([0, lines])));
        let text = told(&complaints);
        let head = "a is not found\nb is accused\nThe job of the first complaint: status 1\n";
        assert!(text.starts_with(head) && text.ends_with("line 2") && !text.contains("line 3"), "{text}");
        expect_no_complaints(&[]);
    }

    #[test]
    fn a_message_has_sixty_lines_of_output_at_most() {
        let shown = |lines| {
            let text = end(lines).to_string();
            let (stdout, stderr) = text.split_once("\n--- stderr\n").expect("two streams");
            let stdout = stdout.strip_prefix("status 1\n--- stdout\n").expect("a head");
            [stdout, stderr].map(|stream| stream.lines().count())
        };
        assert_eq!(shown([3, 50]), [3, 50]);
        assert_eq!(shown([3, 900]), [3, 57]);
        assert_eq!(shown([900, 900]), [30, 30]);
        assert_eq!(shown([900, 0]), [60, 0]);
        let text = end([0, 100]).to_string();
        let middle = "line 30\n... 41 lines left out ...\nline 72\n";
        assert!(text.contains(middle) && text.ends_with("line 100"), "{text}");
    }
}
