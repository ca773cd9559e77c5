//! A node that is proposer, acceptor and learner.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use explode_ramdisk::files::{Fd, Files, OpenFlags};

use crate::node::{CallId, Handled, Host, Node, NodeId};

/// No bug.
pub const CORRECT: u8 = 0;
/// A leader takes the value of the last promise, not that of the highest ballot (bug 1).
pub const LAST_PROMISE: u8 = 1;
/// An acceptor does not sync its promise (bug 2).
pub const UNSYNCED_PROMISE: u8 = 2;

const PATH: &str = "/acceptor";

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaxosMsg {
    /// Asks for a promise to ignore lower ballots.
    Prepare(u64),
    /// The promise, with the value that was accepted before and its ballot.
    Promise(u64, Option<(u64, u64)>),
    /// Asks to accept a value.
    Accept(u64, u64),
    /// Tells that the sender has accepted a value.
    Learn(u64, u64),
}

/// The state that an acceptor must not forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Acceptor {
    /// The highest ballot that was promised.
    promised: u64,
    /// The ballot and the value that were accepted last.
    accepted: Option<(u64, u64)>,
}

/// A ballot that the node leads.
#[derive(Clone, Debug, Hash)]
struct Leading {
    ballot: u64,
    value: u64,
    promises: BTreeSet<NodeId>,
    /// The highest ballot among the accepted values that were promised, with its value.
    highest: Option<(u64, u64)>,
    has_asked: bool,
}

/// A node. `BUG` says what is wrong.
pub struct Paxos<const BUG: u8> {
    files: Rc<dyn Files>,
    file: Fd,
    acceptor: Acceptor,
    leading: Option<Leading>,
    /// The nodes that have accepted a value in a ballot.
    learned: BTreeMap<(u64, u64), BTreeSet<NodeId>>,
    chosen: Option<u64>,
    /// The number of ballots that the node has led since it was opened.
    round: u64,
}

impl<const BUG: u8> std::hash::Hash for Paxos<BUG> {
    fn hash<H: std::hash::Hasher>(&self, hash: &mut H) {
        let Paxos { files: _, file, acceptor, leading, learned, chosen, round } = self;
        (file, acceptor, leading, learned, chosen, round).hash(hash);
    }
}

impl<const BUG: u8> Paxos<BUG> {
    /// Returns the value that the node knows to be chosen.
    pub fn chosen(&self) -> Option<u64> {
        self.chosen
    }

    /// Returns true if the node has promised anything.
    pub fn has_promised(&self) -> bool {
        self.acceptor.promised > 0
    }

    /// Writes what the acceptor must not forget.
    fn store(&self, is_synced: bool) -> Handled {
        let Acceptor { promised, accepted } = self.acceptor;
        let (ballot, value) = accepted.unwrap_or_default();
        let bytes = [promised, ballot, value].map(u64::to_le_bytes).concat();
        self.files.pwrite(self.file, 0, &bytes)?;
        if is_synced {
            self.files.fdatasync(self.file)?;
        }
        Ok(())
    }

    fn promise(&mut self, from: NodeId, ballot: u64, host: &mut Host<'_, Self>) -> Handled {
        if ballot <= self.acceptor.promised {
            return Ok(());
        }
        self.acceptor.promised = ballot;
        self.store(BUG != UNSYNCED_PROMISE)?;
        Ok(host.send(from, PaxosMsg::Promise(ballot, self.acceptor.accepted))?)
    }

    fn promised(
        &mut self,
        from: NodeId,
        ballot: u64,
        accepted: Option<(u64, u64)>,
        host: &mut Host<'_, Self>,
    ) -> Handled {
        let majority = host.nodes().count() / 2 + 1;
        let Some(leading) = self.leading.as_mut().filter(|leading| leading.ballot == ballot) else {
            return Ok(());
        };
        leading.promises.insert(from);
        leading.highest = match BUG {
            LAST_PROMISE => accepted,
            _ => leading.highest.max(accepted),
        };
        if leading.promises.len() < majority || leading.has_asked {
            return Ok(());
        }
        leading.has_asked = true;
        let value = leading.highest.map_or(leading.value, |(_, value)| value);
        host.nodes().try_for_each(|to| host.send(to, PaxosMsg::Accept(ballot, value)))?;
        Ok(())
    }

    fn accept(&mut self, ballot: u64, value: u64, host: &mut Host<'_, Self>) -> Handled {
        if ballot < self.acceptor.promised {
            return Ok(());
        }
        self.acceptor = Acceptor { promised: ballot, accepted: Some((ballot, value)) };
        self.store(true)?;
        host.nodes().try_for_each(|to| host.send(to, PaxosMsg::Learn(ballot, value)))?;
        Ok(())
    }

    fn learn(&mut self, from: NodeId, ballot: u64, value: u64, host: &mut Host<'_, Self>) {
        let majority = host.nodes().count() / 2 + 1;
        let accepted = self.learned.entry((ballot, value)).or_default();
        if accepted.insert(from) && accepted.len() == majority {
            self.chosen = Some(value);
            host.fact("chosen", &[value]);
        }
    }
}

impl<const BUG: u8> Node for Paxos<BUG> {
    type Msg = PaxosMsg;
    /// Proposes a value, which is not 0.
    type Call = u64;
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let files = host.files();
        let file = files.open(PATH, OpenFlags::CREATE)?;
        files.sync_dir("/")?;
        let bytes = files.read_file(PATH)?;
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        let accepted = Some((word(8), word(16))).filter(|(ballot, _)| *ballot > 0);
        let acceptor = Acceptor { promised: word(0), accepted };
        let (leading, learned, chosen) = (None, BTreeMap::new(), None);
        Ok(Paxos { files, file, acceptor, leading, learned, chosen, round: 0 })
    }

    fn on_message(&mut self, from: NodeId, msg: PaxosMsg, host: &mut Host<'_, Self>) -> Handled {
        match msg {
            PaxosMsg::Prepare(ballot) => self.promise(from, ballot, host),
            PaxosMsg::Promise(ballot, accepted) => self.promised(from, ballot, accepted, host),
            PaxosMsg::Accept(ballot, value) => self.accept(ballot, value, host),
            PaxosMsg::Learn(ballot, value) => {
                self.learn(from, ballot, value, host);
                Ok(())
            }
        }
    }

    /// Leads a new ballot. No node leads a ballot twice, because it first promises each to itself,
    /// on its disk.
    fn on_call(&mut self, call: CallId, value: u64, host: &mut Host<'_, Self>) -> Handled {
        host.reply(call, ());
        let hosts = host.nodes().count() as u64;
        self.round = self.round.max(self.acceptor.promised / hosts) + 1;
        let ballot = self.round * hosts + u64::from(host.id().0) - 1;
        let (promises, highest, has_asked) = (BTreeSet::new(), None, false);
        self.leading = Some(Leading { ballot, value, promises, highest, has_asked });
        host.nodes().try_for_each(|to| host.send(to, PaxosMsg::Prepare(ballot)))?;
        Ok(())
    }
}
