//! Files in explode's folders must be plain files of this user. Others are refused by name.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use tempfile::tempdir;

use super::{contents, stack_file};
use crate::common::log::{dirty, lines};
use crate::common::nodes::{self, OTHER};
use crate::common::{Ran, explode_in, file, files};

/// The folder of a run with one finding.
fn run(folder: &Path) {
    stack_file(folder, "true", "exit 1");
    explode_in(folder, ["run", "stack.toml", "--out", "run"]).expect(1);
}

fn explode(folder: &Path, args: &str) -> Ran {
    explode_in(folder, args.split_whitespace())
}

/// Replaces a file by a link to it and then by a FIFO. Both are refused, and no process waits for
/// the FIFO.
fn refused_as_link_and_fifo(folder: &Path, name: &str, command: &str, must: &str) {
    let (path, away) = (folder.join(name), folder.join("away"));
    fs::rename(&path, &away).unwrap();
    symlink(&away, &path).unwrap();
    let before = files(&away);
    explode(folder, command)
        .refused(&[name, &format!("this is a symbolic link, and must be a {must}")]);
    assert_eq!((nodes::kind(&path).0, files(&away)), ("link", before), "{name}");
    fs::remove_file(&path).unwrap();
    nodes::fifo(&path);
    explode(folder, command).refused(&[name, &format!("this is a FIFO, and must be a {must}")]);
    assert_eq!(nodes::kind(&path).0, "fifo", "{name}");
    fs::remove_file(&path).unwrap();
    fs::rename(&away, &path).unwrap();
}

#[test]
fn a_run_folder_holds_plain_files() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    run(folder);
    let trace = format!("run/traces/{}", files(&folder.join("run/traces"))[0]);
    for (name, must) in [
        ("run/run.jsonl", "plain file"),
        ("run/journal", "plain file"),
        (&trace, "plain file"),
        ("run/traces", "folder"),
    ] {
        refused_as_link_and_fifo(folder, name, "run --resume run", must);
    }
    // The leftovers of a killed process are removed.
    file(folder, "run/traces/.explode-Ab3dEf.tmp", "half a trace");
    explode(folder, "run --resume run").expect(1);
    assert_eq!(files(&folder.join("run/traces")).len(), 1);
}

#[test]
fn a_run_folder_of_another_user_is_not_resumed() {
    if !nodes::is_root("a folder of another user") {
        return;
    }
    let folder = tempdir().unwrap();
    let folder = folder.path();
    run(folder);
    let before = contents(folder, "run/run.jsonl");
    let who = format!("this belongs to uid {OTHER}, and decides which commands are run as you");
    for name in ["run", "run/journal", "run/run.jsonl"] {
        let path = folder.join(name);
        chown(&path, Some(OTHER), None).unwrap();
        explode(folder, "run --resume run")
            .refused(&[&format!("--resume {name}: {who}"), "copy the folder (cp -r)"]);
        chown(&path, Some(0), None).unwrap();
    }
    assert_eq!(contents(folder, "run/run.jsonl"), before);
    // The remedy that the message names.
    chown(folder.join("run"), Some(OTHER), None).unwrap();
    let copied =
        std::process::Command::new("cp").args(["-r", "run", "copy"]).current_dir(folder).status();
    assert!(copied.unwrap().success());
    explode(folder, "run --resume copy").expect(1);
}

#[test]
fn the_folder_of_a_matrix_holds_plain_files_and_folders() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    explode(folder, "matrix toyfs --check fsync-dir --out m").expect(0);
    for (name, must) in [
        ("m/grid.json", "plain file"),
        ("m/matrix.html", "plain file"),
        ("m/toyfs", "folder"),
        ("m/toyfs/fsync-dir", "folder"),
        ("m/toyfs/fsync-dir/cell.json", "plain file"),
    ] {
        refused_as_link_and_fifo(folder, name, "matrix --resume m", must);
    }
    // The name leads out of the folder, where files would be removed.
    fs::create_dir_all(folder.join("precious/fsync-dir/file")).unwrap();
    let grid = contents(folder, "m/grid.json");
    file(
        folder,
        "m/grid.json",
        grid.replacen("\"name\": \"toyfs\"", "\"name\": \"../precious\"", 1),
    );
    explode(folder, "matrix --resume m")
        .refused(&["m/grid.json", "'../precious' cannot be the name of a folder"]);
    assert!(folder.join("precious/fsync-dir/file").exists());
    file(folder, "m/grid.json", grid);
    explode(folder, "matrix --resume m").expect(0);
    if nodes::is_root("a folder of another user") {
        chown(folder.join("m"), Some(OTHER), None).unwrap();
        explode(folder, "matrix --resume m")
            .refused(&[&format!("--resume m: this belongs to uid {OTHER}")]);
    }
}

#[test]
fn crash_disks_are_plain_files() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    file(folder, "log", lines(&[dirty(0, 0, 8, 'A')]));
    let write = "crash-disks log --size 4096 --write disks";
    explode(folder, write).expect(0);
    let image = format!("disks/{}", files(&folder.join("disks"))[0]);
    let refused = |words: &[&str]| {
        let ran = explode(folder, write).expect(2);
        assert!(words.iter().all(|word| ran.err.contains(word)), "{ran:#?}");
    };
    let path = folder.join(&image);
    fs::remove_file(&path).unwrap();
    file(folder, "precious", "contents");
    symlink("../precious", &path).unwrap();
    refused(&[&image, "this is a symbolic link, and must be a plain file"]);
    assert_eq!((nodes::kind(&path).0, contents(folder, "precious").as_str()), ("link", "contents"));
    fs::remove_file(&path).unwrap();
    if nodes::block_device(&path) {
        refused(&[&image, "this is a block device, and must be a plain file"]);
        assert_eq!(nodes::kind(&path).0, "block device");
        fs::remove_file(&path).unwrap();
    }
    // The base would be replaced while it is read.
    explode(folder, write).expect(0);
    explode(folder, &format!("{write} --base {image}")).expect(2);
    explode(folder, "crash-disks log --size 4096 --write precious")
        .refused(&["--write precious: this is not a folder"]);
}

/// A user's file with the name of an old temporary file stays.
#[test]
fn temporary_files_replace_nothing() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    run(folder);
    let names = ["report.tmp", "smaller.tmp"].map(|name| (name, file(folder, name, "contents")));
    explode(folder, "run stack.toml --out other --junit report").expect(1);
    let trace = format!("run/traces/{}", files(&folder.join("run/traces"))[0]);
    explode(folder, &format!("minimise {trace} --out smaller")).expect(0);
    for (name, _) in names {
        assert_eq!(contents(folder, name), "contents", "{name}");
    }
}

#[test]
fn a_script_is_a_plain_file_in_a_folder_that_is_there() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    run(folder);
    let trace = format!("run/traces/{}", files(&folder.join("run/traces"))[0]);
    explode(folder, &format!("show {trace} --as sh --write none"))
        .refused(&["--write none: No such file or directory"]);
}
