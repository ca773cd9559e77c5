//! A layer between the disk and the file system, which changes a few bytes of every crash disk before it is recovered.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;

use explode_runtime::recover::{Below, Blame, Component, Fault, Recovery, StackSpec};
use explode_runtime::run::{ComponentDef, Mode, OptionDef, Options};

use super::go;
use crate::cases::Cx;
use crate::directed::Seen;

/// Changes what a file system has on its disk; says how often.
type Damage = fn(&File) -> io::Result<usize>;

struct Spoil(Option<Damage>);

const DEF: ComponentDef = ComponentDef {
    name: "spoil",
    about: "changes a few bytes of every crash disk",
    modes: &[Mode::Vm],
    on: Some("ramdisk"),
    options: &[OptionDef { name: "of", about: "whose: btrfs, f2fs, nobody", default: "nobody" }],
    build: |options| {
        let damages: [(&str, Option<Damage>); 3] =
            [("nobody", None), ("btrfs", Some(bytes_used)), ("f2fs", Some(links_of_the_root))];
        Ok(Box::new(Spoil(options.one_of("of", &damages)?)))
    },
};

impl Component for Spoil {
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, Fault> {
        let Some(damage) = self.0 else { return Ok(Recovery::Clean) };
        let disk = OpenOptions::new().read(true).write(true).open(below.block(0)?);
        let changed = disk.and_then(|disk| {
            let changed = damage(&disk)?;
            disk.sync_all()?;
            Ok(changed)
        });
        match changed {
            Ok(1..) => Ok(Recovery::Clean),
            other => Err(Fault::new(format!("nothing was damaged: {other:?}")).blame(Blame::Tool)),
        }
    }
}

/// One file on this file system, on such a layer.
pub fn seen(cx: Cx<'_>, system: &str, strict: bool, spoil: bool) -> Seen {
    let mut registry = explode::registry();
    registry.components.push(DEF);
    let mut plan = cx.plan(&format!("fs-sync-{system}"));
    let [disk, fs] = &plan.stack.0[..] else { panic!("two layers") };
    plan.stack = StackSpec::default()
        .plug(&disk.component, disk.options.clone())
        .plug(DEF.name, Options::none().with("of", if spoil { system } else { "nobody" }))
        .plug(&fs.component, fs.options.clone().with("strict", strict));
    go(Cx { registry: &registry, ..cx }, &plan, &[])
}

/// btrfs: how many bytes are in use, by the superblock (`struct btrfs_super_block` in include/uapi/linux/btrfs_tree.h), whose sum is right
/// again. The kernel adds to it and takes away, and never counts.
fn bytes_used(disk: &File) -> io::Result<usize> {
    const AT: u64 = 64 << 10;
    const SUM: usize = 32;
    const USED: std::ops::Range<usize> = 120..128;
    let mut superblock = [0; 4096];
    disk.read_exact_at(&mut superblock, AT)?;
    let sum = crc32c(&superblock[SUM..]).to_le_bytes();
    if superblock[..sum.len()] != sum {
        return Ok(0);
    }
    let used = u64::from_le_bytes(superblock[USED].try_into().expect("eight bytes"));
    superblock[USED].copy_from_slice(&(used + 4096).to_le_bytes());
    let sum = crc32c(&superblock[SUM..]).to_le_bytes();
    superblock[..sum.len()].copy_from_slice(&sum);
    disk.write_all_at(&superblock, AT)?;
    Ok(1)
}

/// F2FS: how many links the root directory has (`struct f2fs_node` in include/linux/f2fs_fs.h), in all versions of its inode. Without
/// the feature `inode_checksum` an inode has no sum.
fn links_of_the_root(disk: &File) -> io::Result<usize> {
    const LINKS: u64 = 12;
    const FOOTER: usize = 4096 - 24;
    /// The root's number; its inode is the node of the same number.
    const ROOT: [u8; 8] = [3, 0, 0, 0, 3, 0, 0, 0];
    let mut changed = 0;
    let mut block = [0; 4096];
    for at in (0..).step_by(block.len()) {
        if disk.read_at(&mut block, at)? == 0 {
            break;
        }
        if block[FOOTER..].starts_with(&ROOT) {
            disk.write_all_at(&7_u32.to_le_bytes(), at + LINKS)?;
            changed += 1;
        }
    }
    Ok(changed)
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let bit = |sum: u32, _| (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), bit))
}
