//! Records of EKM's log, and their events.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use explode_ekm_abi::wire::{
    FLAG_DISCARD, FLAG_ERROR, FLAG_FUA, FLAG_PREFLUSH, FLAG_ZEROES, KIND_BUFFER, KIND_COMPLETE,
    KIND_DIRTY, KIND_FORGET, KIND_MARK, KIND_SUBMIT, RecordHeader,
};
use explode_ramdisk::{Event, Flags, Payload};

use super::buffers::DirtyBuffers;

/// One record with its data.
#[derive(Clone, Debug)]
pub(crate) struct LogRecord {
    pub header: RecordHeader,
    pub data: Bytes,
}

/// Decodes the records of one set of devices into events.
#[derive(Debug, Default)]
pub(crate) struct RecordReader {
    /// The id of each request in flight, by the number in the log, which is an address.
    in_flight: BTreeMap<u64, u64>,
    last_id: u64,
    /// The dirty buffers according to the log, by device.
    dirty: BTreeMap<u32, DirtyBuffers>,
    /// The devices whose flushes do nothing.
    ignores_flushes: BTreeSet<u32>,
}

impl RecordReader {
    /// Ignores later flushes of this device and the flags of its requests.
    pub fn drop_flushes(&mut self, dev: u32) {
        self.ignores_flushes.insert(dev);
    }

    /// Returns the event of a record of device `dev`. `None` if the record has no event.
    pub fn event(&mut self, dev: u32, record: LogRecord) -> Option<Event> {
        let LogRecord { header: RecordHeader { kind, flags, sector, len, request, .. }, data } =
            record;
        let dirty = self.dirty.entry(dev).or_default();
        match kind {
            KIND_DIRTY => {
                dirty.insert(sector, data.clone());
                Some(Event::Dirty { dev, sector, data })
            }
            KIND_FORGET => {
                dirty.remove(sector, len);
                Some(Event::Clean { dev, sector, len })
            }
            KIND_SUBMIT => {
                dirty.remove(sector, len);
                let ignores_flushes = self.ignores_flushes.contains(&dev);
                if ignores_flushes && len == 0 {
                    return None;
                }
                let flags =
                    if ignores_flushes { flags & !(FLAG_FUA | FLAG_PREFLUSH) } else { flags };
                self.last_id += 1;
                self.in_flight.insert(request, self.last_id);
                Some(submit(self.last_id, dev, sector, len, flags, data))
            }
            KIND_COMPLETE => {
                let id = self.in_flight.remove(&request)?;
                Some(Event::Complete { id, error: flags & FLAG_ERROR != 0 })
            }
            KIND_MARK => Some(Event::Mark { name: sector.to_string() }),
            _ => None,
        }
    }

    /// Returns true if the dirty buffers of a device in the kernel are those in the log.
    pub fn agrees<'b>(&self, dev: u32, now: impl Iterator<Item = (u64, &'b [u8])>) -> bool {
        let none = DirtyBuffers::default();
        self.dirty.get(&dev).unwrap_or(&none).are(now)
    }

    /// Takes over the dirty buffers of a device from the kernel. Returns the events that the log
    /// has missed.
    pub fn reconcile(&mut self, dev: u32, now: impl IntoIterator<Item = LogRecord>) -> Vec<Event> {
        let now = now.into_iter().filter(|record| record.header.kind == KIND_BUFFER);
        self.dirty
            .entry(dev)
            .or_default()
            .reconcile(dev, now.map(|record| (record.header.sector, record.data)))
    }

    /// Takes over the dirty buffers of all devices, like [`reconcile`](RecordReader::reconcile).
    /// `now` has all dirty buffers of each device.
    pub fn reconcile_all(&mut self, now: Vec<LogRecord>) -> Vec<Event> {
        let mut by_device: BTreeMap<u32, Vec<LogRecord>> =
            self.dirty.keys().map(|dev| (*dev, Vec::new())).collect();
        for record in now {
            by_device.entry(record.header.device).or_default().push(record);
        }
        by_device.into_iter().flat_map(|(dev, now)| self.reconcile(dev, now)).collect()
    }
}

fn submit(id: u64, dev: u32, sector: u64, len: u64, flags: u16, data: Bytes) -> Event {
    let has = |flag: u16| flags & flag != 0;
    if has(FLAG_PREFLUSH) && len == 0 {
        return Event::Flush { id, dev };
    }
    let payload = if has(FLAG_ZEROES) {
        Payload::Zeroes(len)
    } else if has(FLAG_DISCARD) {
        Payload::Discard(len)
    } else {
        Payload::Data(data)
    };
    let flags = Flags { fua: has(FLAG_FUA), preflush: has(FLAG_PREFLUSH) };
    Event::Submit { id, dev, sector, payload, flags }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, device: u32, sector: u64, byte: u8) -> LogRecord {
        let data = Bytes::from(vec![byte; 1024]);
        LogRecord {
            header: RecordHeader { kind, device, sector, len: 1024, ..RecordHeader::default() },
            data,
        }
    }

    #[test]
    fn unseen_changes_are_found_on_all_devices() {
        let mut reader = RecordReader::default();
        for (dev, sector) in [(0, 2), (0, 4), (1, 2)] {
            assert!(reader.event(dev, record(KIND_DIRTY, dev, sector, 1)).is_some());
        }
        let now = vec![record(KIND_BUFFER, 0, 4, 1), record(KIND_BUFFER, 2, 6, 3)];
        let dirty = Event::Dirty { dev: 2, sector: 6, data: Bytes::from(vec![3; 1024]) };
        let expected = [
            Event::Clean { dev: 0, sector: 2, len: 1024 },
            Event::Clean { dev: 1, sector: 2, len: 1024 },
            dirty,
        ];
        assert_eq!(reader.reconcile_all(now.clone()), expected);
        assert_eq!(reader.reconcile_all(now), []);
    }
}
