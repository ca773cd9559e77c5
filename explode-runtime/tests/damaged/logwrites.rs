//! Logs of dm-log-writes.

use explode_runtime::events::{
    Event, LOG_WRITES_MAGIC, Payload, ReadError, read_logwrites, write_logwrites,
};
use proptest::prelude::*;

use crate::{config, damaged, garbage, limit_memory};

/// Returns a log of three entries: two writes and a flush.
fn sound() -> Vec<u8> {
    let mut log = Vec::new();
    write_logwrites(&mut log, &[(0, vec![b'A'; 1024].into()), (8, vec![b'B'; 512].into())])
        .unwrap();
    log
}

/// Returns a superblock with these claims.
fn superblock(version: u64, entries: u64, sector_bytes: u32) -> Vec<u8> {
    let words = [LOG_WRITES_MAGIC, version, entries].map(u64::to_le_bytes).concat();
    let mut bytes = [&words[..], &sector_bytes.to_le_bytes()].concat();
    bytes.resize(512, 0);
    bytes
}

/// Reads a log. The events have no more bytes than the log, and there are no more entries than it
/// has sectors. An error lies within the log.
fn survives(log: &[u8]) {
    limit_memory();
    match read_logwrites(log) {
        Ok(events) => {
            assert!(
                events.iter().all(|(entry, _)| *entry < log.len() / 512),
                "an entry has a sector"
            );
            assert!(events.len() <= 2 * (log.len() / 512));
            assert!(events.iter().map(|(_, event)| data_bytes(event)).sum::<usize>() <= log.len());
        }
        Err(ReadError::Byte { offset, message }) => {
            assert!(offset <= log.len() as u64 && !message.is_empty(), "byte {offset}: {message}");
        }
        Err(other) => panic!("{other}"),
    }
}

fn data_bytes(event: &Event) -> usize {
    match event {
        Event::Submit { payload: Payload::Data(data), .. } => data.len(),
        _ => 0,
    }
}

#[test]
fn the_log_itself_is_sound() {
    assert_eq!(read_logwrites(&sound()[..]).unwrap().len(), 6);
}

/// Numbers of a header that no file can satisfy cost no memory and no time.
#[test]
fn a_length_in_a_header_is_not_trusted() {
    let entries = &sound()[512..];
    for (count, sector_bytes) in
        [(1 << 60, 512), (u64::MAX, 512), (3, 0), (3, 1), (3, 1 << 31), (3, u32::MAX)]
    {
        let log = [superblock(1, count, sector_bytes), entries.to_vec()].concat();
        survives(&log);
        assert!(
            read_logwrites(&log[..]).is_err(),
            "{count} entries, sectors of {sector_bytes} bytes"
        );
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn garbage_is_survived(bytes in garbage(), entries in any::<u64>(), sector in 0_u32..18) {
        survives(&bytes);
        // The same bytes after a sound superblock, and after one that claims other sectors.
        survives(&[superblock(1, entries, 512), bytes.clone()].concat());
        survives(&[superblock(1, entries, 1 << sector), bytes].concat());
    }

    #[test]
    fn damage_is_survived(log in damaged(sound())) {
        survives(&log);
    }

    /// An entry with any fields, and with almost no data after it.
    #[test]
    fn any_entry_is_survived(fields in any::<[u64; 4]>(), shifts in any::<[u8; 4]>(),
        known in any::<bool>(), sector in 9_u32..17) {
        let mut fields: Vec<u64> =
            fields.iter().zip(shifts).map(|(field, shift)| field >> (shift % 64)).collect();
        if known {
            fields[2] &= 31;
        }
        let mut entry: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        entry.resize(1 << sector, 0);
        let mut log = superblock(1, 1, 1 << sector);
        log.resize(1 << sector, 0);
        survives(&[log, entry, vec![b'A'; 1 << sector]].concat());
    }
}
