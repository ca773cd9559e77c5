//! The names of what stands in a run folder.

/// The file of all messages. The process that adds to it has its lock.
pub(super) const MESSAGES: &str = "run.jsonl";
/// The file of the journal.
pub(super) const JOURNAL: &str = "journal";
/// The folder of the traces.
pub(super) const TRACES: &str = "traces";
/// The file of the plan's tag, where the plan carries commands.
pub(super) const TAG: &str = "tag";
/// All names in a run folder that are the run's own.
pub const OWN_NAMES: [&str; 4] = [MESSAGES, JOURNAL, TRACES, TAG];
