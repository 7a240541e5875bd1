//! PEs that are processes. A test program starts itself as the other PEs, with words that say what each is; they tell
//! it their addresses, and it tells them those of all, through pipes.

use std::env;
use std::io::{self, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{MemoryPe, SuitePe, TESTS};
use crate::Fabric;

/// Another process of this program, behind pipes.
pub struct OtherProcess {
    from: Box<dyn Read + Send>,
    to: Box<dyn Write + Send>,
    /// It, where this process has started it.
    child: Option<Child>,
}

impl OtherProcess {
    /// Starts this program once more, with these words.
    pub fn start(words: &[&str]) -> Self {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self { from: Box::new(BufReader::new(from)), to: Box::new(to), child: Some(child) }
    }

    /// The process that has started this one.
    pub fn starter() -> Self {
        Self { from: Box::new(io::stdin()), to: Box::new(io::stdout()), child: None }
    }

    /// Whether it has started this process.
    pub fn is_starter(&self) -> bool {
        self.child.is_none()
    }

    /// Gives it something.
    pub fn give(&mut self, mine: &[u8]) {
        self.to.write_all(&(mine.len() as u64).to_le_bytes()).and_then(|()| self.to.write_all(mine)).expect("a pipe");
        self.to.flush().expect("a pipe");
    }

    /// Takes what it gives.
    pub fn take(&mut self) -> Vec<u8> {
        let mut length = [0; 8];
        self.from.read_exact(&mut length).expect("the other process lives");
        let mut theirs = vec![0; u64::from_le_bytes(length) as usize];
        self.from.read_exact(&mut theirs).expect("the other process lives");
        theirs
    }

    /// Both give something and get what the other gives.
    pub fn swap(&mut self, mine: &[u8]) -> Vec<u8> {
        self.give(mine);
        self.take()
    }

    /// Kills it, wherever it is.
    pub fn kill(&mut self) {
        let child = self.child.as_mut().expect("this process has started it");
        child.kill().expect("it lives");
        assert!(!child.wait().expect("it ends").success());
    }

    /// Waits for its end, where this process has started it.
    pub fn end(self) {
        if let Some(mut child) = self.child {
            assert!(child.wait().expect("it ends").success());
        }
    }
}

/// A process tells its address to the one that has started it; returns the addresses of all.
fn introduce(address: &[u8], pes: u32) -> Vec<Vec<u8>> {
    let mut starter = OtherProcess::starter();
    starter.give(address);
    (0..pes).map(|_| starter.take()).collect()
}

/// PE 0 of two meets PE 1, a process that these words make a [`victim`].
pub fn meet_victim(pe: &mut MemoryPe, words: &[&str]) -> OtherProcess {
    let mut victim = OtherProcess::start(words);
    let addresses = vec![pe.fabric.address(), victim.take()];
    addresses.iter().for_each(|address| victim.give(address));
    pe.connect(addresses);
    pe.work(1, 1).expect("both live");
    victim
}

/// PE 1 of two, which does nothing until it is killed, or the process that has started it is gone.
pub fn victim(mut pe: MemoryPe) {
    pe.connect(introduce(&pe.fabric.address(), 2));
    // Input or its end both end the wait.
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// PE 0 moves data to and from its victim until that fails; returns the error.
pub fn work_with_victim(pe: &mut MemoryPe) -> String {
    (2..).find_map(|round| pe.work(1, round).err()).expect("there is no end of rounds").to_string()
}

/// Runs the suite on `pes` processes: `words` and then number and count of PEs make each [`take_part`].
pub fn suite(words: &[&str], pes: u32) {
    println!("the suite in {pes} processes");
    let start = |me: u32| {
        let mut other = OtherProcess::start(&[words, &[&me.to_string(), &pes.to_string()]].concat());
        let address = other.take();
        (other, address)
    };
    let (mut others, addresses): (Vec<_>, Vec<_>) = (0..pes).map(start).unzip();
    others.iter_mut().for_each(|other| addresses.iter().for_each(|address| other.give(address)));
    for (me, OtherProcess { mut from, to, child }) in others.into_iter().enumerate() {
        // Its input ends, and what it prints is repeated.
        drop(to);
        io::copy(&mut from, &mut io::stdout()).expect("it can be read");
        let mut child = child.expect("this process has started it");
        assert!(child.wait().expect("it ends").success(), "PE {me} failed");
    }
}

/// A PE of the suite.
pub fn take_part(fabric: Box<dyn Fabric>, me: u32, pes: u32) {
    let mut pe = SuitePe::register(fabric, me, pes, Arc::new(AtomicBool::new(false)));
    pe.alone = true;
    pe.connect(introduce(&pe.fabric.address(), pes));
    pe.run(TESTS);
    pe.leave();
}
