//! Why a process manager cannot be used: the words for the user, and the cause, on which the next step depends.

/// The cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalCause {
    /// Only the words tell it.
    Other,
    /// The descriptor of the launcher has been closed.
    ClosedDescriptor,
    /// Another process of this PE may speak on the same connection.
    TwoSpeak,
    /// The server does not speak this version of the protocol.
    OtherVersion,
    /// The library of PMIx is there, and does not serve this process.
    PmixCall,
}

/// A refusal, in words that follow `but no PMI server answered`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagerRefusal {
    pub(crate) cause: RefusalCause,
    pub(crate) why: String,
}

impl ManagerRefusal {
    pub(crate) fn new(cause: RefusalCause, why: String) -> ManagerRefusal {
        ManagerRefusal { cause, why }
    }

    /// The same cause in the words that `words` makes of these.
    pub(crate) fn told(self, words: impl FnOnce(&str) -> String) -> ManagerRefusal {
        ManagerRefusal { cause: self.cause, why: words(&self.why) }
    }
}

impl From<String> for ManagerRefusal {
    fn from(why: String) -> ManagerRefusal {
        ManagerRefusal::new(RefusalCause::Other, why)
    }
}

impl From<&str> for ManagerRefusal {
    fn from(why: &str) -> ManagerRefusal {
        why.to_owned().into()
    }
}
