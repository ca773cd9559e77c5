//! `explode show --as sh` and `--as xfstests`: what they write is run in a plain guest, without modules of ours and without explode. A
//! script says 1 of what its finding's crash has left, and 0 of the disk that the same crash leaves if no write is lost.

#[path = "../common/mod.rs"]
mod common;

mod plain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{explode_in, file, files, guest, ran};
use plain::{Said, in_guest};

/// Where kept findings are.
const BUGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bugs");

/// A finding, the file system that it is on, and what its script says was lost.
struct Finding {
    name: &'static str,
    trace: PathBuf,
    system: &'static str,
    lost: &'static str,
    /// Is the test of the suite tried, too? It is made of the same parts.
    suite: bool,
}

/// A trace that a run finds, whose message ends with these words.
#[track_caller]
fn found(folder: &Path, name: &str, args: &str, words: &str) -> PathBuf {
    let args = format!("run {args} --in vm --crash-depth 0 --format jsonl --out {name}");
    explode_in(folder, args.split(' ')).expect(1);
    let traces = folder.join(name).join("traces");
    let mut paths = files(&traces).into_iter().map(|name| traces.join(name));
    let end = format!("{words}\"");
    let is_it = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains(&end);
    paths.find(is_it).unwrap_or_else(|| panic!("none in {:?}", files(&traces)))
}

fn findings(folder: &Path) -> Vec<Finding> {
    let synced =
        |system: &str| format!("fs-ways --stack {system} --set fs-ways.way=sync --depth 1 --states 2");
    let attributes = "fs-ways --stack ext2 --set fs-ways.way=fsync --set fs-ways.calls=xattr --depth 2 --states 7 \
                      --completion durable";
    let commands = file(folder, "commands.toml", COMMANDS);
    vec![
        Finding {
            name: "ext2",
            trace: found(folder, "ext2", &synced("ext2"), "is gone"),
            system: "ext2",
            lost: "LOST: /a is gone",
            suite: true,
        },
        Finding {
            name: "reasonable",
            trace: found(
                folder,
                "reasonable",
                "fs-reasonable --stack ext2 --depth 2 --states 12 --limit 50 --samples 10",
                "was forced, and is gone",
            ),
            system: "ext2",
            lost: "LOST: /a is gone",
            suite: false,
        },
        Finding {
            name: "vfat",
            trace: found(folder, "vfat", &synced("vfat"), "is gone"),
            system: "vfat",
            lost: "LOST: /a is gone",
            suite: false,
        },
        Finding {
            name: "minix",
            trace: Path::new(BUGS).join("fsck-minix-version-3/trace.json"),
            system: "minix",
            lost: "LOST: /a has other bytes from byte 0 on than the 4096 that it should have",
            suite: true,
        },
        Finding {
            name: "attributes",
            trace: found(folder, "attributes", attributes, "has no extended attribute user.a"),
            system: "ext2",
            lost: "LOST: /a has the extended attributes: none\n",
            suite: false,
        },
        Finding {
            name: "commands",
            trace: found(folder, "commands", &format!("{} --depth 1", commands.display()), "is gone"),
            system: "ext2",
            lost: "LOST: k1 was synced, and is gone",
            suite: false,
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

#[test]
fn scripts_and_tests_of_the_suite_in_a_plain_guest() {
    if !guest::required() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let findings = findings(folder.path());
    let mut put = BTreeMap::new();
    let mut script = String::from(plain::TRY);
    for Finding { name, trace, system, suite, .. } in &findings {
        put.insert(format!("/root/{name}.sh"), script_of(folder.path(), name, trace));
        script.push_str(&plain::of_finding(name));
        if *suite {
            put.insert(format!("/suite/tests/{name}"), test_of(folder.path(), name, trace));
            script.push_str(&plain::of_test(name, system));
        }
        script.push_str(&plain::left(name));
    }
    let ext2 = put["/root/ext2.sh"].clone();
    let damaged = ext2.replacen("crash_sum=", "crash_sum=1", 1);
    assert_ne!(damaged, ext2);
    put.insert("/root/damaged.sh".to_owned(), damaged);
    put.insert("/root/unknown.sh".to_owned(), ext2.replace("type=ext2", "type=nosuchfs"));
    script.push_str(plain::OTHERS);
    put.insert("/root/all".to_owned(), script);
    for name in ["preamble", "rc"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/script/suite/common").join(name);
        put.insert(format!("/suite/common/{name}"), std::fs::read_to_string(path).unwrap());
    }
    let said = in_guest(put);
    findings.iter().for_each(|finding| judge(finding, &said));
    others(&said);
}

/// What a finding's script and test have said.
#[track_caller]
fn judge(Finding { name, lost, suite, .. }: &Finding, said: &BTreeMap<String, Said>) {
    let of = |what: &str| {
        let key = format!("{name} {what}");
        said.get(&key).unwrap_or_else(|| panic!("{key} in {said:#?}"))
    };
    // On a loop device, and on a device that it is told.
    for what in ["script", "device"] {
        let Said { code, text } = of(what);
        assert!(
            *code == 1 && text.contains(lost) && text.contains("The promise is broken."),
            "{what}: {text}"
        );
        assert_eq!(text.matches("LOST").count(), 1, "{text}");
    }
    let Said { code, text } = of("control");
    assert!(
        *code == 0 && !text.contains("LOST") && text.contains("Nothing that was promised is lost."),
        "{text}"
    );
    if *suite {
        let golden = format!("QA output created by {name}\nSilence is golden\n");
        let Said { code, text } = of("test");
        assert!(*code == 0 && *text != golden && text.contains(lost), "{text}");
        let Said { code, text } = of("test of control");
        assert_eq!((*code, text), (0, &golden));
    }
    assert_eq!(of("left").text, "", "no mount, no loop device and no file stays behind");
}

#[track_caller]
fn others(said: &BTreeMap<String, Said>) {
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

/// The files that `show` writes of a finding, by their names.
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

#[track_caller]
fn script_of(folder: &Path, name: &str, trace: &Path) -> String {
    let written = written(folder, name, trace, "sh");
    let id = trace.file_stem().unwrap().to_str().unwrap();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].0, format!("{id}.sh"));
    written[0].1.clone()
}

/// The test, whose golden output goes with it.
#[track_caller]
fn test_of(folder: &Path, name: &str, trace: &Path) -> String {
    let written = written(folder, name, trace, "xfstests");
    let id = trace.file_stem().unwrap().to_str().unwrap();
    let test = format!("999-explode-{id}");
    let golden = format!("QA output created by {test}\nSilence is golden\n");
    assert_eq!(written.len(), 2);
    assert_eq!(written[0].0, test);
    assert_eq!(written[1], (format!("{test}.out"), golden));
    written[0].1.clone()
}

#[test]
fn what_no_script_can_show_is_refused() {
    let refused = |trace: &str, words: &[&str]| {
        for form in ["sh", "xfstests"] {
            explode_in(Path::new(BUGS), ["show", trace, "--as", form]).refused(words);
        }
    };
    // A function of the kernel fails: nothing crashes, or the program alone.
    refused("ext4-create-enomem/trace.json", &["no script can show this finding", "without a crash"]);
    refused("ext4-fsync-unwritten/trace.json", &["no script can show this finding", "a soft one"]);
    // What is broken is not said of single names.
    refused(
        "fsck-fat-twice/trace.json",
        &["the checker fs-reasonable does not say for a shell", "where `readable` is broken"],
    );
    let folder = tempfile::tempdir().unwrap();
    // In process.
    explode_in(folder.path(), ["run", "simfiles+fsync-lies", "--out", "run"]).expect(1);
    let traces = files(&folder.path().join("run/traces"));
    let trace = format!("run/traces/{}", traces[0]);
    explode_in(folder.path(), ["show", &trace, "--as", "sh"]).refused(&["in process"]);
    explode_in(folder.path(), ["show", &trace, "--as", "sh", "--format", "jsonl"])
        .refused(&["a script is no JSON"]);
    explode_in(folder.path(), ["show", &trace, "--write", "."]).refused(&["--as sh and --as xfstests"]);
}
