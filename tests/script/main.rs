//! `explode show --as sh` and `--as xfstests`: the scripts run in a plain guest, without explode
//! and its modules. A script exits with 1 on the disk of its finding's crash, and with 0 on the
//! disk of the same crash without a lost write.

#[path = "../common/mod.rs"]
mod common;

mod bugs;
mod guests;
mod ways;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use bugs::{Disk, Fate};
use common::{explode_in, file, files, guest, program, ran};
use guests::{Said, dealt, plain, workshop};

/// The folder of the kept findings.
const BUGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bugs");

/// A finding whose script is run.
struct Finding {
    name: String,
    /// The end of its message and the arguments of the run that finds it. `None` if the trace is
    /// kept.
    run: Option<(&'static str, String)>,
    /// Its test of the suite. `None` if that is not run.
    suite: Option<SuiteTest>,
    /// The beginnings of the lines by which its script reports the loss.
    lost: &'static [&'static str],
    /// The disk to compare with.
    control: Control,
}

/// A test of the suite that is run.
#[derive(Clone, Copy, Debug)]
struct SuiteTest {
    /// The file system.
    system: &'static str,
    disk: Disk,
    /// The beginnings of the lines by which it reports the loss.
    lost: &'static [&'static str],
}

/// The disk on which a script must find nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    /// A recorded disk that has lost nothing.
    Recorded,
    /// The disk after an unmount.
    Unmounted,
    /// No disk. The script refuses the option.
    None,
}

/// Returns the findings of runs. The findings on XFS, by a kept trace and by one made to order, are
/// not repeated here.
fn runs() -> Vec<Finding> {
    vec![
        Finding {
            name: "commands".to_owned(),
            run: Some(("is gone", "commands.toml --depth 1 --crash-depth 0".to_owned())),
            suite: None,
            lost: &["k1 was synced, and is gone"],
            control: Control::Recorded,
        },
        Finding {
            name: "reasonable".to_owned(),
            run: Some((
                "was forced, and is gone",
                "fs-reasonable --stack ext2 --depth 2 --states 12 --limit 10 --samples 6 \
                 --crash-depth 0 --set fs-reasonable.start=empty"
                    .to_owned(),
            )),
            suite: None,
            lost: &["/a is gone"],
            control: Control::Recorded,
        },
    ]
}

/// A checker made of commands.
const COMMANDS: &str = r#"
    [[component]]
    use = "ramdisk"
    [[component]]
    use = "ext2"
    [checker]
    name = "keys-durable"
    mutate = [
      { name = "add", steps = [ { sh = 'echo one > {path}/k{n} && sync -f {path}/k{n}', must = true }, { crash = ["k{n}"] } ] },
    ]
    check = 'for k in $EXPLODE_ARGS; do grep -q one {path}/$k || { echo "$k was synced, and is gone"; exit 1; }; done'
"#;

/// Returns the kept findings, and the traces that are refused after a new run, with the words of
/// the refusal.
fn kept(files: &mut BTreeMap<String, String>) -> (Vec<Finding>, Vec<(String, &'static str)>) {
    let (mut findings, mut refused) = (Vec::new(), Vec::new());
    for (trace, fate) in bugs::fates() {
        let name = trace.replace('/', "-");
        let put = || (format!("/root/traces/{name}.json"), bugs::of_this_machine(trace));
        match fate {
            Fate::Shows(lost) | Fate::ShowsWhole(lost) | Fate::ShowsAlone(lost) => {
                files.extend([put()]);
                let suite = bugs::SUITE.iter().find(|(of, ..)| *of == trace);
                let loses = bugs::SUITE_LOSES.iter().find(|(of, _)| *of == trace);
                let suite = suite.map(|(_, system, disk)| SuiteTest {
                    system,
                    disk: *disk,
                    lost: loses.map_or(lost, |(_, lost)| *lost),
                });
                let control = match fate {
                    Fate::Shows(_) => Control::Recorded,
                    Fate::ShowsWhole(_) => Control::Unmounted,
                    _ => Control::None,
                };
                findings.push(Finding { name, run: None, suite, lost, control });
            }
            Fate::RefusedOnceRun(why) => {
                files.extend([put()]);
                refused.push((name, why));
            }
            Fate::Refused(_) => {}
        }
    }
    (findings, refused)
}

/// Returns a script or a test that the workshop has written. The shell must accept its syntax.
#[track_caller]
fn made<'a>(said: &'a BTreeMap<String, Said>, name: &str, form: &str) -> &'a str {
    let Said { code, text } = &said[&format!("{name} {form}")];
    assert_eq!(*code, 0, "{name} {form}: {text}");
    let folder = tempfile::tempdir().unwrap();
    let script = file(folder.path(), "script", text);
    ran(Command::new(if form == "sh" { "sh" } else { "bash" }).arg("-n").arg(script)).expect(0);
    text
}

#[test]
fn scripts_and_tests_of_the_suite_in_a_plain_guest() {
    if !guest::required() {
        return;
    }
    let mut files = BTreeMap::from([("/root/commands.toml".to_owned(), COMMANDS.to_owned())]);
    let (mut findings, refused) = kept(&mut files);
    findings.extend(runs());
    let registry = explode::registry();
    for ordered in &ways::ORDERED {
        let name = ordered.name.to_owned();
        files.insert(format!("/root/traces/{name}.json"), ordered.trace(&registry));
        let control = Control::Recorded;
        findings.push(Finding { name, run: None, suite: None, lost: ordered.lost, control });
    }
    let of_trace = |Finding { name, run, suite, .. }: &Finding| {
        let run = run.as_ref().map(|(words, args)| (args.as_str(), *words));
        guests::of_trace(name, run, suite.is_some())
    };
    let of_refused = refused.iter().map(|(name, _)| guests::of_trace(name, None, false));
    let written = workshop(&files, &dealt(findings.iter().map(of_trace).chain(of_refused)));
    for (name, why) in refused {
        let Said { code, text } = &written[&format!("{name} sh")];
        let words = format!("no script can show this finding: {why}");
        assert!(*code == 2 && text.contains(&words), "{name}: {code} {text}");
    }
    let mut put = BTreeMap::new();
    let mut scripts = Vec::new();
    for Finding { name, suite, .. } in &findings {
        put.insert(format!("/root/{name}.sh"), made(&written, name, "sh").to_owned());
        let mut script = guests::of_script(name);
        if let Some(SuiteTest { system, disk, .. }) = suite {
            let test = made(&written, name, "xfstests");
            let of = [("_load_flakey_table", Disk::Dropped), ("_log_writes_mark", Disk::Flushed)];
            for (call, of) in of {
                assert_eq!(test.contains(call), *disk == of, "{name}: {test}");
            }
            put.insert(format!("/suite/tests/{name}"), test.to_owned());
            let control = match disk {
                Disk::Dropped => "synced",
                Disk::Flushed => "flushed",
                Disk::Recorded => "recorded",
            };
            script.push_str(&guests::of_test(name, system, control));
        }
        script.push_str(&guests::left(name));
        scripts.push(script);
    }
    // It crashed during the recovery, and keeps the writes of the first crash and of the recovery.
    let twice = &put["/root/recovery-ext3.sh"];
    assert!(twice.contains("was written before this crash"), "{twice}");
    let ext2 = put[&format!("/root/{EXT2}.sh")].clone();
    let damaged = ext2.replacen("crash_sum=", "crash_sum=1", 1);
    assert_ne!(damaged, ext2);
    put.insert("/root/ext2.sh".to_owned(), ext2.clone());
    put.insert("/root/damaged.sh".to_owned(), damaged);
    put.insert("/root/unknown.sh".to_owned(), ext2.replace("type=ext2", "type=nosuchfs"));
    scripts.push(guests::OTHERS.to_owned());
    for name in ["dmflakey", "dmlogwrites", "preamble", "rc"] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/script/suite/common").join(name);
        put.insert(format!("/suite/common/{name}"), std::fs::read_to_string(path).unwrap());
    }
    let said = plain(&put, &dealt(scripts));
    // All errors are reported, not only the first.
    let wrong: Vec<String> =
        findings.iter().filter_map(|finding| judge(finding, &said).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    others(&said);
}

/// The finding with whose script the further tests run.
const EXT2: &str = "sync-without-flush-trace";

/// Checks the output of a finding's script and test.
fn judge(
    Finding { name, lost, suite, control, .. }: &Finding,
    said: &BTreeMap<String, Said>,
) -> Result<(), String> {
    let ends = |what: &str, is_right: &dyn Fn(i32, &str) -> bool| {
        let key = format!("{name} {what}");
        match said.get(&key) {
            Some(Said { code, text }) if is_right(*code, text) => Ok(()),
            other => Err(format!("{key}: {other:#?}")),
        }
    };
    ends("script", &|code, text| code == 1 && shows(text, lost))?;
    let ends_well = |code: i32, text: &str, on: &str| {
        let sound = "Nothing that was promised is lost.";
        code == 0 && !text.contains("LOST") && text.contains(sound) && text.contains(on)
    };
    ends("control", &|code, text| match control {
        Control::Recorded => ends_well(code, text, "if no write is lost"),
        Control::Unmounted => ends_well(code, text, "unmounted, without a crash"),
        Control::None => code == 2 && text.contains("no disk of this moment that has lost nothing"),
    })?;
    if let Some(SuiteTest { disk, lost, .. }) = suite {
        let golden = format!("QA output created by {name}\nSilence is golden\n");
        ends("test", &|code, text| code == 0 && text != golden && loses(text, lost))?;
        if *control == Control::Recorded || *disk != Disk::Recorded {
            ends("test of control", &|code, text| code == 0 && text == golden)?;
        }
    }
    // No mount, no loop device and no file may be left.
    ends("left", &|_, text| text.is_empty())
}

/// Returns true if the script has lost exactly this.
fn shows(text: &str, lost: &[&str]) -> bool {
    loses(text, lost) && text.contains("The promise is broken.")
}

fn loses(text: &str, lost: &[&str]) -> bool {
    let said: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("LOST: ")).collect();
    said.len() == lost.len() && said.iter().zip(lost).all(|(said, lost)| said.starts_with(lost))
}

#[track_caller]
fn others(said: &BTreeMap<String, Said>) {
    let Said { code, text } = &said["device"];
    assert!(*code == 1 && shows(text, &["/a is gone"]), "{text}");
    let fails = |what: &str, words: &str| {
        let Said { code, text } = &said[what];
        assert!(*code == 2 && text.contains(words), "{what}: {code} {text}");
    };
    fails("damaged", "this file is damaged");
    fails("unknown", "the kernel has no nosuchfs");
    fails("small", "less than 16777216 bytes");
    fails("no device", "is no block device");
    fails("no root", "this needs root");
    fails("no program", "e2fsck is not installed");
    assert_eq!(said["left at last"].text, "");
    let Said { code, text } = &said["other system"];
    assert!(*code == 0 && text.ends_with("notrun: this test is for ext2\n"), "{text}");
}

/// Returns the files that `show` writes for a finding, by name.
#[track_caller]
fn written(folder: &Path, name: &str, trace: &Path, form: &str) -> Vec<(String, String)> {
    let into = folder.join(format!("{name}-{form}"));
    std::fs::create_dir(&into).unwrap();
    let paths = [trace, &into].map(|path| path.to_str().unwrap());
    explode_in(folder, ["show", paths[0], "--as", form, "--write", paths[1]]).expect(0);
    let text = |name: String| (name.clone(), std::fs::read_to_string(into.join(name)).unwrap());
    let written = files(&into).into_iter().map(text).collect();
    let shell = if form == "sh" { "sh" } else { "bash" };
    ran(Command::new(shell).arg("-n").arg(into.join(&files(&into)[0]))).expect(0);
    written
}

#[test]
fn a_script_and_a_test_of_the_suite_are_written() {
    if !guest::required() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = Path::new(BUGS).join("sync-without-flush/trace.json");
    let script = written(folder.path(), "ext2", &trace, "sh");
    assert_eq!(script.len(), 1);
    assert_eq!(script[0].0, "trace.sh");
    // The test and its expected output.
    let test = written(folder.path(), "ext2", &trace, "xfstests");
    let golden = "QA output created by 999-explode-trace\nSilence is golden\n";
    assert_eq!(test.len(), 2);
    assert_eq!(test[0].0, "999-explode-trace");
    assert_eq!(test[1], ("999-explode-trace.out".to_owned(), golden.to_owned()));
}

#[test]
fn traces_beyond_scripts_are_refused() {
    // Nothing is built for them: the cache is empty and stays empty.
    let cache = tempfile::tempdir().unwrap();
    let refused = |trace: &str, words: &[&str]| {
        for form in ["sh", "xfstests"] {
            let mut show = Command::new(program());
            show.current_dir(BUGS).env("XDG_CACHE_HOME", cache.path());
            ran(show.args(["show", trace, "--as", form])).refused(words);
        }
    };
    for (trace, fate) in bugs::fates() {
        if let Fate::Refused(why) = fate {
            refused(&format!("{trace}.json"), &[why]);
        }
    }
    assert_eq!(files(cache.path()), [""; 0]);
    let folder = tempfile::tempdir().unwrap();
    // A trace of a run in process.
    explode_in(folder.path(), ["run", "simfiles+fsync-lies", "--out", "run"]).expect(1);
    let traces = files(&folder.path().join("run/traces"));
    let trace = format!("run/traces/{}", traces[0]);
    explode_in(folder.path(), ["show", &trace, "--as", "sh"]).refused(&["in process"]);
    explode_in(folder.path(), ["show", &trace, "--as", "sh", "--format", "jsonl"])
        .refused(&["a script is no JSON"]);
    explode_in(folder.path(), ["show", &trace, "--write", "."])
        .refused(&["--as sh and --as xfstests"]);
}
