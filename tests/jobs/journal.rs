//! The journal of a run, but for times.

use std::path::Path;

/// Length and hash of a record.
const HEAD_BYTES: usize = 12;

/// Its records: the first says which run it is; of each other one all but its last number, the milliseconds since the run began.
pub fn records(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let magic = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut rest = &bytes[magic..];
    let mut records: Vec<Vec<u8>> = Vec::new();
    while let Some((length, _)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let (record, more) = rest[HEAD_BYTES..].split_at(length);
        records.push(if records.is_empty() { record.to_vec() } else { without_last(record).to_vec() });
        rest = more;
    }
    records
}

/// Without the number at the end: seven bits a byte, of which all but the last have the eighth set.
fn without_last(record: &[u8]) -> &[u8] {
    let (_, rest) = record.split_last().unwrap();
    &rest[..rest.iter().rposition(|byte| *byte < 0x80).unwrap() + 1]
}
