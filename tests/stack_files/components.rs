//! The keys of `[[component]]`.

use crate::{Desk, on_folder};

/// Returns a component with these keys.
fn component(keys: &str) -> String {
    format!("[[component]]\nname = \"system\"\n{keys}\n")
}

#[test]
fn recovery_counts_by_its_exit_code() {
    let desk = Desk::new();
    let run = |keys: &str, code: i32| desk.run(&on_folder(&component(keys)), code);
    run("recover = 'exit 0'", 0);
    run("recover = 'exit 3'\nrecover_ok = [0, 3]", 0);
    let failed = run("recover = 'echo first; echo no way; exit 3'", 1);
    let finding = failed.finding();
    assert_eq!(finding["verdict"], "recover-failed");
    assert_eq!(
        finding["message"],
        "system: `echo first; echo no way; exit 3` ended with 3: no way"
    );
    assert_eq!(finding["signature"], "idle/recover-failed/recover-failed");
    assert_eq!(
        run("recover = 'exit 0'\nrecover_ok = [1]", 1).finding()["verdict"],
        "recover-failed"
    );
    let killed = run("recover = 'kill -9 $$'", 1);
    assert!(
        killed.finding()["message"].as_str().unwrap().contains("was killed by signal 9"),
        "{killed:?}"
    );
    // The shell cannot run it. That is not a verdict about the system.
    let broken = run("recover = '$(echo no-such-program)'", 4);
    assert!(broken.broken().contains("no-such-program"), "{broken:?}");
}

#[test]
fn a_mount_that_fails_on_a_crash_disk_is_a_finding() {
    let desk = Desk::new();
    let mount = "recover = 'touch {child}/crashed'\nmount = 'test ! -e {child}/crashed'";
    let failed = desk.run(&on_folder(&component(mount)), 1);
    assert_eq!(failed.finding()["verdict"], "mount-failed");
    assert!(
        failed.finding()["message"].as_str().unwrap().starts_with("system: `test ! -e /"),
        "{failed:?}"
    );
}

#[test]
fn a_mounted_component_has_a_private_folder_that_is_empty_at_each_start() {
    let desk = Desk::new();
    let keys =
        "mount = 'ls {path} >>LOG; echo here >{path}/mark'\nunmount = 'cat {path}/mark >>LOG'";
    let stack = on_folder(&component(keys))
        .replace("check = \"true\"", "check = 'cat {path}/mark >>LOG; echo checked >>LOG'");
    desk.run(&stack, 0);
    assert_eq!(desk.logged(), ["here", "here", "checked", "here", "here"]);
    // Without `mount` its path is its child's path.
    let stack = on_folder(&component("init = 'touch {path}/a {child}/b'"))
        .replace("check = \"true\"", "check = 'test -f {path}/a && test -f {path}/b'");
    desk.run(&stack, 0);
}

#[test]
fn children_are_named_or_the_layer_before() {
    let desk = Desk::new();
    let stack = on_folder(
        r#"
[[component]]
name = "other"
use = "folder"
[[component]]
name = "first"
init = "echo first >{child}/name"
[[component]]
name = "second"
children = ["folder"]
init = "echo second >{child}/name"
[[component]]
name = "both"
children = ["first", "folder"]
init = "cat {child}/name {child.2}/name >>LOG"
"#,
    );
    desk.run(&stack, 0);
    assert_eq!(desk.logged(), ["first", "second"]);
}

#[test]
fn threads_are_pids() {
    let desk = Desk::new();
    desk.run(
        // The worker, and the first process of the machine.
        &on_folder(&component(
            "threads = 'echo $PPID; echo; echo 1; echo note >&2; echo asked >>LOG'",
        )),
        0,
    );
    assert_eq!(desk.logged(), ["asked"; 3], "after each of three mounts");
    for printed in ["twelve", "-1", "1 2", "4294967296"] {
        desk.write(&on_folder(&component(&format!("threads = 'echo {printed}'"))));
        let ran = desk.explode("run test.toml").expect(4);
        let said = format!(
            "error: the first start failed: system: `threads` printed '{printed}', which is no PID"
        );
        assert!(ran.err.starts_with(&said), "{ran:?}");
    }
    // Numbers that no task has. Linux allows numbers up to 4194304.
    for nobody in [0, 4_194_305, u32::MAX] {
        let run = desk.run(&on_folder(&component(&format!("threads = 'echo {nobody}'"))), 4);
        let said = format!("system: `threads` printed {nobody}, and there is no such task");
        assert_eq!((run.broken(), &run.summary()["findings"]), (said, &0.into()), "{run:?}");
    }
}

#[test]
fn a_placeholder_without_a_device_is_an_error() {
    let desk = Desk::new();
    desk.write(&on_folder(&component("init = 'cat {dev}'")));
    let ran = desk.explode("run test.toml").expect(4);
    assert!(ran.err.contains("no layer below has a {dev}"), "{ran:?}");
}

#[test]
fn commands_need_a_kernel_or_a_folder_and_programs_that_are_there() {
    let desk = Desk::new();
    desk.write(&format!("[[component]]\nuse = \"ramdisk\"\n{}", crate::IDLE));
    let ran = desk.explode("run test.toml --in mem").expect(3);
    assert!(
        ran.err.contains("checker 'idle' need a kernel") && ran.err.contains("'folder'"),
        "{ran:?}"
    );
    desk.write(&format!(
        "[[component]]\nuse = \"ramdisk\"\n{}{}",
        component("init = 'true'"),
        crate::IDLE
    ));
    let ran = desk.explode("run test.toml --in mem").expect(3);
    assert!(
        ran.err.contains("component 'system' needs a kernel; use --in vm or --in here"),
        "{ran:?}"
    );
    desk.write(&on_folder(&component("init = 'no-such-program {child}'")));
    let ran = desk.explode("run test.toml").expect(3);
    assert!(ran.err.contains("'no-such-program' is not on the PATH"), "{ran:?}");
    desk.write(&on_folder(""));
    desk.explode("run test.toml --in vm").refused(&["'folder' cannot run in vm", "--in mem"]);
    desk.explode("run fs-basic --stack test.toml").refused(&["'fs-basic' cannot run on 'folder'"]);
}
