//! Whether the program waits for the completion of each message by itself.
//!
//! An unacknowledged message or put is complete when a later question is answered. That costs nothing where other messages follow it, or
//! where nobody waits: a flag, and what the peer sends back. A program that puts and quiets, again and again, pays for a question behind
//! each put. Its messages expect an answer of their own.

/// How many messages a lane has been given between the waits for their completion.
#[derive(Default)]
pub struct CompletionHabit {
    /// Messages since the last such wait.
    messages: u32,
    /// Waits in a row that stood behind one message each.
    singles: u8,
}

/// From so many on the next message is expected to stand alone as well. One is not enough: a put, a quiet and a flag would have the flag
/// answered. Chosen.
const ENOUGH: u8 = 2;

impl CompletionHabit {
    /// Whether the program is likely to wait for the completion of the next message before it makes another one.
    #[must_use]
    pub fn expects_wait(&self) -> bool {
        self.messages == 0 && self.singles >= ENOUGH
    }

    /// The lane gets a message. Returns whether the program is likely to wait for its completion next.
    pub fn note_message(&mut self) -> bool {
        let is_expected = self.expects_wait();
        if self.messages > 0 {
            self.singles = 0;
        }
        self.messages = self.messages.saturating_add(1);
        is_expected
    }

    /// The lane gets a question whose answer the program waits for. It acknowledges the messages before it, if they went to the same PE.
    pub fn note_question(&mut self) {
        if self.messages > 0 {
            self.singles = 0;
        }
        self.messages = 0;
    }

    /// A caller waits for the completion of all messages.
    pub fn note_wait(&mut self) {
        if self.messages == 1 {
            self.singles = self.singles.saturating_add(1).min(ENOUGH);
        }
        self.messages = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer for each message of a program: `p` is a message, `f` a question, `q` a look of a wait for completion.
    fn answered(program: &str) -> Vec<bool> {
        let mut habit = CompletionHabit::default();
        let note = |step| match step {
            'p' => Some(habit.note_message()),
            'f' => {
                habit.note_question();
                None
            }
            _ => {
                habit.note_wait();
                None
            }
        };
        program.chars().filter_map(note).collect()
    }

    #[test]
    fn who_waits_behind_each_message_gets_answers() {
        assert_eq!(answered("pqqqpqpqqpqp"), [false, false, true, true, true]);
        assert_eq!(answered("fpqfpqfp"), [false, false, true], "a question before the message does not acknowledge it");
    }

    #[test]
    fn who_does_not_gets_none() {
        for program in ["pppppppp", "pppqpppqpppq", "pqppqppqppqp", "ppqqqppqqqppq", "pfqpfqpfqpfq"] {
            assert!(!answered(program).contains(&true), "{program}");
        }
        assert_eq!(answered("pqpqppqpp"), [false, false, true, false, false, false], "one answer too many");
    }
}
