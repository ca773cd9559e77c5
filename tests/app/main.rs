//! `explode app`: unmodified programs on simulated files.

#[path = "../common/mod.rs"]
mod common;

mod packages;
mod recorded;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ran, explode, explode_in, file, of_type, program};
use tempfile::tempdir;

/// A saved value is there, and whole.
const CHECK: &str = "for k in 1 2; do
        test ! -e k$k || test \"$(cat k$k)\" = $k || { echo \"k$k holds something else\"; exit 1; }
    done
    n=0; while read -r done; do
        n=$((n + 1)); test -e k$n || { echo \"k$n was saved, and is gone\"; exit 1; }
    done <$EXPLODE_DONE";

/// Saves a value as a program must that trusts POSIX only.
const SOUND: &str = "echo {n} >new; sync new; mv new k{n}; sync .";

/// Returns true if this machine can mount simulated files, and prints what is missing if not.
fn supported() -> bool {
    let is_root = common::nodes::is_root("mounting simulated files");
    let has_fuse = Path::new("/dev/fuse").exists();
    if !has_fuse {
        common::unsupported::unsupported("/dev/fuse");
    }
    is_root && has_fuse
}

/// Checks `work`, done twice.
fn saved(folder: &Path, work: &str, more: &[&str]) -> Ran {
    let own = ["app", "--times", "2", "--work", work, "--check", CHECK];
    explode_in(folder, own.iter().chain(more).chain(&["--format", "jsonl"]))
}

/// Returns the signatures of the findings, and three exact counts: crash disks, distinct ones and
/// operations.
fn result(ran: &Ran) -> (Vec<String>, [String; 3]) {
    let lines = ran.json();
    let findings = of_type(&lines, "finding");
    assert!(findings.iter().all(|found| found["replayed"] == true), "{lines:#?}");
    let signature = |found: &&serde_json::Value| found["signature"].as_str().unwrap().to_owned();
    let summary = of_type(&lines, "summary")[0];
    assert_eq!(summary["complete"], true);
    let counts = ["crash_disks", "distinct", "operations"].map(|key| summary[key].to_string());
    (findings.iter().map(signature).collect(), counts)
}

#[test]
fn a_missing_sync_is_found_and_its_twin_is_silent() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let found = |work: &str, more: &[&str]| result(&saved(folder.path(), work, more));
    let silent = (Vec::new(), ["30", "24", "2"].map(str::to_owned));
    assert_eq!(found(SOUND, &[]), silent);
    assert_eq!(found(SOUND, &["--no-skip"]), silent);
    assert_eq!(found(SOUND, &["--jobs", "2"]), silent);
    let unsynced = "echo {n} >new; mv new k{n}; sync .";
    let torn = "app/check-failed/#-holds-something-else".to_owned();
    for more in [&[][..], &["--no-skip"]] {
        assert_eq!(
            found(unsynced, more),
            (vec![torn.clone()], ["28", "21", "1"].map(str::to_owned))
        );
    }
    let unnamed = "echo {n} >new; sync new; mv new k{n}";
    assert_eq!(found(unnamed, &[]).0, ["app/check-failed/#-was-saved,-and-is-gone"]);
    // sync(2) and syncfs(2) make everything durable.
    assert_eq!(found("echo {n} >new; sync; mv new k{n}; sync", &[]).0, [""; 0]);
    assert_eq!(found("echo {n} >new; sync -f new; mv new k{n}; sync -f .", &[]).0, [""; 0]);
}

#[test]
fn a_program_says_what_it_has_promised() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let check = "grep -v work $EXPLODE_DONE >/tmp/done
        while read k; do grep -qx $k log || { echo \"line $k\" is gone; exit 1; }; done </tmp/done";
    let lines = |work: &str| {
        let work = format!("for k in a b; do {work}; done");
        let args = ["app", "--work", &work, "--check", check, "--format", "jsonl"];
        result(&explode_in(folder.path(), args))
    };
    let sound = lines("echo $k >>log; sync log .; explode-mark done $k");
    assert_eq!(sound, (Vec::new(), ["17", "15", "1"].map(str::to_owned)));
    let early = lines("echo $k >>log; explode-mark done $k; sync log .");
    assert_eq!(early.0, ["app/check-failed/line-a-is-gone"]);
    // Another user says the same.
    let other = "setpriv --reuid 65534 --regid 65534 --clear-groups explode-mark done $k";
    let sound = lines(&format!("echo $k >>log; sync log .; {other}"));
    assert_eq!(sound, (Vec::new(), ["17", "15", "1"].map(str::to_owned)));
    let early = lines(&format!("echo $k >>log; {other}; sync log ."));
    assert_eq!(early.0, ["app/check-failed/line-a-is-gone"]);
    // A request for checks knows only the promises before it.
    let asks = lines("echo $k >>log; explode-mark crash early; sync log .; explode-mark done $k");
    assert_eq!(asks.0, [""; 0]);
    // The second write loses what the first has promised.
    let forgets = lines("echo $k >log; sync log .; explode-mark done $k");
    assert_eq!(forgets.0, ["app/check-failed/line-a-is-gone"]);
}

#[test]
fn a_resident_check_answers_for_many_states() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    // Fields are separated by tabs. `$done` has a word for each work.
    let check = "IFS=$(printf '\\t'); while read -r path epoch args done; do
            ok=ok; n=0; for work in $(echo \"$done\" | tr ' ' '\\n'); do
                n=$((n + 1)); test -e $path/k$n || ok=\"fail k$n was saved, and is gone\"
            done; echo \"$ok\"; done";
    let app = |work: &str, check: &str| {
        let more = ["--resident", "--format", "jsonl"];
        let own = ["app", "--times", "2", "--work", work, "--check", check];
        explode_in(folder.path(), own.iter().chain(&more))
    };
    assert_eq!(result(&app(SOUND, check)), (Vec::new(), ["30", "24", "2"].map(str::to_owned)));
    let unnamed = "echo {n} >new; sync new; mv new k{n}";
    let lost = "app/check-failed/#-was-saved,-and-is-gone";
    assert_eq!(result(&app(unnamed, check)).0, [lost]);
    // The check ends at the first state: a finding. It answers something else: none.
    assert_eq!(result(&app(SOUND, "read -r line; exit 3")).0, ["app/check-failed/check"]);
    let other = app(SOUND, "echo hallo; read -r line").expect(4);
    assert!(other.out.contains("answered 'hallo'"), "{other:?}");
    file(
        folder.path(),
        "on-folder.toml",
        "[[component]]\nuse = \"folder\"\n[checker]\n\
        name = \"x\"\ncheck = \"cat\"\nresident = true\n\
        mutate = [ { name = \"a\", steps = [ { sh = \"true\" } ] } ]\n",
    );
    let refused = explode_in(folder.path(), ["run", "on-folder.toml"]).expect(3);
    assert!(refused.err.contains("needs 'files' below it"), "{refused:?}");
}

#[test]
fn variables_reach_every_command() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let (value, wanted) = ("it's $HOME -a", "it'\\''s $HOME -a");
    let is_set = format!("test \"$WORD $OTHER\" = '{wanted} 2'");
    let commands = ["--setup", "--recover", "--work"].map(|option| [option, &is_set]).concat();
    let own = ["app", "--env", &format!("WORD={value}"), "--env", "OTHER=2"];
    let app = |check: &[&str]| {
        let args = own.iter().chain(&commands).chain(check).chain(&["--format", "jsonl"]);
        explode_in(folder.path(), args)
    };
    app(&["--check", &is_set]).expect(0);
    let ask = format!("while read -r line; do {is_set} && echo ok || echo fail no; done");
    app(&["--resident", "--check", &ask]).expect(0);
    app(&["--check", "test \"$OTHER\" = 3"]).expect(1);
    for (wrong, why) in [
        ("WORD", "has no '='"),
        ("1A=2", "begins with no digit"),
        ("A-B=2", "letters, digits and '_'"),
        ("EXPLODE_DONE=x", "explode sets the variables EXPLODE_ itself"),
    ] {
        explode(["app", "--env", wrong, "--work", "true", "--check", "true"]).refused(&[why]);
    }
}

#[test]
fn a_repair_runs_before_the_check_and_crashes_too() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let with = |recover: &str| {
        let work = "echo {n} >new; mv new v; sync .";
        let args = ["app", "--recover", recover, "--work", work, "--check"];
        let check = "test ! -e v || test -s v";
        explode_in(folder.path(), args.iter().chain(&[check, "--format", "jsonl"]))
    };
    let repaired = with("test ! -e v -o -s v || { echo 0 >v; sync v; }").expect(0);
    let lines = repaired.json();
    let nested = &of_type(&lines, "summary")[0]["crash_crash_disks"];
    assert!(nested.as_u64().is_some_and(|disks| disks > 0), "{nested}");
    // Nothing is repaired, or the repair fails.
    assert_eq!(result(&with("true")).0.len(), 1);
    assert_eq!(result(&with("test ! -e v -o -s v")).0, ["app/recover-failed/recover-failed"]);
}

#[test]
fn in_order_nothing_is_lost_but_the_end() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    // The options of `app` come before those of `run`.
    let strict = |work: &str| {
        let own = ["app", "--times", "2", "--model", "strict", "--work", work, "--check", CHECK];
        result(&explode_in(folder.path(), own.iter().chain(&["--format", "jsonl"])))
    };
    assert_eq!(
        strict("echo {n} >new; mv new k{n}"),
        (Vec::new(), ["6", "6", "2"].map(str::to_owned))
    );
    // Wrong even in order: the old value is removed before the new one is there.
    let (findings, _) = strict("echo 0 >k1; echo {n} >new; mv new k{n}");
    assert_eq!(findings, ["app/check-failed/#-holds-something-else"]);
}

#[test]
fn a_finding_shows_the_calls_of_the_program() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let ran = saved(folder.path(), "echo {n} >new; mv new k{n}; sync .", &[]).expect(1);
    let lines = ran.json();
    let trace = of_type(&lines, "finding")[0]["trace"].as_str().unwrap();
    let show = explode_in(folder.path(), ["show", "--run", trace]).expect(0);
    for call in ["pwrite /new 0+2", "rename /new /k1", "open /new O_CREAT"] {
        assert!(show.out.contains(call), "'{call}' is not in {}", show.out);
    }
    explode_in(folder.path(), ["replay", trace]).expect(1);
}

#[test]
fn a_stack_file_does_the_same() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let args = ["app", "--setup", "mkdir d", "--work", SOUND, "--check", CHECK];
    let direct = explode_in(folder.path(), args.iter().chain(&["--format", "jsonl"])).expect(0);
    let text = explode_in(folder.path(), args.iter().chain(&["--print"])).expect(0).out;
    file(folder.path(), "mine.toml", text);
    let run = ["run", "mine.toml", "--depth", "1", "--format", "jsonl"];
    assert_eq!(result(&explode_in(folder.path(), run).expect(0)), result(&direct));
}

#[test]
fn what_is_no_crash_is_no_finding() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let app = |setup: &str, work: &str, check: &str| {
        explode_in(folder.path(), ["app", "--setup", setup, "--work", work, "--check", check])
    };
    let broken = |ran: Ran, words: &str| {
        let ran = ran.expect(4);
        let text = format!("{}{}", ran.out, ran.err);
        assert!(text.contains(words), "'{words}' is not in {text}");
    };
    broken(app("false", "true", "true"), "setup: `false` ended with 1");
    broken(app("true", "echo why; exit 3", "true"), "ended with 126: why");
    broken(app("true", "echo x >/usr/x", "true"), "Read-only file system");
    broken(app("true", "read x </dev/tty", "true"), "/dev/tty");
    broken(app("true", "echo >f", "gone"), "not found");
    // A program that ends by a signal on what a crash has left is a finding.
    let ran = app("true", "echo x >f", "sh -c 'test -s f || kill -SEGV $$'").expect(1);
    assert!(ran.out.contains("check-failed"), "{ran:?}");
}

#[test]
fn programs_on_the_path_are_seen_also_below_a_private_folder() {
    if !supported() {
        return;
    }
    // The usual place of temporary folders is private for programs.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let (bin, link) = (folder.path().join("tools/bin"), folder.path().join("link"));
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(folder.path().join("tools"), &link).unwrap();
    let tool = file(&bin, "save", "#!/bin/sh\necho 1 >v; sync v .\n");
    std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let elsewhere = tempdir().unwrap();
    let app = |path: &Path| {
        let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program());
        command.args(["app", "--work", "save", "--check", "test ! -s v -o -e v"]);
        common::ran(command.current_dir(elsewhere.path()).env("PATH", path)).expect(0)
    };
    app(&bin);
    // Through a link it is found where a link leads to, if the link is seen.
    let direct = ["app", "--work", "./tools/bin/save", "--check", "true"];
    explode_in(folder.path(), direct).expect(0);
    for private in ["/", "/tmp", "/var"] {
        let args = ["app", "--allow-write", private, "--work", "true", "--check", "true"];
        explode(args).refused(&["is private; name a folder below it"]);
    }
    assert!(bin.join("save").exists() && link.exists());
}

#[test]
fn a_folder_that_may_be_written_is_written() {
    if !supported() {
        return;
    }
    let (folder, mine) = (tempdir().unwrap(), tempdir().unwrap());
    let work = format!("echo x >{}/seen", mine.path().display());
    let allow = mine.path().to_str().unwrap();
    let with = ["app", "--allow-write", allow, "--work", &work, "--check", "true"];
    explode_in(folder.path(), with).expect(0);
    assert!(mine.path().join("seen").exists());
    std::fs::remove_file(mine.path().join("seen")).unwrap();
    explode_in(folder.path(), ["app", "--work", &work, "--check", "true"]).expect(4);
    assert!(!mine.path().join("seen").exists());
}

#[test]
fn bad_arguments_are_refused() {
    let refused = |args: &[&str], words: &[&str]| {
        explode(["app"].iter().chain(args)).refused(words);
    };
    let with = ["--work", "true", "--check", "true"];
    refused(&["--work", "./no.sh", "--check", "true"], &["./no.sh", "No such file"]);
    refused(&["--work", " ", "--check", "true"], &["a command is empty"]);
    refused(&[&["--allow-write", "/nowhere"][..], &with].concat(), &["/nowhere", "name a folder"]);
    refused(&[&with[..], &["--stack", "x.toml"]].concat(), &["omit it"]);
}

#[test]
fn a_rust_test_does_the_same() {
    if !supported() {
        return;
    }
    let test = |work: &str| explode::crash_test_command("saved", "mkdir d", work, CHECK).depth(2);
    let summary = test(SOUND).run();
    assert!(summary.complete && summary.operations == 2.into(), "{summary:?}");
    let text = test("echo {n} >new; mv new k{n}; sync .").outcome().unwrap_err();
    for words in ["k1 holds something else", "rename /new /k1", "EXPLODE_REPLAY="] {
        assert!(text.contains(words), "'{words}' is not in {text}");
    }
    let broken = test("exit 3").outcome().unwrap_err();
    assert!(broken.contains("ended with 126"), "{broken}");
}

#[test]
fn without_root_it_says_what_is_missing() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let program = folder.path().join("explode");
    // A copy by this process could be open in a child of another test, and then it cannot be run.
    assert!(
        Command::new("cp")
            .args([common::program().as_ref(), &*program])
            .status()
            .unwrap()
            .success()
    );
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let mut command = Command::new(program);
    command.args(["app", "--work", "true", "--check", "true"]);
    let ran = common::ran(command.current_dir(folder.path()).uid(65534)).expect(3);
    let text = "error: mounting simulated files needs root; run it as root, or as a user with \
                'unshare -Urpf --mount-proc explode ...'\n";
    assert_eq!(ran.err, text);
}

#[test]
fn nothing_is_left_after_a_kill() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    // A time that no other program sleeps.
    let nap = format!("{}.{}", 100_000 + std::process::id(), 7);
    let left = || {
        let numbers = std::fs::read_dir("/proc").unwrap().flatten();
        let lines =
            numbers.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
        lines.filter(|line| line.windows(nap.len()).any(|part| part == nap.as_bytes())).count()
    };
    for _ in 0..3 {
        let work = format!("echo x >f; setsid sleep {nap} & sleep {nap}");
        let mut child = Command::new(program())
            .args(["app", "--work", &work, "--check", "true"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let wait_for = |wanted: fn(usize) -> bool| {
            while !wanted(left()) {
                assert!(begun.elapsed() < Duration::from_secs(120), "{} processes", left());
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        // Both naps; the text of the work is in command lines as well.
        wait_for(|count| count > 3);
        child.kill().unwrap();
        child.wait().unwrap();
        wait_for(|count| count == 0);
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("/run/explode"), "{mounts}");
}

/// Returns the line `shows` of each finding under each model, and the disks checked by model.
fn shown(work: &str, check: &str, more: &[&str]) -> (Vec<String>, Vec<u64>) {
    let folder = tempdir().unwrap();
    let own =
        ["app", "--setup", "echo 0 >log", "--model", "each", "--work", work, "--check", check];
    let ran = explode_in(folder.path(), own.iter().chain(more).chain(&["--format", "jsonl"]));
    let lines = ran.json();
    let result = of_type(&lines, "models")[0];
    let findings = result["findings"].as_array().unwrap();
    let shows = findings.iter().map(|found| found["shows"].as_str().unwrap().to_owned());
    let models = ["posix", "ext4", "xfs", "btrfs", "strict"]
        .map(|model| &result["models"][model]["summary"]);
    let checked = models.map(|summary| summary["distinct"].as_u64().unwrap());
    (shows.collect(), checked.to_vec())
}

#[test]
fn a_finding_says_under_which_models_it_shows() {
    if !supported() {
        return;
    }
    let shows = |work: &str, check: &str| shown(work, check, &[]);
    // fsync of another file makes the name durable on file systems with a journal. Under btrfs a
    // transaction can end between the two syncs, and then the second one logs only the other file.
    let names = "echo 1 >new; sync new; mv new a; echo 1 >b; sync b; explode-mark done b";
    let gone = "! grep -q b $EXPLODE_DONE || test -e a";
    let not_journal = "under posix, btrfs; not under ext4 (23 disks checked, all), xfs (13 disks \
                       checked, all), strict (6 disks checked, all)";
    assert_eq!(shows(names, gone).0, [not_journal]);
    // The size comes before the contents on ext4 only.
    let zeroes = "test -z \"$(tail -c 2 log | tr -d '[:print:]\\n' | tr '\\0' x)\"";
    let not_xfs = "under posix, ext4; not under xfs (4 disks checked, all), btrfs (4 disks checked, \
                   all), strict (1 disk checked, all)";
    assert_eq!(shows("echo 1 >>log", zeroes).0, [not_xfs]);
    let empty = "test ! -e v || test -s v";
    let not_strict = "under posix, ext4, xfs, btrfs; not under strict (3 disks checked, all)";
    assert_eq!(shows("echo 1 >new; mv new v", empty).0, [not_strict]);
    assert_eq!(shows(">v; echo 1 >v", empty).0, ["under posix, ext4, xfs, btrfs, strict"]);
    let sound = "echo 1 >new; sync new; mv new v; sync .";
    assert_eq!(shows(sound, empty), (vec![], vec![12, 12, 8, 21, 3]));
}

#[test]
fn what_was_not_searched_is_not_found() {
    if !supported() {
        return;
    }
    // A sample of two disks: none and all of the changes.
    let names = "echo 1 >new; sync new; mv new a; echo 1 >b; sync b; explode-mark done b";
    let gone = "! grep -q b $EXPLODE_DONE || test -e a";
    let (few, _) = shown(names, gone, &["--limit", "2", "--samples", "2"]);
    let sampled = "under posix, btrfs; not under strict (6 disks checked, all); not found under ext4 (9 \
                   disks checked, some), xfs (9 disks checked, some)";
    assert_eq!(few, [sampled]);
    // Each model ends at another finding.
    let both = "mkdir a; mkdir b; echo 1 >>log";
    let check = "test ! -e b -o -e a || { echo 'b without a'; exit 1; }
        test \"$(tr -d '\\0' <log | wc -c)\" = $(wc -c <log) || { echo zeroes; exit 1; }";
    let (shows, _) = shown(both, check, &[]);
    let others = [
        "under posix; not under xfs (10 disks checked, all), btrfs (10 disks checked, all), strict \
         (3 disks checked, all); not found under ext4 (19 disks checked, up to other findings)",
        "under posix, ext4; not under xfs (10 disks checked, all), btrfs (10 disks checked, all), \
         strict (3 disks checked, all)",
    ];
    assert_eq!(shows, others);
}

#[test]
fn models_are_for_simulated_files_and_hard_crashes() {
    let refused = |args: &[&str], words: &[&str]| {
        explode(["run"].iter().chain(args)).refused(words);
    };
    refused(&["toyfs", "--each-model"], &["no simulated files"]);
    refused(&["simfiles-basic", "--each-model", "--soft"], &["--soft"]);
    refused(&["simfiles-basic", "--each-model", "--out", "x"], &["--out", "one for each model"]);
}

#[test]
fn a_rust_test_says_under_which_models_a_finding_shows() {
    if !supported() {
        return;
    }
    let test = |work: &str| {
        let check = "test ! -e v || test -s v";
        explode::crash_test_command("models", "mkdir d", work, check).each_model().outcome()
    };
    let text = test("echo 1 >new; mv new v").unwrap_err();
    let shows = "\nshows under posix, ext4, xfs, btrfs; not under strict (9 disks checked, all)";
    assert!(text.ends_with(shows), "{text}");
    test("echo 1 >new; sync new; mv new v; sync .").unwrap();
}

/// Runs `explode app` with a finding as the user `nobody`, below a command of `unshare`.
fn as_nobody(folder: &Path, unshare: &str) -> Ran {
    let explode = folder.join("explode");
    if !explode.exists() {
        // A copy by this process could be open in a child of another test.
        common::ran(Command::new("cp").args([program().as_ref(), &*explode])).expect(0);
        std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    // On most systems all users may open the device.
    let script = format!(
        "test -e fuse || mknod -m 666 fuse c 10 229; mount --bind fuse /dev/fuse
         exec setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=$PWD {unshare} \
             ./explode app --work 'echo {{n}} >new; mv new v' --check 'test ! -e v || test -s v'"
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "--", "sh", "-c", &script]).current_dir(folder);
    common::ran(&mut command)
}

#[test]
fn a_user_without_privileges_checks_programs_in_a_user_namespace() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let has_namespaces = as_nobody(folder.path(), "unshare -Ur true;").code == 0;
    if !has_namespaces {
        return common::unsupported::unsupported("user namespaces");
    }
    let ran = as_nobody(folder.path(), "unshare -Urpf --mount-proc").expect(1);
    assert!(ran.out.contains("24 crash disks"), "{ran:?}");
    let hint = "unshare -Urpf --mount-proc";
    let alone = as_nobody(folder.path(), "").expect(3);
    assert!(alone.err.contains(hint), "{alone:?}");
    let half = as_nobody(folder.path(), "unshare -Ur").expect(4);
    assert!(half.out.contains(hint), "{half:?}");
}

#[test]
fn a_fifo_and_a_name_of_any_bytes_are_one_change_each() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let found = |check: &str| {
        let work = "umask 077; mkfifo p; touch $(printf 'a\\377')";
        result(&explode_in(
            folder.path(),
            ["app", "--work", work, "--check", check, "--format", "jsonl"],
        ))
    };
    let whole = "test ! -e p || test \"$(stat -c '%F %a' p)\" = 'fifo 600'";
    // Each disk in each epoch in which it is possible: 1 at the begin, 2 in between, 4 at the end.
    assert_eq!(found(whole), (Vec::new(), ["4", "7", "1"].map(str::to_owned)));
    let lost = found("test ! -e p || test -e $(printf 'a\\377') || ! echo p alone");
    assert_eq!(lost.0, ["app/check-failed/p-alone"]);
}
