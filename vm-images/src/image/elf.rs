//! The parts of the ELF format that are needed here: the loader and libraries of a program, and the
//! end of its loaded part. Supports only 64-bit little-endian ELF, as on x86-64.

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
const NEEDED: u64 = 1;
const STRING_TABLE: u64 = 5;
const PROGRAM_HEADER_SIZE: usize = 56;

/// The requirements of a program or library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elf {
    /// The loader's path. `None` for libraries and static programs.
    pub interpreter: Option<String>,
    /// The names of the required libraries, in order.
    pub needed: Vec<String>,
    /// The length of the part of the file that is needed to run it. Symbols and debug information
    /// follow.
    pub loaded_len: usize,
}

struct Segment {
    kind: u32,
    offset: usize,
    address: u64,
    len: usize,
}

/// Parses an ELF file. `None` if the bytes are not an ELF file, or a damaged one.
pub(crate) fn parse(bytes: &[u8]) -> Option<Elf> {
    // The magic number, then 64 bits, then little-endian.
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let headers_at = number(bytes, 0x20, 8)? as usize;
    let count = number(bytes, 0x38, 2)? as usize;
    let mut segments = Vec::new();
    for index in 0..count {
        let at = headers_at.checked_add(index * PROGRAM_HEADER_SIZE)?;
        segments.push(Segment {
            kind: number(bytes, at, 4)? as u32,
            offset: number(bytes, at + 8, 8)? as usize,
            address: number(bytes, at + 16, 8)?,
            len: number(bytes, at + 32, 8)? as usize,
        });
    }
    let mut elf = Elf { loaded_len: headers_at + count * PROGRAM_HEADER_SIZE, ..Elf::default() };
    for segment in &segments {
        elf.loaded_len = elf.loaded_len.max(segment.offset.checked_add(segment.len)?);
        match segment.kind {
            INTERPRETER => elf.interpreter = Some(string(bytes, segment.offset)?),
            DYNAMIC => elf.needed = needed(bytes, segment, &segments)?,
            _ => {}
        }
    }
    (elf.loaded_len <= bytes.len()).then_some(elf)
}

/// Removes the part that is not needed to run the file, like `strip`.
pub(crate) fn strip(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(elf) = parse(&bytes) {
        bytes.truncate(elf.loaded_len);
        // The section table is gone, so its offset, its length, and the index of the names in it
        // become zero.
        bytes[0x28..0x30].fill(0);
        bytes[0x3c..0x40].fill(0);
    }
    bytes
}

fn needed(bytes: &[u8], dynamic: &Segment, segments: &[Segment]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut strings = None;
    for at in (dynamic.offset..dynamic.offset.checked_add(dynamic.len)?).step_by(16) {
        let value = number(bytes, at + 8, 8)?;
        match number(bytes, at, 8)? {
            0 => break,
            NEEDED => names.push(value as usize),
            STRING_TABLE => strings = Some(value),
            _ => {}
        }
    }
    let strings = strings?;
    let holder = segments.iter().find(|segment| {
        segment.kind == LOAD
            && (segment.address..segment.address + segment.len as u64).contains(&strings)
    })?;
    let table = holder.offset + (strings - holder.address) as usize;
    names.into_iter().map(|name| string(bytes, table.checked_add(name)?)).collect()
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

fn string(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_program_is_parsed_and_runs() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let elf = parse(&bytes).unwrap();
        assert_eq!(elf.interpreter.as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
        assert!(elf.needed.iter().any(|name| name == "libc.so.6"), "{:?}", elf.needed);

        let stripped = strip(bytes.clone());
        assert!(stripped.len() < bytes.len());
        assert_eq!(parse(&stripped), Some(elf));
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("test");
        std::fs::write(&program, stripped).unwrap();
        let status = std::process::Command::new("/lib64/ld-linux-x86-64.so.2")
            .arg(&program)
            .arg("--list")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    }

    #[test]
    fn damaged_elf_files_are_refused() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let loaded_len = parse(&bytes).unwrap().loaded_len;
        for len in [0, 3, 0x20, 0x40, 0x100, loaded_len / 2, loaded_len - 1] {
            assert_eq!(parse(&bytes[..len]), None, "{len}");
        }
        assert_eq!(parse(b"#!/bin/sh\n"), None);
    }
}
