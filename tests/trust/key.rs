//! The key: the users who can read it, and a run without one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Stdio;

use crate::Desk;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_run_makes_a_key_that_only_its_user_can_read() {
    let (desk, _) = Desk::with_finding();
    let folder = desk.path().join("me/explode");
    assert_eq!((mode(&folder), mode(&folder.join("key"))), (0o700, 0o600));
    let key = fs::read(folder.join("key")).unwrap();
    assert_eq!(key.len(), 32);
    let (other, _) = Desk::with_finding();
    assert_ne!(fs::read(other.path().join("me/explode/key")).unwrap(), key);
}

#[test]
fn runs_at_once_have_one_key() {
    let desk = Desk::new();
    desk.stack("sh = \"touch CANARY\"", "echo it is gone; exit 1");
    let run = |n| {
        let mut run = desk.command("me", &format!("run test.toml --out run-{n}"));
        run.stdout(Stdio::null()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..6).map(run).collect();
    runs.into_iter().for_each(|mut run| assert_eq!(run.wait().unwrap().code(), Some(1)));
    desk.clean();
    for n in 0..6 {
        let traces = crate::common::files(&desk.path().join(format!("run-{n}/traces")));
        desk.does("me", &format!("replay run-{n}/traces/{}", traces[0]), 1);
    }
    assert_eq!(crate::common::files(&desk.path().join("me/explode")), ["key"]);
}

/// A finding is more important than its tag.
#[test]
fn without_a_key_a_run_continues_with_a_warning() {
    let desk = Desk::new();
    desk.stack("sh = \"touch CANARY\"", "echo it is gone; exit 1");
    let key = desk.path().join("me/explode/key");
    /// Makes the key unusable.
    type Spoil = fn(&Path);
    let unfit: [(&str, Spoil); 4] = [
        ("lets others in", |key| fs::set_permissions(key, Permissions::from_mode(0o644)).unwrap()),
        ("lets others in", |key| {
            fs::set_permissions(key.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
        }),
        ("symbolic link", |key| {
            fs::rename(key, key.with_file_name("real")).unwrap();
            symlink("real", key).unwrap();
        }),
        ("31 bytes", |key| fs::write(key, [0; 31]).unwrap()),
    ];
    for (n, (words, make_unfit)) in unfit.into_iter().enumerate() {
        desk.explode("me", &format!("run test.toml --out good-{n}")).expect(1);
        make_unfit(&key);
        let said =
            desk.explode("me", &format!("run test.toml --format jsonl --out run-{n}")).expect(1);
        assert!(said.err.starts_with("warning: ") && said.err.contains(words), "{said:?}");
        let lines = said.json();
        let finding = crate::common::of_type(&lines, "finding")[0];
        assert_eq!(finding["replayed"], true, "{finding}");
        desk.clean();
        let trace = finding["trace"].as_str().unwrap();
        assert_eq!(desk.json(trace).get("tag"), None);
        desk.refuses("me", &format!("replay {trace}"));
        desk.does("me", &format!("replay {trace} --trust"), 1);
        let tagged = trace.replace("run-", "good-");
        let said = desk.refuses("me", &format!("replay {tagged}"));
        assert!(said.contains("its tag cannot be checked") && said.contains(words), "{said}");
        fs::remove_dir_all(desk.path().join("me")).unwrap();
    }
}

#[test]
fn a_state_folder_that_cannot_be_made_costs_no_finding() {
    let desk = Desk::new();
    desk.stack("sh = \"touch CANARY\"", "echo it is gone; exit 1");
    fs::write(desk.path().join("me"), "no folder").unwrap();
    let said = desk.explode("me", "run test.toml --out run").expect(1);
    assert!(said.err.contains("warning: ") && said.err.contains("XDG_STATE_HOME"), "{said:?}");
    assert!(said.out.contains("FAIL check-failed: it is gone"), "{said:?}");
    desk.clean();
    let trace = format!("run/traces/{}", crate::common::files(&desk.path().join("run/traces"))[0]);
    desk.refuses("me", &format!("replay {trace}"));
    let said = desk.explode("me", &format!("minimise {trace} --trust --out min.json")).expect(0);
    assert!(said.err.contains("warning: "), "{said:?}");
}
