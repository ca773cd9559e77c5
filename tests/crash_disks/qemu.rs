//! Logs that QEMU's `blklogwrites` has written. explode reads them as the requests that the disk
//! received.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::tempdir;

use crate::common::log::{complete, crash_disks, crash_disks_of, full, submit, submit_with};
use crate::common::unsupported::unsupported;

const PROGRAM: &str = "qemu-storage-daemon";
const DISK_BYTES: u64 = 1 << 20;

/// A write, a flush and two writes have the same disks as the same events in a JSON log.
#[test]
fn a_log_of_qemu_is_the_json_log_that_it_stands_for() {
    let folder = tempdir().unwrap();
    let Some(mut disk) = Disk::start(folder.path()) else {
        unsupported(&format!("{PROGRAM} (Debian: qemu-system-common)"));
        return;
    };
    disk.write(0, &full(8, 'A'));
    disk.flush();
    disk.write(8, &full(8, 'B'));
    disk.write(24, &full(16, 'C'));
    let log = disk.end();
    let json = [
        submit(1, 0, 0, 8, 'A'),
        complete(1),
        submit_with(&["preflush"], 2, 0, 0, 0, '.'),
        complete(2),
        submit(3, 0, 8, 8, 'B'),
        complete(3),
        submit(4, 0, 24, 16, 'C'),
        complete(4),
        // The program flushes its disk when it ends.
        submit_with(&["preflush"], 5, 0, 0, 0, '.'),
        complete(5),
    ];
    for args in ["", "--atom sector --limit 300 --samples 20", "--completion durable"] {
        let args = format!("--size {DISK_BYTES} {args}");
        let found = crash_disks_of(&log, &args).expect(0);
        assert_eq!(found.out, crash_disks(folder.path(), &json, &args).expect(0).out, "{args}");
        assert!(found.json().len() > 2, "there are disks: {found:?}");
    }
}

/// A disk that logs, behind NBD's protocol on a local socket.
struct Disk {
    program: Child,
    stream: UnixStream,
    log: PathBuf,
    requests: u64,
}

impl Disk {
    /// Starts the disk. `None` if the program is missing.
    fn start(folder: &Path) -> Option<Disk> {
        let (log, socket) = (folder.join("log.img"), folder.join("nbd"));
        for (name, bytes) in [("disk.img", DISK_BYTES), ("log.img", 16 * DISK_BYTES)] {
            File::create(folder.join(name)).and_then(|file| file.set_len(bytes)).unwrap();
        }
        let started = Command::new(PROGRAM)
            .args(["--blockdev", "driver=file,node-name=data,filename=disk.img"])
            .args(["--blockdev", "driver=file,node-name=log,filename=log.img"])
            .args(["--blockdev", "driver=blklogwrites,node-name=logged,file=data,log=log"])
            .args(["--nbd-server", "addr.type=unix,addr.path=nbd"])
            .args(["--export", "type=nbd,id=disk,node-name=logged,name=disk,writable=on"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .spawn();
        let mut program = started.ok()?;
        let began = Instant::now();
        let mut stream = loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => break stream,
                Err(error) if began.elapsed() > Duration::from_secs(600) => {
                    panic!("{}: {error}", socket.display())
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
            assert_eq!(program.try_wait().unwrap(), None, "{PROGRAM} has ended");
        };
        // The fixed newstyle handshake without trailing zeroes, then the export by its name (option
        // 1).
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        stream.write_all(&3_u32.to_be_bytes()).unwrap();
        stream.write_all(b"IHAVEOPT").unwrap();
        stream
            .write_all(&[&1_u32.to_be_bytes()[..], &4_u32.to_be_bytes(), b"disk"].concat())
            .unwrap();
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        assert_eq!(export[..8], DISK_BYTES.to_be_bytes());
        Some(Disk { program, stream, log, requests: 0 })
    }

    fn write(&mut self, sector: u64, data: &[u8]) {
        self.request(1, sector * 512, data);
    }

    fn flush(&mut self) {
        self.request(3, 0, &[]);
    }

    fn request(&mut self, command: u16, offset: u64, data: &[u8]) {
        self.send(command, offset, data);
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0], "no error");
        assert_eq!(reply[8..], self.requests.to_be_bytes());
    }

    fn send(&mut self, command: u16, offset: u64, data: &[u8]) {
        self.requests += 1;
        let length = data.len() as u32;
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        request.extend([0, 0]);
        request.extend(command.to_be_bytes());
        request.extend(self.requests.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend(length.to_be_bytes());
        request.extend(data);
        self.stream.write_all(&request).unwrap();
    }

    /// Disconnects, ends the program, and returns the log.
    fn end(mut self) -> PathBuf {
        self.send(2, 0, &[]);
        let process = self.program.id().to_string();
        assert!(Command::new("kill").arg(process).status().unwrap().success());
        assert!(self.program.wait().unwrap().success());
        self.log
    }
}
