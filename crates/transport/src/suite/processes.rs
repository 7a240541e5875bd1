//! PEs that are processes. A test program starts itself as the other PEs, with words that say what each is; they tell
//! it their addresses, and it tells them those of all, through pipes.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{AllAddresses, JoiningPe, TESTS, run};
use crate::Fabric;

/// Another process of this program that is a PE.
pub struct Other {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Other {
    /// Starts it with these words, and hears its address.
    pub fn start(words: &[&str]) -> (Self, Vec<u8>) {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut other = Self { to: child.stdin.take(), child, from };
        let mut address = String::new();
        other.from.read_line(&mut address).expect("text");
        let address = unhex(address.trim_end());
        (other, address)
    }

    /// Tells it the addresses of all.
    pub fn tell(&mut self, addresses: &[Vec<u8>]) {
        let lines: String = addresses.iter().map(|address| format!("{}\n", hex(address))).collect();
        self.to.as_mut().expect("until its input ends").write_all(lines.as_bytes()).expect("it reads");
    }

    /// Kills it, wherever it is.
    pub fn kill(&mut self) {
        self.child.kill().expect("it lives");
        assert!(!self.child.wait().expect("it ends").success());
    }

    /// Ends its input, repeats what it prints, and waits for its end.
    fn finish(mut self) -> ExitStatus {
        drop(self.to.take());
        io::copy(&mut self.from, &mut io::stdout()).expect("it can be read");
        self.child.wait().expect("it ends")
    }
}

/// A process tells its address to the one that has started it; returns the addresses of all.
pub fn introduce(address: &[u8], pes: u32) -> Vec<Vec<u8>> {
    println!("{}", hex(address));
    io::stdin().lines().take(pes as usize).map(|line| unhex(&line.expect("text"))).collect()
}

/// Does nothing until this process is killed, or the one that has started it is gone.
pub fn compute() {
    // Input or its end both end the wait.
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// Runs the suite on `pes` processes: `words` and then number and count of PEs make each [`take_part`].
pub fn suite(words: &[&str], pes: u32) {
    println!("the suite in {pes} processes");
    let start = |me: u32| Other::start(&[words, &[&me.to_string(), &pes.to_string()]].concat());
    let (mut others, addresses): (Vec<_>, Vec<_>) = (0..pes).map(start).unzip();
    others.iter_mut().for_each(|other| other.tell(&addresses));
    for (me, other) in others.into_iter().enumerate() {
        assert!(other.finish().success(), "PE {me} failed");
    }
}

/// A PE of the suite.
pub fn take_part(fabric: Box<dyn Fabric>, me: u32, pes: u32) {
    let joining = JoiningPe::register(fabric, me, pes);
    let addresses = introduce(&joining.address(), pes);
    let mut pe = joining.join(Box::new(AllAddresses(addresses)), Arc::new(AtomicBool::new(false)));
    pe.alone = true;
    run(&mut pe, TESTS);
    pe.leave();
}

/// Bytes as a line of text.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of such a line.
fn unhex(text: &str) -> Vec<u8> {
    let digits = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(digits).collect()
}
