//! Programs of packages and of an archive, in place of those of this machine.

use serde_json::Value;
use tempfile::tempdir;

use crate::common::{self, explode, explode_in, file, of_type, rootfs};
use crate::supported;

/// The program ed writes a file in place, and never syncs it.
const WORK: &str = "printf 'a\\n{n}\\n.\\nw v\\nq\\n' | ed -s >/dev/null";
const CHECK: &str = "test ! -e v -o -s v || { echo v is empty; exit 1; }";

fn read(path: &std::path::Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn programs_of_packages_are_checked() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let seen = folder.path().join("seen");
    std::fs::create_dir(&seen).unwrap();
    let seen = seen.to_str().unwrap();
    file(folder.path(), "beside.sh", "cat /etc/debian_version");
    let work = format!(
        "{WORK}; sh {}/beside.sh >{seen}/debian; ls / >{seen}/root; ls /tmp /home \
                        >{seen}/private; touch /etc/changed /home/changed; \
                        command -v ed sqlite3 >{seen}/programs; true",
        folder.path().display()
    );
    let more = ["--check", CHECK, "--allow-write", seen, "--format", "jsonl"];
    let args = ["app", "--packages", "ed,libsqlite3-0", "--work", &work];
    let lines = explode_in(folder.path(), args.iter().chain(&more)).expect(1).json();
    let finding = of_type(&lines, "finding")[0];
    assert_eq!((&finding["message"], &finding["replayed"]), (&"v is empty".into(), &true.into()));

    // They see Debian's base with the packages, nothing of this machine but the folder of the run,
    // and can change nothing.
    let text = |name: &str| std::fs::read_to_string(format!("{seen}/{name}")).unwrap();
    assert!(text("debian").starts_with("12."), "{}", text("debian"));
    assert!(text("root").lines().any(|name| name == "usr"));
    assert!(!text("private").contains("changed"), "{}", text("private"));
    assert_eq!(text("programs"), "/usr/bin/ed\n");

    // The trace has the versions of all packages, and its replays need nothing of this machine.
    let trace = folder.path().join(finding["trace"].as_str().unwrap());
    let (trace, path) = (read(&trace), trace.to_str().unwrap().to_owned());
    let versions = &trace["versions"];
    for package in ["ed", "libsqlite3-0", "libc6", "dash", "coreutils"] {
        assert!(versions[package].is_string(), "{package}: {versions}");
    }
    let packages = &trace["options"]["guest"]["packages"];
    assert_eq!(packages, &serde_json::json!(["ed", "libsqlite3-0"]));
    for more in [&["replay", &path][..], &["replay", "--recorded", &path]] {
        explode_in(folder.path(), more).expect(1);
    }
    let script = explode_in(folder.path(), ["show", "--as", "sh", &path]).expect(0).out;
    assert!(script.contains("# check-failed: v is empty"), "{script}");
}

#[test]
fn a_resident_check_is_a_program_of_the_packages() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let check = "test $(command -v ed) = /usr/bin/ed || exit 9; while read -r path more; do \
                 test ! -e $path/v -o -s $path/v && echo ok || echo fail v is empty; done";
    let args = ["app", "--packages", "ed", "--resident", "--work", WORK, "--check", check];
    let ran = explode_in(folder.path(), args.iter().chain(&["--format", "jsonl"])).expect(1);
    assert_eq!(of_type(&ran.json(), "finding")[0]["message"], "v is empty");
}

#[test]
fn programs_of_an_archive_are_checked() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    rootfs::make(folder.path(), "/bin/sh /bin/cat /usr/bin/test /bin/mv");
    let app = |archive: &str| {
        let work = "cat /etc/origin >new; mv new v";
        let more = ["--check", "test ! -e v -o \"$(cat v)\" = archive || ! echo v is not whole"];
        let args = ["app", "--rootfs", archive, "--work", work];
        explode_in(folder.path(), args.iter().chain(&more).chain(&["--format", "jsonl"]))
    };
    let ran = app("rootfs.tar.gz").expect(1);
    let lines = ran.json();
    let finding = of_type(&lines, "finding")[0];
    assert_eq!(
        (&finding["message"], &finding["replayed"]),
        (&"v is not whole".into(), &true.into())
    );
    let trace = finding["trace"].as_str().unwrap();
    explode_in(folder.path(), ["replay", "--recorded", trace]).expect(1);
    for (archive, why) in [("empty.tar", "has no /bin/sh"), ("broken.tar", "cannot be unpacked")] {
        let ran = app(archive).expect(2);
        assert!(ran.err.contains(why) && ran.err.contains("docker export"), "{ran:?}");
    }
    app("none.tar").refused(&["--rootfs none.tar: No such file", "name an archive"]);
    // A replay needs the same archive.
    common::shell(folder.path(), "echo more >> rootfs.tar.gz").expect(0);
    explode_in(folder.path(), ["replay", trace]).refused(&["has the hash", "this run needs"]);
}

#[test]
fn packages_that_are_not_there_are_named() {
    if !supported() {
        return;
    }
    let app =
        |more: &[&str]| explode(["app", "--work", "true", "--check", "true"].iter().chain(more));
    let unknown = app(&["--packages", "no-such-ed"]).expect(3);
    assert!(unknown.err.contains("apt finds no way to install no-such-ed:"), "{unknown:?}");
    assert!(unknown.err.contains("Unable to locate package no-such-ed"), "{unknown:?}");
    app(&["--packages", "-y"]).refused(&["'-y' is no name of a package"]);
    app(&["--packages", "ed", "--rootfs", "a.tar"]).refused(&["cannot be used with"]);
}
