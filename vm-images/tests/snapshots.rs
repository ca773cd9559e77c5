//! Guests that go on from a snapshot: they answer as the guest that booted, and each of them is a
//! machine of its own.

#[path = "../../tests/common/unsupported.rs"]
mod unsupported;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use explode_vm::{
    Agent, BuildOptions, Builder, Cache, Guest, GuestFile, GuestSpec, KernelSource, Silent,
    VmErrorKind, qemu,
};
use unsupported::unsupported;

/// The agent: greets, then returns what it reads.
const AGENT: &str = "echo up\n\
                     exec 3<>/dev/virtio-ports/explode\n\
                     read -r uptime rest </proc/uptime\n\
                     echo \"hello $uptime\" >&3\n\
                     while read -r line <&3; do echo \"$line, $(cat /given)\" >&3; done\n";

/// Returns a guest with this file, whose snapshots are in a folder. `None` if QEMU is missing.
fn spec(folder: &Path, given: &str) -> Option<GuestSpec> {
    if let Err(error) = qemu() {
        assert!(error.kind() == VmErrorKind::Missing && std::env::var_os("CI").is_none());
        unsupported(&error.to_string());
        return None;
    }
    let (cache, options) = (Cache::of_user().unwrap(), BuildOptions::default());
    let builder = Builder { cache: &cache, options: &options, progress: &Silent };
    let kernel = builder.kernel(&KernelSource::Debian).unwrap();
    let mut spec = GuestSpec::new(&kernel, &builder.image().unwrap().file);
    spec.snapshots = Some(folder.to_owned());
    let file = |path: &str, text: &str| GuestFile {
        path: path.to_owned(),
        mode: 0o644,
        contents: text.as_bytes().to_vec(),
    };
    spec.files = vec![file("/agent/run", AGENT), file("/given", given)];
    spec.shared_bytes = 4096;
    Some(spec)
}

/// Boots a guest or restores it. Returns its greeting and its answer to a word, and checks whether
/// it has booted.
fn talk(spec: &GuestSpec, word: &str, boots: bool) -> (String, String) {
    let mut guest = Guest::boot(spec).unwrap();
    // A guest that goes on has printed nothing.
    assert_eq!(guest.console().contains("up"), boots, "{word}: {}", guest.console());
    let (mut reader, mut writer) = guest.take_stream().unwrap();
    writer.write_all(format!("{word}\n").as_bytes()).unwrap();
    let mut line = || {
        let mut line = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            reader.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        String::from_utf8(line).unwrap().trim().to_owned()
    };
    (line(), line())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_guest_goes_on_as_the_first_one_was() {
    let folder = tempfile::tempdir().unwrap();
    let Some(spec) = spec(folder.path(), "given") else { return };
    let (greeting, answer) = talk(&spec, "one", true);
    assert_eq!(answer, "one, given");
    assert!(greeting.starts_with("hello "), "{greeting}");
    let [snapshot] = &files(folder.path())[..] else { panic!("{:?}", files(folder.path())) };
    // The time of the greeting is that of the first guest.
    assert_eq!(talk(&spec, "two", false), (greeting.clone(), "two, given".to_owned()));
    // Two at a time.
    thread::scope(|scope| {
        for word in ["three", "four"] {
            let (spec, greeting) = (&spec, &greeting);
            scope.spawn(move || {
                assert_eq!(talk(spec, word, false), (greeting.clone(), format!("{word}, given")));
            });
        }
    });

    // A damaged snapshot is not used again.
    let bytes = fs::read(snapshot).unwrap();
    let half = [&bytes[..bytes.len() / 2], &bytes[bytes.len() - 64..]].concat();
    fs::write(snapshot, half).unwrap();
    assert_eq!(talk(&spec, "five", true).1, "five, given");
    assert!(files(folder.path()).is_empty());
}

#[test]
fn guests_with_other_parts_boot_and_those_that_wait_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let Some(one) = spec(folder.path(), "given") else { return };
    let booted = thread::scope(|scope| {
        let guests: Vec<_> =
            (0..3).map(|_| scope.spawn(|| Guest::boot(&one).unwrap().console())).collect();
        guests.into_iter().map(|guest| guest.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(booted.iter().filter(|console| console.contains("up")).count(), 1, "{booted:?}");
    let mut other = one.clone();
    other.files[1].contents = b"else".to_vec();
    assert_eq!(talk(&other, "word", true).1, "word, else");
    let mut larger = one.clone();
    larger.memory_mib += 128;
    assert_eq!(talk(&larger, "word", true).1, "word, given");
    assert_eq!(files(folder.path()).len(), 3);
    assert_eq!(talk(&one, "word", false).1, "word, given");
}

#[test]
fn a_guest_without_a_place_for_snapshots_boots() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut spec) = spec(folder.path(), "given") else { return };
    spec.snapshots = Some("/dev/null/snapshots".into());
    assert_eq!(talk(&spec, "word", true).1, "word, given");
    spec.snapshots = None;
    assert_eq!(talk(&spec, "word", true).1, "word, given");
    let agent = Agent { program: "/missing".into(), arguments: Vec::new() };
    spec.agent = Some(agent);
    spec.snapshots = Some(folder.path().to_owned());
    let error = Guest::boot(&spec).unwrap_err().to_string();
    assert!(error.contains("/missing"), "{error}");
    // A guest that does not answer leaves nothing in the folder.
    spec.agent = None;
    spec.files = vec![GuestFile {
        path: "/agent/run".to_owned(),
        mode: 0o644,
        contents: b"exec busybox reboot -f\n".to_vec(),
    }];
    assert_eq!(Guest::boot(&spec).unwrap_err().kind(), VmErrorKind::Broken);
    assert!(files(folder.path()).is_empty());
}
