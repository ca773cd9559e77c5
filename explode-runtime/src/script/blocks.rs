//! Lines of a script that write blocks of a disk. Usually they contain only the changed bytes.
//! Blocks that change in many places are written whole and compressed (the log that mkfs.xfs writes
//! has a header in each sector).

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use explode_ramdisk::SECTOR_BYTES;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::worker::ChangedBlock;

/// The number of equal bytes in a row that end a run of changed bytes.
const GAP: u64 = 48;
/// The number of places on a line.
const PLACES: usize = 8;
/// The number of places above which blocks are compressed. Each place costs a process of the
/// script's shell.
const MOST_PLACES: usize = 40;
/// The first word of a line with compressed blocks, which needs gzip.
pub(super) const UNPACK: &str = "unpack ";
/// The number of columns of a line of base64.
const COLUMNS: usize = 100;

/// Consecutive bytes and their offset on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BlockRun {
    offset: u64,
    bytes: Vec<u8>,
}

/// Returns the lines that write these blocks. `before` returns the bytes of a block at that point.
pub(super) fn lines(
    blocks: &[ChangedBlock],
    before: &dyn Fn(u64) -> Option<Vec<u8>>,
) -> Vec<String> {
    let mut filled: Vec<(u8, Vec<String>)> = Vec::new();
    let mut runs: Vec<BlockRun> = Vec::new();
    for (number, bytes) in blocks {
        let before = before(*number).unwrap_or_else(|| vec![0; bytes.len()]);
        let sectors = bytes.chunks(SECTOR_BYTES).zip(before.chunks(SECTOR_BYTES));
        for (sector, (now, before)) in (number * (bytes.len() / SECTOR_BYTES) as u64..).zip(sectors)
        {
            if now != before && now.iter().all(|byte| *byte == now[0]) {
                fill(&mut filled, now[0], sector);
            } else {
                differing(now, before, sector * SECTOR_BYTES as u64, &mut runs);
            }
        }
    }
    if filled.iter().map(|(_, places)| places.len()).sum::<usize>() + runs.len() > MOST_PLACES {
        return packed(blocks);
    }
    let places = filled
        .into_iter()
        .map(|(byte, places)| format!("fill '\\{byte:03o}' {}", places.join(" ")));
    let mut lines: Vec<String> = places.collect();
    if !runs.is_empty() {
        let places = runs.iter().map(|run| (run.offset, run.bytes.len() as u64));
        let places: Vec<(u64, u64)> = places.collect();
        let bytes: Vec<u8> = runs.into_iter().flat_map(|run| run.bytes).collect();
        lines.extend(document("put ", &places, &bytes));
    }
    lines
}

/// Returns the lines that write whole blocks from one compressed stream.
fn packed(blocks: &[ChangedBlock]) -> Vec<String> {
    let mut places: Vec<(u64, u64)> = Vec::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for (number, bytes) in blocks {
        match places.last_mut() {
            Some((first, count)) if *first + *count == *number => *count += 1,
            _ => places.push((*number, 1)),
        }
        encoder.write_all(bytes).expect("memory takes what is written");
    }
    document(UNPACK, &places, &encoder.finish().expect("memory takes what is written"))
}

/// Returns a command for some places, each with its first and its number, and bytes on its standard
/// input.
fn document(command: &str, places: &[(u64, u64)], bytes: &[u8]) -> Vec<String> {
    let places: Vec<String> =
        places.iter().map(|(first, count)| format!("{first}:{count}")).collect();
    let mut lines = Vec::new();
    for (index, places) in places.chunks(PLACES).enumerate() {
        let begin = if index == 0 { command } else { "    " };
        lines.push(format!("{begin}{} \\", places.join(" ")));
    }
    if let Some(last) = lines.last_mut() {
        *last = format!("{} <<'END'", last.trim_end_matches(" \\"));
    }
    lines.extend(base64(bytes));
    lines.push("END".to_owned());
    lines
}

/// Adds the bytes of a sector that differ. Short stretches of equal bytes in between are included.
fn differing(now: &[u8], before: &[u8], offset: u64, runs: &mut Vec<BlockRun>) {
    for (at, (byte, _)) in
        now.iter().zip(before).enumerate().filter(|(_, (now, before))| now != before)
    {
        let place = offset + at as u64;
        match runs.last_mut() {
            Some(run) if place - (run.offset + run.bytes.len() as u64) < GAP.min(at as u64 + 1) => {
                let missing = (place - (run.offset + run.bytes.len() as u64)) as usize;
                run.bytes.extend(&now[at - missing..=at]);
            }
            _ => runs.push(BlockRun { offset: place, bytes: vec![*byte] }),
        }
    }
}

/// Adds a sector that is filled with one byte. Consecutive sectors are one place.
fn fill(filled: &mut Vec<(u8, Vec<String>)>, byte: u8, sector: u64) {
    let at = filled.iter().position(|(other, _)| *other == byte).unwrap_or_else(|| {
        filled.push((byte, Vec::new()));
        filled.len() - 1
    });
    let places = &mut filled[at].1;
    let last = places.last().and_then(|place| {
        let (first, count) = place.split_once(':')?;
        Some((first.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
    });
    match last {
        Some((first, count)) if first + count == sector => {
            places.pop();
            places.push(format!("{first}:{}", count + 1));
        }
        _ => places.push(format!("{sector}:1")),
    }
}

/// Returns bytes as lines of base64.
pub(super) fn base64(bytes: &[u8]) -> Vec<String> {
    let text = STANDARD.encode(bytes);
    text.as_bytes().chunks(COLUMNS).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// The checksum of cksum(1) as POSIX defines it: a CRC of the bytes and their number.
pub(super) struct Checksum {
    table: [u32; 256],
    crc: u32,
    length: u64,
}

impl Checksum {
    pub fn new() -> Checksum {
        let mut table = [0; 256];
        for (byte, entry) in (0_u32..).zip(&mut table) {
            *entry = (0..8).fold(byte << 24, |crc, _| {
                if crc & (1 << 31) == 0 { crc << 1 } else { (crc << 1) ^ 0x04c1_1db7 }
            });
        }
        Checksum { table, crc: 0, length: 0 }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.byte(*byte);
        }
        self.length += bytes.len() as u64;
    }

    fn byte(&mut self, byte: u8) {
        self.crc = (self.crc << 8) ^ self.table[((self.crc >> 24) as u8 ^ byte) as usize];
    }

    pub fn end(mut self) -> u32 {
        let mut length = self.length;
        while length > 0 {
            self.byte(length as u8);
            length >>= 8;
        }
        !self.crc
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_checksum_is_that_of_cksum() {
        let of = |bytes: &[u8]| {
            let mut sum = Checksum::new();
            sum.add(bytes);
            sum.end()
        };
        // printf '' | cksum; printf 123456789 | cksum; head -c 1000 /dev/zero | cksum
        assert_eq!(
            [of(b""), of(b"123456789"), of(&[0; 1000])],
            [4_294_967_295, 930_766_865, 2_610_763_910]
        );
    }

    #[test]
    fn bytes_that_differ_are_runs() {
        let runs = |places: &[usize]| {
            let mut now = vec![0; 1024];
            places.iter().for_each(|at| now[*at] = 7);
            let mut runs = Vec::new();
            for at in [0, 512] {
                differing(&now[at..at + 512], &[0; 512], at as u64, &mut runs);
            }
            runs.into_iter().map(|run| (run.offset, run.bytes.len())).collect::<Vec<_>>()
        };
        assert_eq!(runs(&[3, 50, 200]), [(3, 48), (200, 1)]);
        assert_eq!(runs(&[510, 511, 512, 520]), [(510, 11)], "across sectors");
        assert_eq!(
            runs(&[500, 520]),
            [(500, 1), (520, 1)],
            "equal ones of an earlier sector are not at hand"
        );
    }

    #[test]
    fn many_places_are_compressed_blocks() {
        let mut block = vec![0; 4096];
        let places = |block: &[u8]| {
            lines(&[(2, block.to_vec()), (3, vec![5; 4096]), (9, vec![6; 4096])], &|_| None)
        };
        (0..MOST_PLACES - 2).for_each(|place| block[place * 100] = 1);
        assert!(places(&block)[0].starts_with("fill"), "{:?}", places(&block));
        block[4095] = 1;
        let lines = places(&block);
        assert_eq!((&*lines[0], lines.last().unwrap().as_str()), ("unpack 2:2 9:1 <<'END'", "END"));
        let compressed = STANDARD.decode(lines[1..lines.len() - 1].concat()).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [block, vec![5; 4096], vec![6; 4096]].concat());
    }

    #[test]
    fn only_differing_bytes_are_written() {
        let mut block = vec![0; 4096];
        block[512..1024].fill(0xff);
        block[1024..1536].fill(0xff);
        block[2048] = 1;
        let text = lines(&[(2, block.clone())], &|_| None);
        assert_eq!(text[..2], ["fill '\\377' 17:2".to_owned(), "put 10240:1 <<'END'".to_owned()]);
        assert_eq!(text.last().unwrap(), "END");
        assert_eq!(
            lines(&[(2, vec![0; 4096])], &|_| Some(block.clone())),
            ["fill '\\000' 17:2 20:1"]
        );
    }
}
