//! Hosts that exchange TCP and UDP packets: what a run finds in servers as users write them, and
//! what the sockets do.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use explode_cluster::cluster::Cluster;
use explode_cluster::net::{TcpListener, TcpStream, address_of};
use explode_cluster::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use crate::common::{exactly, run_with};

/// Sends back what arrives, until the peer closes.
async fn echoes(mut stream: TcpStream) -> io::Result<()> {
    let mut data = [0; 64];
    loop {
        let count = stream.read(&mut data).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&data[..count]).await?;
    }
}

/// A server that echoes, on each host, and a client. Without `READS_ALL` the client takes what one
/// `read` returns for the whole answer.
struct Echo<const READS_ALL: bool> {
    host: AsyncHost<Self>,
}

impl<const READS_ALL: bool> Echo<READS_ALL> {
    async fn ask(&self, peer: NodeId, number: u64) -> io::Result<u64> {
        let mut stream = TcpStream::connect((address_of(peer), 7)).await?;
        stream.set_nodelay(true)?;
        let bytes = (number << 32 | number).to_be_bytes();
        for part in bytes.chunks(4) {
            stream.write_all(part).await?;
        }
        let mut answer = [0; 8];
        if READS_ALL {
            stream.read_exact(&mut answer).await?;
        } else if stream.read(&mut answer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(u64::from_be_bytes(answer))
    }
}

impl<const READS_ALL: bool> AsyncNode for Echo<READS_ALL> {
    type Msg = ();
    type Call = u64;
    type Reply = u64;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        let listener = TcpListener::bind("0.0.0.0:7").await?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(echoes(stream));
            }
        });
        Ok(Echo { host })
    }

    async fn on_call(self: Rc<Self>, call: CallId, number: u64) -> Handled {
        let peer = self.host.peers().next().expect("there is another");
        // The peer may be down, or crash.
        if let Ok(Ok(answer)) = timeout(ms(3000), self.ask(peer, number)).await {
            self.host.reply(call, answer);
        } else {
            self.host.refuse(call);
        }
        Ok(())
    }
}

fn echo<const READS_ALL: bool>(name: &str) -> Cluster<Tasks<Echo<READS_ALL>>> {
    async_cluster::<Echo<READS_ALL>>(name, 2)
        .clients(1, |next| next.fresh())
        .calls(3)
        .faults(FaultBudget { crashes: 1, drops: 3, duplicates: 2, ..FaultBudget::NONE })
        .steps(100, 30)
        .always("an echo is what was sent", |world| {
            world.history().calls().iter().all(|call| match call.replied {
                Some((_, answer)) => answer == (call.call << 32 | call.call),
                None => true,
            })
        })
        .sometimes("an echo arrived", |world| {
            world.history().calls().iter().any(|call| call.replied.is_some())
        })
        .sometimes("all echoes arrived in spite of a lost packet", |world| {
            let calls = world.history().calls();
            calls.iter().filter(|call| call.replied.is_some()).count() == 3
        })
}

#[test]
fn an_answer_that_is_read_in_one_piece_is_found_and_replays() {
    let ran = run_with(echo::<false>("echo+one-read"), walks(200), 1);
    let found = "echo+one-read/check-failed/an-echo-is-what-was-sent";
    assert!(ran.found.iter().any(|one| one.starts_with(found)) && ran.broken.is_empty(), "{ran:?}");
}

#[test]
fn an_echo_that_is_read_whole_is_right() {
    let ran = run_with(echo::<true>("echo"), walks(640), 1);
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    assert_eq!(ran.summary.states, exactly(640));
    assert!(ran.tally("reached", "an echo arrived") > 600, "{ran:?}");
    assert!(ran.tally("messages", "lost") > 600, "{ran:?}");
}

/// The story has the packets of sockets, and the test's last line replays the finding.
#[test]
fn a_finding_is_minimised_and_told() {
    let text = echo::<false>("echo-reported").outcome(walks(200)).expect_err("it is found");
    for part in [">7 SYN", "SYN ACK", "tcp 7>", "EXPLODE_REPLAY="] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The port of the registers.
const REGISTER_PORT: u16 = 4000;

/// A value on the disk of a host.
struct Stored<const SYNCS: bool> {
    host: AsyncHost<Register<SYNCS>>,
    file: Fd,
    value: Cell<u64>,
}

impl<const SYNCS: bool> Stored<SYNCS> {
    fn open(host: AsyncHost<Register<SYNCS>>) -> Handled<Self> {
        let files = host.files();
        let file = files.open("/value", OpenFlags::CREATE)?;
        files.sync_dir("/")?;
        let known = files.read_file("/value")?.try_into().map_or(0, u64::from_le_bytes);
        Ok(Stored { host, file, value: Cell::new(known) })
    }

    /// Stores a value, unless a later one is known.
    fn store(&self, value: u64) -> Handled {
        let files = self.host.files();
        if value > self.value.get() {
            files.pwrite(self.file, 0, &value.to_le_bytes())?;
            self.value.set(value);
        }
        if SYNCS {
            files.fdatasync(self.file)?;
        }
        Ok(())
    }

    /// Serves a peer: stores each value, and then sends it back.
    async fn serve(self: Rc<Self>, stream: TcpStream) -> Handled {
        let (mut from, mut to) = stream.into_split();
        loop {
            let value = from.read_u64().await?;
            self.store(value)?;
            to.write_u64(value).await?;
            if !SYNCS {
                sleep(ms(5)).await;
                self.host.files().fdatasync(self.file)?;
            }
        }
    }
}

/// A register on three hosts, which write to each other over TCP. The host that is called answers
/// when another one has the write as well. Without `SYNCS` a host answers before its disk has it.
struct Register<const SYNCS: bool> {
    host: AsyncHost<Self>,
    stored: Rc<Stored<SYNCS>>,
}

/// Writes a value to a peer, over as many connections as it takes.
async fn replicate(peer: NodeId, value: u64) {
    let attempt = || async {
        let mut stream = TcpStream::connect((address_of(peer), REGISTER_PORT)).await?;
        stream.write_u64(value).await?;
        stream.read_u64().await
    };
    while !matches!(timeout(ms(2500), attempt()).await, Ok(Ok(_))) {
        sleep(ms(50)).await;
    }
}

impl<const SYNCS: bool> AsyncNode for Register<SYNCS> {
    type Msg = ();
    type Call = RegisterCall;
    type Reply = RegisterReply;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        let stored = Rc::new(Stored::open(host)?);
        let listener = TcpListener::bind(("0.0.0.0", REGISTER_PORT)).await?;
        let served = Rc::clone(&stored);
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn_local(Rc::clone(&served).serve(stream));
            }
        });
        Ok(Register { host, stored })
    }

    async fn on_call(self: Rc<Self>, call: CallId, what: RegisterCall) -> Handled {
        let RegisterCall::Write(value) = what else {
            self.host.refuse(call);
            return Ok(());
        };
        self.stored.store(value)?;
        let (done, mut stored) = tokio::sync::mpsc::channel(2);
        for peer in self.host.peers() {
            let done = done.clone();
            spawn_local(async move {
                replicate(peer, value).await;
                done.send(()).await.ok();
            });
        }
        stored.recv().await;
        self.host.reply(call, RegisterReply::Written);
        Ok(())
    }
}

/// An acknowledged write is on two of three disks, whatever crashes.
fn register<const SYNCS: bool>(name: &str) -> Cluster<Tasks<Register<SYNCS>>> {
    async_cluster::<Register<SYNCS>>(name, 3)
        .clients(1, |next| RegisterCall::Write(next.fresh()))
        .calls(4)
        .faults(FaultBudget { crashes: 2, drops: 3, ..FaultBudget::NONE })
        .steps(200, 60)
        .always("an acknowledged write is on two hosts", |world| {
            let last = crate::common::acknowledged(world);
            let open = || world.up().filter_map(|node| node.get().node());
            open().filter(|node| node.stored.value.get() < last).count() < 2
        })
        .sometimes("a host crashed", |world| world.crashed().is_some())
        .sometimes("a write was acknowledged", |world| {
            world.history().calls().iter().any(|call| call.replied.is_some())
        })
}

#[test]
fn a_value_that_is_acknowledged_before_its_sync_is_found_and_replays() {
    let ran = run_with(register::<false>("register+unsynced"), walks(640), 1);
    let found = "register+unsynced/check-failed/an-acknowledged-write-is-on-two-hosts";
    assert!(ran.found.iter().any(|one| one.starts_with(found)) && ran.broken.is_empty(), "{ran:?}");
}

#[test]
fn a_value_that_is_synced_first_survives_with_equal_counts_for_any_number_of_jobs() {
    let run = |jobs| run_with(register::<true>("register"), walks(640), jobs);
    let (one, three) = (run(1), run(3));
    for ran in [&one, &three] {
        assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    }
    assert_eq!(one.counts(), three.counts());
    assert!(one.tally("reached", "a host crashed") > 300, "{one:?}");
    assert!(one.tally("reached", "a write was acknowledged") > 600, "{one:?}");
}

#[test]
fn twenty_runs_have_equal_counts() {
    let run = || run_with(register::<true>("register-again"), walks(32), 1).counts();
    let first = run();
    for _ in 1..20 {
        assert_eq!(run(), first);
    }
}
