//! Tests of guests that never answer. The error contains the last output of QEMU or of the console,
//! and no process of the guest is left.

#[path = "../../tests/common/unsupported.rs"]
mod unsupported;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use explode_vm::{
    BuildOptions, Builder, Cache, Guest, GuestSpec, KernelSource, Silent, VmErrorKind, qemu,
};
use tempfile::TempDir;
use unsupported::unsupported;

/// Makes a tree that looks like a built kernel, with this file as the boot image.
fn tree(boot_image: &[u8]) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    let file = |name: &str, contents: &[u8]| {
        let path = tree.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    };
    let fragment = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel/explode.config");
    // The fragment's options select TRACEPOINTS.
    file(".config", &[&fs::read(fragment).unwrap()[..], b"\nCONFIG_TRACEPOINTS=y\n"].concat());
    file("arch/x86/boot/bzImage", boot_image);
    file("include/config/kernel.release", b"0.0.0\n");
    for empty in ["vmlinux.symvers", "rust/libkernel.rmeta", "scripts/module.lds", "image"] {
        file(empty, b"");
    }
    tree
}

/// Boots the kernel of a tree. Returns the error and the time until it.
fn failure(tree: &Path, deadline: Duration) -> (String, Duration) {
    let (cache, options) = (Cache::at(tree), BuildOptions::default());
    let builder = Builder { cache: &cache, options: &options, progress: &Silent };
    let kernel = builder.kernel(&KernelSource::Tree(tree.to_owned())).unwrap();
    let mut spec = GuestSpec::new(&kernel, &tree.join("image"));
    spec.boot_deadline = deadline;
    let started = Instant::now();
    let error = Guest::boot(&spec).unwrap_err();
    assert_eq!(error.kind(), VmErrorKind::Broken);
    assert!(!running(tree), "QEMU runs on");
    (error.to_string(), started.elapsed())
}

/// Returns true if a process that was started to boot this tree is running.
fn running(tree: &Path) -> bool {
    let tree = tree.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(tree))
}

fn has_qemu() -> bool {
    qemu().map_err(|error| unsupported(&error.to_string())).is_ok()
}

#[test]
fn qemu_refuses_a_file_that_is_no_kernel() {
    if has_qemu() {
        let tree = tree(&[0; 4096]);
        let (said, _) = failure(tree.path(), Duration::from_secs(60));
        assert!(
            said.starts_with("the guest ended before its agent answered (QEMU: exit status: 1)"),
            "{said}"
        );
        assert!(said.contains("the last it printed:\n    "), "{said}");
    }
}

/// Builds the smallest kernel: a multiboot header that loads it at 1 MiB, a loop that prints a line
/// on the serial port, and a halt.
fn silent_kernel(line: &str) -> Vec<u8> {
    const HEADER: u32 = 32;
    const AT: u32 = 0x10_0000;
    let (magic, flags) = (0x1bad_b002u32, 0x1_0000u32);
    let checksum = 0u32.wrapping_sub(magic).wrapping_sub(flags);
    let header = [magic, flags, checksum, AT, AT, 0, 0, AT + HEADER];
    let before = [0x66, 0xba, 0xf8, 0x03, 0xbe]; // mov dx, 0x3f8; mov esi, ...
    // A loop until lodsb loads 0: out dx, al. Then hlt.
    let after = [0xac, 0x84, 0xc0, 0x74, 0x03, 0xee, 0xeb, 0xf8, 0xf4, 0xeb, 0xfd];
    let text = AT + HEADER + (before.len() + 4 + after.len()) as u32;
    let header = header.iter().flat_map(|word| word.to_le_bytes());
    header
        .chain(before)
        .chain(text.to_le_bytes())
        .chain(after)
        .chain(line.bytes())
        .chain([0])
        .collect()
}

#[test]
fn a_silent_guest_is_ended_at_its_deadline() {
    if has_qemu() {
        let tree = tree(&silent_kernel("nothing to do here\r\n"));
        let (said, took) = failure(tree.path(), Duration::from_secs(8));
        assert!(said.starts_with("the guest's agent has not answered within 8 s"), "{said}");
        assert!(said.ends_with("the last it printed:\n    nothing to do here"), "{said}");
        assert!(took >= Duration::from_secs(8), "{took:?}");
    }
}
