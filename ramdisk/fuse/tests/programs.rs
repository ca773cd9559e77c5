//! Programs on simulated files.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use explode_fuse::{Allowed, Mount, Program, ProgramHooks, environment, run};
use explode_ramdisk::files::{Files as _, Granule, OpenFlags};
use explode_ramdisk::{Event, Image, Recording, SimFiles, Storage};

/// Mounts new simulated files. `None`, after a loud word, on a machine that does not allow it.
fn mounted(image: Image) -> Option<(SimFiles, Mount)> {
    let files = SimFiles::mount(Storage::new(image, Recording::On), 0, Granule(4096)).unwrap();
    match Mount::new(files.clone(), "files", &Allowed::default()) {
        Ok(mount) => Some((files, mount)),
        Err(error) if !nix::unistd::geteuid().is_root() => {
            let line = format!("unsupported: FUSE without root: {error}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a command in the mount. Returns its end and what it printed.
fn sh(mount: &Mount, command: &str) -> (ExitStatus, String) {
    let mut output = tempfile::tempfile().unwrap();
    let clone = || -> File { output.try_clone().unwrap() };
    let (out, err) = (clone(), clone());
    // The newest mount may be another one with the same path.
    let command = format!("cd {}\n{command}", mount.path().display());
    let environment = environment();
    let ended = run(
        Program { command, environment, seed: 0, files: Vec::new(), out, err },
        ProgramHooks::default(),
    )
    .unwrap();
    let mut text = String::new();
    output.rewind().unwrap();
    output.read_to_string(&mut text).unwrap();
    (ended, text)
}

/// Runs a command that must succeed.
fn ok(mount: &Mount, command: &str) -> String {
    let (ended, text) = sh(mount, command);
    assert!(ended.success(), "`{command}` {ended}: {text}");
    text
}

/// Returns the number of flushes that were logged.
fn flushes(files: &SimFiles) -> usize {
    let is_flush = |event: &&Event| matches!(event, Event::Flush { .. });
    files.storage().take_log().iter().filter(is_flush).count()
}

#[test]
fn a_program_sees_its_files_and_the_owner_sees_its_calls() {
    let Some((files, mount)) = mounted(Image::new()) else { return };
    let script = "set -e; umask 077; mkdir d; printf hello >d/f; ln d/f g; ln -s d/f l; mv g h
        chmod 640 d/f; cat l h; ls -la . d; stat -c '%a %h %s %F' d/f d l; rm h; test ! -e h";
    let text = ok(&mount, script);
    assert!(text.starts_with("hellohello"), "{text}");
    assert!(
        text.ends_with("640 2 5 regular file\n700 1 0 directory\n777 1 3 symbolic link\n"),
        "{text}"
    );
    assert_eq!(files.read_file("/d/f").unwrap(), b"hello");
    assert_eq!(files.readlink("/l").unwrap(), "d/f");
    assert_eq!(files.mode("/d/f"), Ok(0o640));
    assert_eq!(files.mode("/d"), Ok(0o700));
}

#[test]
fn every_way_of_forcing_is_seen() {
    let Some((files, mount)) = mounted(Image::new()) else { return };
    let forced = |command: &str| {
        flushes(&files);
        ok(&mount, command);
        flushes(&files)
    };
    assert_eq!(forced("echo a >f"), 0);
    assert_eq!(forced("echo b >>f"), 0);
    assert_eq!(forced("sync f"), 1, "fsync");
    assert_eq!(forced("echo c >>f; sync -d f"), 1, "fdatasync");
    assert_eq!(forced("sync ."), 1, "fsync of a directory");
    assert_eq!(forced("echo d >>f; echo e >g; sync -f f"), 3, "syncfs");
    assert_eq!(forced("echo d >>f; sync -f /proc"), 0, "syncfs of another file system");
    assert_eq!(forced("sync"), 1, "sync");
    assert_eq!(forced("echo h | dd of=f oflag=dsync 2>/dev/null"), 1, "O_DSYNC");
    assert_eq!(forced("echo h | dd of=f oflag=sync conv=notrunc 2>/dev/null"), 1, "O_SYNC");
}

#[test]
fn nothing_goes_on_after_a_program() {
    let Some((_, mount)) = mounted(Image::new()) else { return };
    let begun = std::time::Instant::now();
    ok(&mount, "(sleep 1000; echo late >f) & setsid sleep 1000 & echo $$");
    assert!(begun.elapsed().as_secs() < 100);
    assert_eq!(ok(&mount, "ls"), "");
    assert_eq!(ok(&mount, "echo $$"), "1\n");
    let (ended, _) = sh(&mount, "sh -c 'kill -9 $$'");
    assert_eq!(ended.code(), Some(137));
    let (ended, _) = sh(&mount, "exec sleep 1000 & kill -9 $!; wait $!; exit 7");
    assert_eq!((ended.code(), ended.signal()), (Some(7), None));
}

#[test]
fn programs_write_nothing_else() {
    let Some((_, mount)) = mounted(Image::new()) else { return };
    let (ended, text) = sh(&mount, "echo x >/usr/explode-was-here");
    assert!(!ended.success() && text.contains("Read-only file system"), "{text}");
    ok(&mount, "echo x >/tmp/mine; test -e /tmp/mine");
    ok(&mount, "test ! -e /tmp/mine");
    assert!(!std::path::Path::new("/tmp/mine").exists());
    assert!(!std::path::Path::new(mount.path()).exists(), "the mount is seen by programs only");
}

#[test]
fn a_later_mount_hides_an_earlier_one() {
    let Some((files, mount)) = mounted(Image::new()) else { return };
    ok(&mount, "echo live >f; sync f; sync .");
    let Some((_, crash)) = mounted(files.storage().image()) else { return };
    ok(&crash, "grep live f; echo crash >f; sync");
    assert_eq!(ok(&mount, "cat f"), "crash\n", "the same path");
    drop(crash);
    assert_eq!(ok(&mount, "cat f"), "live\n");
    assert_eq!(files.read_file("/f").unwrap(), b"live\n");
}

/// A walk over random calls has the same results on simulated files and on tmpfs.
#[test]
fn random_calls_agree_with_tmpfs() {
    let Some((_, mount)) = mounted(Image::new()) else { return };
    let walk = include_str!("walk.sh");
    for seed in 1..=2 {
        let text = ok(
            &mount,
            &format!(
                "{walk}\nwalk {seed} $PWD >/tmp/one; mkdir /tmp/t; walk {seed} /tmp/t >/tmp/two
            wc -l </tmp/one; cmp /tmp/one /tmp/two || diff /tmp/one /tmp/two | head -8; rm -rf *"
            ),
        );
        assert_eq!(text, "304\n", "seed {seed}");
    }
}

#[test]
fn random_numbers_are_the_same_in_each_run() {
    let Some((_, mount)) = mounted(Image::new()) else { return };
    let names = || ok(&mount, "shuf -i 1-1000000000 -n 1; shuf -i 1-1000000000 -n 1");
    let first = names();
    assert_eq!(first, names());
    let mut lines = first.lines();
    assert_ne!(lines.next(), lines.next());
}

/// What is stored before a sync is pending at that sync, also if it was stored through a mapping.
#[test]
fn stores_through_a_mapping_come_before_a_sync_of_another_file() {
    let Some((files, mount)) = mounted(Image::new()) else { return };
    let target = std::env::current_exe().unwrap();
    let program = target.ancestors().nth(2).unwrap().join("examples/mapped");
    let fd = files.open("/mapped", OpenFlags::CREATE).unwrap();
    files.pwrite(fd, 0, &std::fs::read(program).unwrap()).unwrap();
    files.close(fd).unwrap();
    files.chmod("/mapped", 0o755).unwrap();
    files.storage().take_log();
    ok(&mount, "./mapped stored synced");
    let stored = files.device(files.stat("/stored").unwrap().inode);
    let log = files.storage().take_log();
    let is_store = |event: &Event| matches!(event, Event::Dirty { dev, sector: 0, data } if *dev == stored && data[0] == b'x');
    let at = |wanted: &dyn Fn(&Event) -> bool| log.iter().position(wanted);
    let store = at(&is_store).expect("the store is an event");
    let flush = at(&|event| matches!(event, Event::Flush { .. })).expect("the sync is an event");
    assert!(store < flush, "store {store}, sync {flush}");
}

/// The event that forgets an unlinked file comes before the end of the program that held it open.
#[test]
fn files_that_a_program_leaves_open_are_closed_when_it_has_ended() {
    let Some((files, mount)) = mounted(Image::new()) else { return };
    for round in 0..50 {
        files.storage().take_log();
        ok(&mount, "exec 4>f 5>f 6>f 7>f 8>f 9>f; echo x >&4; rm f; sync .");
        let log = files.storage().take_log();
        let cleaned = log.iter().filter(|event| matches!(event, Event::Clean { .. })).count();
        assert!(cleaned > 0, "round {round}: {} events", log.len());
    }
}

/// The name `a` and a byte that is not UTF-8, for printf(1).
const RAW: &str = "a\\377";

#[test]
fn names_are_any_bytes() {
    let Some((files, mount)) = mounted(Image::new()) else { return };
    let script = format!(
        "set -e; n=$(printf '{RAW}'); mkdir $n; echo 1 >$n/f; ln -s $n link; mv $n/f $n/$n
        cat link/$n; ls | od -An -c; readlink link | od -An -c
        ! touch $(printf '\\377%.0s' $(seq 86)) 2>&1"
    );
    let text = ok(&mount, &script);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let [one, listed, target, refused] = lines[..] else { panic!("{text}") };
    assert_eq!([one, listed, target], ["1", "a 377  \\n   l   i   n   k  \\n", "a 377  \\n"]);
    assert!(refused.ends_with("File name too long"), "{refused}");
    // Another mount of the same contents shows the same names.
    let image = files.storage().image();
    drop(mount);
    let (_files, mount) = mounted(image).unwrap();
    assert_eq!(ok(&mount, &format!("n=$(printf '{RAW}'); cat $n/$n")), "1\n");
}

#[test]
fn fifos_and_sockets_work_and_stay() {
    let Some((files, mount)) = mounted(Image::new()) else { return };
    let script = "set -e; mkfifo -m 600 p; echo through >p & cat p; chmod 620 p
        /usr/bin/python3 -S -c 'import socket
s = socket.socket(socket.AF_UNIX); s.bind(\"s\"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect(\"s\")
s.accept()[0].send(b\"hello \"); print(c.recv(6).decode())'
        ! mknod d c 1 3 2>&1";
    let text = ok(&mount, script);
    assert_eq!(text, "through\nhello \nmknod: d: Operation not permitted\n");
    let seen = "find . -type p -o -type s | sort; stat -c '%F %a %s' p s";
    let there = "./p\n./s\nfifo 620 0\nsocket 755 0\n";
    assert_eq!(ok(&mount, seen), there);
    let image = files.storage().image();
    drop(mount);
    let (_files, mount) = mounted(image).unwrap();
    assert_eq!(ok(&mount, seen), there);
}
