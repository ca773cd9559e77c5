//! Output files that the user names, by the kinds of files at their paths. Each test tries every
//! option that names one.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use tempfile::{TempDir, tempdir};

use super::{contents, stack_file};
use crate::common::nodes::{self, FULL, NULL, OTHER};
use crate::common::{Ran, explode_in, file, files, program, ran, shell};

/// Commands with an option that names an output file: the words before the file name, and words of
/// that file.
const OPTIONS: [(&str, &str); 5] = [
    ("run stack.toml --out run --junit", "<testsuites"),
    ("run stack.toml --out run --events", "\"name\":\"unit 1\""),
    ("run stack.toml --out run --timeline", "\"worker_start\""),
    ("minimise --trust trace.json --out", "\"format\": 1"),
    ("matrix toyfs --check fsync-dir --out matrix --html", "<html"),
];

/// Returns a folder in which each of the commands can run once.
fn desk() -> TempDir {
    let folder = tempdir().unwrap();
    stack_file(folder.path(), "true", "exit 1");
    explode_in(folder.path(), ["run", "stack.toml", "--out", "bad"]).expect(1);
    let traces = folder.path().join("bad/traces");
    fs::rename(traces.join(&files(&traces)[0]), folder.path().join("trace.json")).unwrap();
    fs::remove_dir_all(folder.path().join("bad")).unwrap();
    stack_file(folder.path(), "true", "true");
    folder
}

fn write(folder: &Path, command: &str, output: &str) -> Ran {
    explode_in(folder, command.split_whitespace().chain([output]))
}

/// Checks that a command is refused before it does anything.
#[track_caller]
fn refused(folder: &Path, command: &str, output: &str, why: &str) {
    let before = files(folder);
    let option = command.rsplit(' ').next().unwrap();
    write(folder, command, output).refused(&[&format!("error: {option} {output}: {why}")]);
    assert_eq!(files(folder), before, "{command} {output}");
}

/// Checks that there is only a file in place of the old one, without a temporary file.
#[track_caller]
fn nothing_left(folder: &Path) {
    let left: Vec<String> =
        files(folder).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_plain_file_is_replaced_and_keeps_its_permissions() {
    for (command, words) in OPTIONS {
        let folder = desk();
        let folder = folder.path();
        write(folder, command, "absent").expect(0);
        assert!(contents(folder, "absent").contains(words), "{command}");
        let umask = fs::metadata(folder.join("stack.toml")).unwrap().mode();
        assert_eq!(
            fs::metadata(folder.join("absent")).unwrap().mode(),
            umask,
            "as of any new file"
        );

        let old = desk();
        let old = old.path();
        let path = file(old, "old", "old contents");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(&path, old.join("other name")).unwrap();
        write(old, command, "old").expect(0);
        assert!(contents(old, "old").contains(words), "{command}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640, "{command}");
        assert_eq!(contents(old, "other name"), "old contents", "a hard link keeps them");
        [folder, old].into_iter().for_each(nothing_left);
    }
}

#[test]
fn a_plain_file_keeps_its_owner() {
    if !nodes::is_root("a file of another user") {
        return;
    }
    for (command, words) in OPTIONS {
        let folder = desk();
        let path = file(folder.path(), "old", "");
        chown(&path, Some(OTHER), Some(OTHER)).unwrap();
        write(folder.path(), command, "old").expect(0);
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid()), (OTHER, OTHER), "{command}");
        assert!(contents(folder.path(), "old").contains(words), "{command}");
    }
}

/// The link stays. Its target is written, and created if it does not exist.
#[test]
fn a_symbolic_link_is_followed() {
    for (command, words) in OPTIONS {
        for exists in [true, false] {
            let folder = desk();
            let folder = folder.path();
            fs::create_dir(folder.join("elsewhere")).unwrap();
            if exists {
                file(folder, "elsewhere/file", "old contents");
            }
            // The target is relative to the folder of the link.
            symlink("file", folder.join("elsewhere/link")).unwrap();
            symlink("elsewhere/link", folder.join("output")).unwrap();
            write(folder, command, "output").expect(0);
            assert!(contents(folder, "elsewhere/file").contains(words), "{command}");
            for (link, target) in [("output", "elsewhere/link"), ("elsewhere/link", "file")] {
                assert_eq!(
                    fs::read_link(folder.join(link)).unwrap(),
                    Path::new(target),
                    "{command}"
                );
            }
            nothing_left(&folder.join("elsewhere"));
        }
    }
}

#[test]
fn a_fifo_and_a_socket_are_written_as_they_are() {
    for (command, words) in OPTIONS {
        let folder = desk();
        let folder = folder.path();
        let pipe = folder.join("pipe");
        nodes::fifo(&pipe);
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write(folder, command, "pipe").expect(0);
        assert_eq!(nodes::kind(&pipe).0, "fifo", "{command}");
        assert!(reader.join().unwrap().contains(words), "{command}");

        let folder = desk();
        let folder = folder.path();
        let socket = folder.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let reader = thread::spawn(move || {
            let mut text = String::new();
            listener.accept().unwrap().0.read_to_string(&mut text).map(|_| text).unwrap()
        });
        write(folder, command, "socket").expect(0);
        assert_eq!(nodes::kind(&socket).0, "socket", "{command}");
        assert!(reader.join().unwrap().contains(words), "{command}");
        // The listener is dropped, so the socket has no reader.
        let folder = desk();
        drop(UnixListener::bind(folder.path().join("socket")).unwrap());
        refused(
            folder.path(),
            command,
            "socket",
            "no connection to this socket: Connection refused",
        );
    }
}

#[test]
fn a_character_device_is_written_as_it_is() {
    for (command, _) in OPTIONS {
        let folder = desk();
        let folder = folder.path();
        let null = folder.join("null");
        if !nodes::character_device(&null, NULL) {
            return;
        }
        let before = nodes::kind(&null);
        write(folder, command, "null").expect(0);
        assert_eq!(nodes::kind(&null), before, "{command}");

        let folder = desk();
        let folder = folder.path();
        let full = folder.join("full");
        nodes::character_device(&full, FULL);
        let before = nodes::kind(&full);
        symlink("full", folder.join("link")).unwrap();
        let ran = write(folder, command, "link").expect(4);
        let said = "error: cannot write link: No space left on device (os error 28); ";
        assert!(ran.err.starts_with(said), "{ran:#?}");
        assert_eq!(nodes::kind(&full), before, "{command}");
    }
}

#[test]
fn impossible_output_files_are_refused_before_the_run() {
    for (command, _) in OPTIONS {
        let folder = desk();
        let folder = folder.path();
        refused(folder, command, ".", "this is a folder; name a file");
        refused(folder, command, "absent/", "this is the path of a folder; name a file");
        refused(folder, command, "no/such", "there is no folder no; make it, or name another file");
        refused(
            folder,
            command,
            "stack.toml/file",
            "stack.toml is not a folder; name another file",
        );
        write(folder, command, "").expect(2);
        symlink("loop", folder.join("loop")).unwrap();
        refused(folder, command, "loop", "too many symbolic links; name another file");
        let disk = folder.join("disk");
        if nodes::block_device(&disk) {
            refused(
                folder,
                command,
                "disk",
                "this is a block device, which is never written; name a file",
            );
            symlink("disk", folder.join("to-disk")).unwrap();
            refused(folder, command, "to-disk", "this is a block device");
        }
    }
}

/// A file whose owner would change is not replaced. A file that cannot be written is detected
/// before the run.
#[test]
fn output_files_of_another_user_are_refused() {
    if !nodes::is_root("a process of another user") {
        return;
    }
    // Another user may not be able to reach the folder of the build.
    let reachable = tempdir().unwrap();
    fs::set_permissions(reachable.path(), Permissions::from_mode(0o755)).unwrap();
    let copy = reachable.path().join("explode");
    fs::copy(program(), &copy).unwrap();
    for (command, words) in OPTIONS {
        let folder = desk();
        let folder = folder.path();
        let as_other = |output: &str| {
            let mut explode = Command::new(&copy);
            explode
                .args(command.split_whitespace())
                .arg(output)
                .current_dir(folder)
                .uid(OTHER)
                .gid(OTHER);
            ran(&mut explode)
        };
        as_other("absent").refused(&["absent: no file can be made in the folder"]);
        chown(folder, Some(OTHER), Some(OTHER)).unwrap();
        for (name, owner, mode) in
            [("of-root", 0, 0o666), ("read-only", OTHER, 0o444), ("private", OTHER, 0o600)]
        {
            let path = file(folder, name, "old contents");
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            chown(path, Some(owner), Some(owner)).unwrap();
        }
        as_other("of-root")
            .refused(&["of-root: this file has another owner or group, which it would lose"]);
        as_other("read-only")
            .refused(&["read-only: this file cannot be written; change its permissions"]);
        as_other("private").expect(0);
        assert!(contents(folder, "private").contains(words), "{command}");
        assert_eq!(
            fs::metadata(folder.join("private")).unwrap().mode() & 0o7777,
            0o600,
            "{command}"
        );
        assert_eq!(contents(folder, "of-root"), "old contents");
    }
}

/// A link in a shared folder may lead where another user wants. It is not followed.
#[test]
fn links_of_another_user_in_a_shared_folder_are_refused() {
    if !nodes::is_root("a file of another user") {
        return;
    }
    let shared = tempdir().unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o1777)).unwrap();
    let folder = desk();
    let folder = folder.path();
    file(folder, "mine", "contents");
    let planted = shared.path().join("report");
    symlink(folder.join("mine"), &planted).unwrap();
    lchown(&planted, Some(OTHER), Some(OTHER)).unwrap();
    for (command, _) in OPTIONS {
        let planted = planted.to_str().unwrap();
        let why = format!(
            "{planted} is a symbolic link that uid {OTHER} has put into a folder that all users \
             share"
        );
        let ran = write(folder, command, planted).expect(2);
        // If Linux itself refuses to follow the link, the words are the same.
        assert!(ran.err.contains(&why), "{ran:#?}");
        assert_eq!(contents(folder, "mine"), "contents");
    }
}

/// `/dev/stdout` leads to the process's stream, even if that is a file: the file keeps other
/// output. The links are the test's own, so that a mistake cannot change those of the machine.
#[test]
fn standard_output_can_be_named() {
    let folder = desk();
    let folder = folder.path();
    file(folder, "log", "before\n");
    for (name, number) in [("stdout", 1), ("stderr", 2), ("three", 3)] {
        symlink(format!("/proc/self/fd/{number}"), folder.join(name)).unwrap();
    }
    let run = "explode run stack.toml --out";
    shell(folder, &format!("{run} one --events stdout --junit stdout >> log")).expect(0);
    let log = contents(folder, "log");
    let at = |words: &str| log.find(words).unwrap_or_else(|| panic!("'{words}' is not in {log}"));
    let order = ["before", "Bounds", "\"name\":\"unit 1\"", "Summary", "<testsuites"].map(at);
    assert!(order.is_sorted(), "{log}");
    shell(folder, &format!("{run} two --junit three 3> report")).expect(0);
    assert!(contents(folder, "report").starts_with("<?xml"));
    let ran = shell(folder, &format!("{run} to-stderr --junit stderr | cat")).expect(0);
    assert!(ran.err.starts_with("<?xml"), "{ran:#?}");
    for name in ["stdout", "stderr", "three"] {
        assert_eq!(nodes::kind(&folder.join(name)).0, "link");
    }
    // A hyphen is an ordinary name.
    shell(folder, &format!("{run} four --junit -")).expect(0);
    assert!(contents(folder, "-").starts_with("<?xml"));
}

#[test]
fn an_output_is_no_other_file_of_the_command() {
    let folder = desk();
    let folder = folder.path();
    symlink("report", folder.join("link")).unwrap();
    refused(
        folder,
        "run stack.toml --out run --events report --junit",
        "link",
        "--events names the same file",
    );
    refused(
        folder,
        "run stack.toml --out run --junit",
        "./stack.toml",
        "this is stack.toml, which is read",
    );
    // The trace is of this checker.
    stack_file(folder, "true", "exit 1");
    let strategy = "run stack.toml --strategy prefix:trace.json --out run --events";
    refused(folder, strategy, "trace.json", "this is trace.json, which is read");
    stack_file(folder, "true", "true");
    refused(
        folder,
        "matrix stack.toml --out m --html",
        "stack.toml",
        "this is stack.toml, which is read",
    );
    refused(folder, "minimise trace.json --out", "trace.json", "this is the trace itself");
    for own in ["run.jsonl", "journal", "traces"] {
        refused(
            folder,
            "run stack.toml --out run --junit",
            &format!("run/{own}"),
            "explode itself writes",
        );
    }
    refused(folder, "matrix toyfs --out run --html", "run/grid.json", "explode itself writes");
    // Two options may name one stream, and a file may be in the folder that the run creates.
    let run = "run stack.toml --out a/run --events a/run/events --junit";
    write(folder, run, "a/report").expect(0);
    assert!(
        contents(folder, "a/report").starts_with("<?xml")
            && !contents(folder, "a/run/events").is_empty()
    );
    if nodes::character_device(&folder.join("null"), NULL) {
        write(folder, "run stack.toml --out b --events null --junit", "null").expect(0);
    }
}
