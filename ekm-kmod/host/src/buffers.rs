//! The dirty buffers in the buffer cache of a device according to the log. At each mark they are
//! compared with the list from the kernel.
//!
//! The kernel clears a buffer's dirty bit in more places than can be watched (a journal that takes
//! a buffer over does it inline). A buffer that is dirty only in the log was cleaned since the last
//! mark, and becomes a `clean` at the mark. A buffer that is dirty only in the kernel would be a
//! version that no crash disk can hold. It becomes a `dirty` at the mark, so that no possible write
//! is missed.

use std::collections::BTreeMap;

use bytes::Bytes;
use explode_ramdisk::{Event, SECTOR_BYTES};

/// The dirty buffers by first sector.
#[derive(Debug, Default)]
pub(crate) struct DirtyBuffers(BTreeMap<u64, Bytes>);

impl DirtyBuffers {
    /// Records that a buffer has become dirty with these contents.
    pub fn insert(&mut self, sector: u64, data: Bytes) {
        self.remove(sector, data.len() as u64);
        self.0.insert(sector, data);
    }

    /// Records that buffers that begin in the range are no longer dirty.
    pub fn remove(&mut self, sector: u64, len: u64) {
        let behind = sector + len / SECTOR_BYTES as u64;
        let gone: Vec<u64> = self.0.range(sector..behind).map(|(sector, _)| *sector).collect();
        gone.iter().for_each(|sector| drop(self.0.remove(sector)));
    }

    /// Returns true if exactly these buffers are dirty and hold these bytes. They are in order of
    /// sectors.
    pub fn are<'b>(&self, mut now: impl Iterator<Item = (u64, &'b [u8])>) -> bool {
        let mut known = self.0.iter();
        let is_next = |(sector, data): (u64, &[u8])| {
            known.next().is_some_and(|(had, bytes)| *had == sector && bytes[..] == *data)
        };
        now.all(is_next) && known.next().is_none()
    }

    /// Takes over the list from the kernel. Returns the events that lead to it.
    pub fn reconcile(&mut self, dev: u32, now: impl Iterator<Item = (u64, Bytes)>) -> Vec<Event> {
        let now: BTreeMap<u64, Bytes> = now.collect();
        let cleaned = self.0.iter().filter(|(sector, _)| !now.contains_key(sector));
        let cleaned = cleaned.map(|(sector, data)| Event::Clean {
            dev,
            sector: *sector,
            len: data.len() as u64,
        });
        let missed = now.iter().filter(|(sector, data)| self.0.get(sector) != Some(data));
        let missed =
            missed.map(|(sector, data)| Event::Dirty { dev, sector: *sector, data: data.clone() });
        let events = cleaned.chain(missed).collect();
        self.0 = now;
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(byte: u8) -> Bytes {
        Bytes::from(vec![byte; 1024])
    }

    #[test]
    fn an_equal_set_needs_no_event() {
        let mut dirty = DirtyBuffers::default();
        dirty.insert(2, buffer(1));
        dirty.insert(4, buffer(2));
        assert_eq!(dirty.reconcile(0, [(2, buffer(1)), (4, buffer(2))].into_iter()), []);
    }

    #[test]
    fn different_sets_are_not_equal() {
        let mut dirty = DirtyBuffers::default();
        dirty.insert(2, buffer(1));
        dirty.insert(4, buffer(2));
        let are = |now: &[(u64, u8)]| {
            let now: Vec<(u64, Bytes)> =
                now.iter().map(|(sector, byte)| (*sector, buffer(*byte))).collect();
            dirty.are(now.iter().map(|(sector, data)| (*sector, &data[..])))
        };
        assert!(are(&[(2, 1), (4, 2)]));
        assert!(!are(&[(2, 1)]) && !are(&[(2, 1), (4, 2), (6, 3)]) && !are(&[(2, 1), (4, 3)]));
        assert!(!are(&[(2, 1), (2, 1)]) && !are(&[]));
    }

    #[test]
    fn written_and_forgotten_buffers_are_not_dirty() {
        let mut dirty = DirtyBuffers::default();
        dirty.insert(2, buffer(1));
        dirty.insert(4, buffer(2));
        dirty.remove(0, 2048);
        assert_eq!(dirty.reconcile(0, [(4, buffer(2))].into_iter()), []);
    }

    #[test]
    fn differences_become_events() {
        let mut dirty = DirtyBuffers::default();
        dirty.insert(2, buffer(1));
        dirty.insert(4, buffer(2));
        let events = dirty.reconcile(7, [(4, buffer(3)), (8, buffer(4))].into_iter());
        let expected = [
            Event::Clean { dev: 7, sector: 2, len: 1024 },
            Event::Dirty { dev: 7, sector: 4, data: buffer(3) },
            Event::Dirty { dev: 7, sector: 8, data: buffer(4) },
        ];
        assert_eq!(events, expected);
        assert_eq!(dirty.reconcile(7, [(4, buffer(3)), (8, buffer(4))].into_iter()), []);
    }
}
