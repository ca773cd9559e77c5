//! Sequential specifications: what each call does, and returns, if calls come one after another.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

/// A sequential specification. Its value is the state before the first call.
pub trait SequentialSpec: Clone + Default + Eq + Hash + 'static {
    /// The calls.
    type Call: Clone + Debug;
    /// The replies.
    type Reply: Clone + Debug + PartialEq;
    /// The part of the state that a call is about. Calls about different parts are independent.
    type Key: Ord + Clone + Debug;

    /// Returns the part that a call is about.
    fn key(call: &Self::Call) -> Self::Key;

    /// Makes a call and returns its reply.
    fn apply(&mut self, call: &Self::Call) -> Self::Reply;
}

/// A register that holds a value, 0 at first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegisterSpec(u64);

/// A call on a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterCall {
    /// Reads the value.
    Read,
    /// Writes a value.
    Write(u64),
    /// Writes the second value if the register holds the first.
    Swap(u64, u64),
}

/// The reply of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterReply {
    /// The value that was read.
    Value(u64),
    /// The value was written.
    Written,
    /// The register held another value, and nothing was written.
    Different,
}

impl SequentialSpec for RegisterSpec {
    type Call = RegisterCall;
    type Reply = RegisterReply;
    type Key = ();

    fn key(_call: &RegisterCall) {}

    fn apply(&mut self, call: &RegisterCall) -> RegisterReply {
        match *call {
            RegisterCall::Read => RegisterReply::Value(self.0),
            RegisterCall::Write(value) => {
                self.0 = value;
                RegisterReply::Written
            }
            RegisterCall::Swap(from, to) if self.0 == from => {
                self.0 = to;
                RegisterReply::Written
            }
            RegisterCall::Swap(..) => RegisterReply::Different,
        }
    }
}

/// A map of keys to values, empty at first. Each key is a part of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MapSpec(Option<u64>);

/// A call on a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapCall {
    /// Reads the value of a key.
    Get(u64),
    /// Sets the value of a key.
    Put(u64, u64),
    /// Removes a key.
    Remove(u64),
}

/// The reply of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapReply {
    /// The value that was read; `None` without one.
    Value(Option<u64>),
    /// The key was set or removed.
    Done,
}

impl SequentialSpec for MapSpec {
    type Call = MapCall;
    type Reply = MapReply;
    type Key = u64;

    fn key(call: &MapCall) -> u64 {
        match call {
            MapCall::Get(key) | MapCall::Put(key, _) | MapCall::Remove(key) => *key,
        }
    }

    fn apply(&mut self, call: &MapCall) -> MapReply {
        match call {
            MapCall::Get(_) => return MapReply::Value(self.0),
            MapCall::Put(_, value) => self.0 = Some(*value),
            MapCall::Remove(_) => self.0 = None,
        }
        MapReply::Done
    }
}

/// A queue, empty at first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueueSpec(VecDeque<u64>);

/// A call on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueCall {
    /// Adds a value at the end.
    Push(u64),
    /// Takes the first value.
    Pop,
}

/// The reply of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueReply {
    /// The value was added.
    Pushed,
    /// The value that was taken; `None` if the queue was empty.
    Popped(Option<u64>),
}

impl SequentialSpec for QueueSpec {
    type Call = QueueCall;
    type Reply = QueueReply;
    type Key = ();

    fn key(_call: &QueueCall) {}

    fn apply(&mut self, call: &QueueCall) -> QueueReply {
        match call {
            QueueCall::Push(value) => {
                self.0.push_back(*value);
                QueueReply::Pushed
            }
            QueueCall::Pop => QueueReply::Popped(self.0.pop_front()),
        }
    }
}
