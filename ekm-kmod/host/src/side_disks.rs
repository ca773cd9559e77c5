//! The disks of one side of a run, live or crash, and their events.

use std::collections::BTreeMap;

use explode_ekm_abi::wire::{FLAG_ASKED, KIND_BUFFER};
use explode_ramdisk::{Event, operation_mark};

use super::log::{LogRecord, RecordReader};
use super::rdd::RddDisk;
use super::tasks::EventTasks;
use crate::calls::{self, KernelCall, MappedFiles};
use explode_runtime::base::StepError;
use explode_runtime::devices::Side;

/// The disks of one side and the state of their log.
#[derive(Debug, Default)]
pub(crate) struct SideDisks {
    pub(crate) disks: BTreeMap<u32, RddDisk>,
    pub(crate) reader: RecordReader,
    pub(crate) events: Vec<Event>,
    /// The number of events since the stack began, without marks.
    pub(crate) logged: u64,
    /// The calls that were not taken yet.
    pub(crate) calls: Vec<KernelCall>,
    pub(crate) stores: MappedFiles,
    /// The tasks that have caused the events. Known only on the live side.
    pub(crate) event_tasks: EventTasks,
    /// The dirty buffers that belong to the next request of a program for crash checks.
    pub(crate) dirty: Vec<LogRecord>,
    /// The disks whose dirty buffers do not count.
    pub(crate) unseen: Vec<u32>,
    /// The error if events were lost, because the log was full or damaged.
    pub(crate) spoiled: Option<StepError>,
}

impl SideDisks {
    /// Records a call and its mark.
    pub(crate) fn note(&mut self, call: KernelCall) {
        if call.is_operation() {
            self.events.push(operation_mark(&call.to_string()));
        }
        self.calls.push(call);
    }

    /// Adds a record of a device. The issuers of events are known only on the live side.
    pub(crate) fn note_record(&mut self, side: Side, device: u32, record: LogRecord) {
        if is_of_request(&record) {
            self.dirty.push(record);
            return;
        }
        let pid = record.header.pid;
        let event = self.reader.event(device, record);
        if side == Side::Live && event.is_some() {
            self.event_tasks.note(Some(pid));
        }
        self.logged += u64::from(event.is_some());
        self.events.extend(event);
    }

    /// Adds a record of a call.
    pub(crate) fn note_call(&mut self, record: &LogRecord) {
        match calls::read(&record.header, &record.data) {
            Ok(call) => {
                self.stores.note(&call);
                self.note(call);
            }
            Err(fault) => {
                self.spoiled.get_or_insert(fault);
            }
        }
    }

    /// Turns unlogged changes of dirty buffers into events. `dirty` has all dirty buffers.
    pub(crate) fn reconcile(&mut self, dirty: Vec<LogRecord>) {
        let missed = self.reader.reconcile_all(dirty);
        missed.iter().for_each(|_| self.event_tasks.note(None));
        self.logged += missed.len() as u64;
        self.events.extend(missed);
    }
}

/// Returns true for the record of a dirty buffer that belongs to a program's request for crash
/// checks.
pub(crate) fn is_of_request(record: &LogRecord) -> bool {
    record.header.kind == KIND_BUFFER && record.header.flags & FLAG_ASKED != 0
}
