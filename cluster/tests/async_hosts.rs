//! Hosts whose nodes are tasks of tokio: what a run finds, and what it says of tasks that do what
//! tasks must not do.

mod common;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use explode_cluster::cluster::Cluster;
use explode_cluster::prelude::*;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use common::{Ran, run_with};

/// A register on three hosts. The host that is called answers when another one has the write as
/// well. Without `SYNCS` a host says that it has a write before it is on its disk.
struct Register<const SYNCS: bool> {
    host: AsyncHost<Self>,
    /// To the task that owns the file.
    writer: mpsc::Sender<(u64, oneshot::Sender<()>)>,
    value: Rc<RefCell<u64>>,
}

impl<const SYNCS: bool> Register<SYNCS> {
    /// Writes a value in the task that owns the file.
    async fn write(&self, value: u64) -> Handled {
        let (done, written) = oneshot::channel();
        self.writer.send((value, done)).await?;
        Ok(written.await?)
    }
}

/// Writes values one after another. A value that is smaller than the last one is old.
async fn writes<const SYNCS: bool>(
    host: AsyncHost<Register<SYNCS>>,
    file: Fd,
    value: Rc<RefCell<u64>>,
    mut asked: mpsc::Receiver<(u64, oneshot::Sender<()>)>,
) -> explode_ramdisk::files::Result<()> {
    while let Some((new, done)) = asked.recv().await {
        if new > *value.borrow() {
            host.files().pwrite(file, 0, &new.to_le_bytes())?;
            *value.borrow_mut() = new;
        }
        if SYNCS {
            host.files().fdatasync(file)?;
        }
        // The task that asked may have given up.
        done.send(()).ok();
        if !SYNCS {
            sleep(ms(5)).await;
            host.files().fdatasync(file)?;
        }
    }
    Ok(())
}

impl<const SYNCS: bool> AsyncNode for Register<SYNCS> {
    type Msg = u64;
    type Call = RegisterCall;
    type Reply = RegisterReply;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        let files = host.files();
        let file = files.open("/value", OpenFlags::CREATE)?;
        files.sync_dir("/")?;
        let bytes = files.read_file("/value")?;
        let known = bytes.try_into().map_or(0, u64::from_le_bytes);
        let value = Rc::new(RefCell::new(known));
        let (writer, asked) = mpsc::channel(1);
        spawn_local(writes(host, file, Rc::clone(&value), asked));
        Ok(Register { host, writer, value })
    }

    async fn on_request(self: Rc<Self>, _: NodeId, value: u64) -> Handled<u64> {
        self.write(value).await?;
        Ok(*self.value.borrow())
    }

    async fn on_call(self: Rc<Self>, call: CallId, what: RegisterCall) -> Handled {
        let RegisterCall::Write(value) = what else {
            self.host.refuse(call);
            return Ok(());
        };
        self.write(value).await?;
        let (sender, mut stored) = mpsc::channel(2);
        for peer in self.host.peers() {
            let (host, sender) = (self.host, sender.clone());
            spawn_local(async move {
                while !matches!(timeout(ms(150), host.request(peer, value)).await, Ok(Ok(_))) {}
                sender.send(()).await.ok();
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
        .calls(6)
        .faults(FaultBudget { crashes: 2, drops: 3, ..FaultBudget::NONE })
        .steps(150, 40)
        .always("an acknowledged write is on two hosts", |world| {
            let last = common::acknowledged(world);
            // A host that is down, or opens, is not asked.
            let open = || world.up().filter_map(|node| node.get().node());
            let behind = open().filter(|node| *node.value.borrow() < last).count();
            behind < 2
        })
        .sometimes("a host crashed", |world| world.crashed().is_some())
        .sometimes("a write was acknowledged", |world| {
            world.history().calls().iter().any(|call| call.replied.is_some())
        })
}

#[test]
fn a_value_that_is_acknowledged_before_its_sync_is_found_and_replays() {
    let ran = run_with(register::<false>("register+unsynced"), walks(1000), 1);
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
    assert_eq!(one.summary.states, common::exactly(640));
    assert!(one.tally("reached", "a host crashed") > 300, "{one:?}");
    assert!(one.tally("reached", "a write was acknowledged") > 600, "{one:?}");
}

/// The story of a finding has the messages of tasks, and the test's last line replays it.
#[test]
fn a_finding_is_minimised_and_told() {
    let text =
        register::<false>("register-reported").outcome(walks(1000)).expect_err("it is found");
    for part in ["#1 ", "answer #1 ", "CRASH", "lost /value at byte 0", "EXPLODE_REPLAY="] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A host that asks another one for the number of its own start when it starts.
struct Restarts;

impl AsyncNode for Restarts {
    type Msg = u64;
    type Call = ();
    type Reply = ();

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        let files = host.files();
        let file = files.open("/starts", OpenFlags::CREATE)?;
        let starts = files.read_file("/starts")?.len() as u64;
        files.pwrite(file, starts, b"s")?;
        files.fsync(file)?;
        files.sync_dir("/")?;
        spawn_local(async move {
            let peer = host.peers().next().expect("there is another");
            if let Ok(answer) = host.request(peer, starts).await {
                assert_eq!(answer, starts, "an answer to an earlier start");
            }
        });
        Ok(Restarts)
    }

    async fn on_request(self: Rc<Self>, _: NodeId, starts: u64) -> Handled<u64> {
        Ok(starts)
    }
}

/// Also if the host starts twice at the same time.
#[test]
fn an_answer_to_a_request_of_before_a_crash_does_not_arrive() {
    let crashes = FaultBudget { crashes: 6, ..FaultBudget::NONE };
    let cluster = async_cluster::<Restarts>("restarts", 2).faults(crashes).steps(30, 0);
    let ran = run_with(cluster, walks(1000), 1);
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    assert!(ran.tally("crashes", "crashes") > 1000, "{ran:?}");
}

/// A host that loads its settings in one task when it is called, and serves in another. The second
/// needs the settings, and nothing makes it wait for them unless `WAITS`. If `CHOSEN` is false, the
/// tasks are those of tokio, which always runs the first one first.
struct Loads<const CHOSEN: bool, const WAITS: bool> {
    host: AsyncHost<Self>,
}

impl<const CHOSEN: bool, const WAITS: bool> Loads<CHOSEN, WAITS> {
    fn spawns(task: impl Future<Output = ()> + 'static) {
        if CHOSEN {
            explode_cluster::tasks::spawn(task);
        } else {
            spawn_local(task);
        }
    }
}

impl<const CHOSEN: bool, const WAITS: bool> AsyncNode for Loads<CHOSEN, WAITS> {
    type Msg = ();
    type Call = u64;
    type Reply = u64;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        Ok(Loads { host })
    }

    async fn on_call(self: Rc<Self>, call: CallId, setting: u64) -> Handled {
        let settings = Rc::new(RefCell::new(None));
        let (loaded, is_loaded) = oneshot::channel();
        let loads = Rc::clone(&settings);
        Self::spawns(async move {
            loads.replace(Some(setting));
            loaded.send(()).ok();
        });
        let host = self.host;
        Self::spawns(async move {
            if WAITS {
                is_loaded.await.ok();
            }
            host.reply(call, settings.borrow().unwrap_or_default());
        });
        Ok(())
    }
}

fn loads<const CHOSEN: bool, const WAITS: bool>(name: &str) -> Ran {
    let cluster = async_cluster::<Loads<CHOSEN, WAITS>>(name, 1)
        .clients(1, |next| next.fresh())
        .calls(3)
        .steps(10, 0);
    run_with(common::echoes(cluster), walks(64), 1)
}

#[test]
fn a_race_of_two_tasks_of_a_host_is_found_if_their_order_is_a_choice() {
    let ran = loads::<true, false>("loads+race");
    let found = "loads+race/check-failed/a-reply-has-the-setting";
    assert!(ran.found.iter().any(|one| one.starts_with(found)) && ran.broken.is_empty(), "{ran:?}");
    let ran = loads::<false, false>("loads+race-in-tokio");
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    let ran = loads::<true, true>("loads");
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
}

/// A host with two tasks of three steps each, which note them.
struct Steps {
    host: AsyncHost<Self>,
}

impl AsyncNode for Steps {
    type Msg = ();
    type Call = ();
    type Reply = Vec<u64>;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        Ok(Steps { host })
    }

    async fn on_call(self: Rc<Self>, call: CallId, (): ()) -> Handled {
        let steps = Rc::new(RefCell::new(Vec::new()));
        let spawned = (0..2).map(|task| {
            let steps = Rc::clone(&steps);
            explode_cluster::tasks::spawn(async move {
                for _ in 0..2 {
                    steps.borrow_mut().push(task);
                    tokio::task::yield_now().await;
                }
                steps.borrow_mut().push(task);
                task
            })
        });
        for (task, handle) in spawned.collect::<Vec<_>>().into_iter().enumerate() {
            assert_eq!(handle.await?, task as u64);
        }
        self.host.reply(call, steps.take());
        Ok(())
    }
}

/// Two tasks of three steps have 20 orders.
#[test]
fn each_order_of_tasks_is_possible() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(HashSet::new()));
    let known = std::sync::Arc::clone(&seen);
    let cluster = async_cluster::<Steps>("steps", 1)
        .clients(1, |_| ())
        .calls(1)
        .steps(2, 0)
        .always("noted", move |world| {
            let replies = world.history().calls().iter().filter_map(|call| call.replied.clone());
            known.lock().expect("no test panics").extend(replies.map(|(_, steps)| steps));
            true
        });
    let ran = run_with(cluster, walks(640), 1);
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    assert_eq!(seen.lock().expect("no test panics").len(), 20);
}

/// What a task does wrong.
const NOTHING: u8 = 0;
const SLEEPS: u8 = 1;
const STARTS_THREAD: u8 = 2;
const BLOCKS_POOL: u8 = 3;
const YIELDS: u8 = 4;
const PANICS: u8 = 5;
const READS_URANDOM: u8 = 6;
const SPINS: u8 = 7;
const FAILS: u8 = 8;
const WAITS_REAL: u8 = 9;

/// A host that does something wrong when it is called.
struct Wrong<const WRONG: u8> {
    host: AsyncHost<Self>,
}

impl<const WRONG: u8> AsyncNode for Wrong<WRONG> {
    type Msg = u64;
    type Call = ();
    type Reply = ();

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        Ok(Wrong { host })
    }

    async fn on_message(self: Rc<Self>, _: NodeId, wait: u64) -> Handled {
        sleep(ms(wait)).await;
        Ok(())
    }

    async fn on_call(self: Rc<Self>, call: CallId, (): ()) -> Handled {
        sleep(ms(3)).await;
        match WRONG {
            SLEEPS => std::thread::sleep(Duration::from_secs(3600)),
            STARTS_THREAD => drop(std::thread::spawn(|| {})),
            BLOCKS_POOL => tokio::task::spawn_blocking(|| {}).await?,
            YIELDS => loop {
                tokio::task::yield_now().await;
            },
            PANICS => {
                // tokio keeps the panic of a task to itself.
                tokio::spawn(async { panic!("no place for it") });
            }
            READS_URANDOM => {
                use std::io::Read as _;
                let mut byte = [0];
                std::fs::File::open("/dev/urandom")?.read_exact(&mut byte)?;
                for _ in 0..byte[0] % 16 {
                    self.host.broadcast(&1)?;
                }
            }
            SPINS => loop {
                std::hint::spin_loop();
            },
            FAILS => return Err("there is no more room".into()),
            WAITS_REAL => {
                let (_sender, receiver) = std::sync::mpsc::channel::<()>();
                receiver.recv_timeout(Duration::from_secs(3600)).ok();
            }
            _ => {}
        }
        self.host.reply(call, ());
        Ok(())
    }
}

fn wrong<const WRONG: u8>() -> Cluster<Tasks<Wrong<WRONG>>> {
    async_cluster::<Wrong<WRONG>>("wrong", 2).clients(1, |_| ()).calls(3).steps(30, 0)
}

fn run_wrong<const WRONG: u8>() -> Ran {
    run_with(wrong::<WRONG>(), walks(64), 1)
}

fn is_found(ran: &Ran, text: &str) {
    let reported = ran.traces.iter().any(|trace| trace.message.contains(text));
    assert!(reported && ran.broken.is_empty(), "{text}: {ran:?}");
}

#[test]
fn a_task_that_does_what_it_must_not_do_is_named() {
    let ran = run_wrong::<NOTHING>();
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    is_found(&run_wrong::<SLEEPS>(), "it sleeps in real time (std::thread::sleep)");
    is_found(&run_wrong::<STARTS_THREAD>(), "it starts a thread");
    is_found(&run_wrong::<BLOCKS_POOL>(), "it starts a thread");
    is_found(&run_wrong::<WAITS_REAL>(), "it waits in real time");
    is_found(&run_wrong::<YIELDS>(), "some task never waits");
    is_found(&run_wrong::<PANICS>(), "panicked at");
    is_found(&run_wrong::<PANICS>(), "no place for it");
    is_found(&run_wrong::<FAILS>(), "there is no more room");
}

#[test]
fn a_task_that_never_returns_is_a_hang() {
    let (registry, mut plan) = wrong::<SPINS>().test(walks(64)).expect("the plan is right");
    plan.settings.deadline_ms = 300;
    let ran = common::run_plan(&registry, &plan, 1);
    assert!(ran.found.iter().any(|found| found.starts_with("wrong/hang/")), "{ran:?}");
}

#[test]
fn real_random_numbers_are_named() {
    let text = run_wrong::<READS_URANDOM>().broken.join("\n");
    assert!(text.contains("took another path when it was run again"), "{text}");
    assert!(text.contains("a random number"), "{text}");
}

/// Sends to its peers in the order of a `HashSet`, after times from a generator that the machine
/// seeds, and states what its clocks show.
struct Draws {
    host: AsyncHost<Draws>,
}

impl AsyncNode for Draws {
    type Msg = u64;
    type Call = ();
    type Reply = (u64, u64);

    async fn open(host: AsyncHost<Draws>) -> Handled<Draws> {
        let order: HashSet<NodeId> = host.peers().collect();
        let drawn = HashMap::<u32, u32>::new();
        let wait = std::hash::BuildHasher::hash_one(drawn.hasher(), 7u32) % 40;
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        for peer in order {
            sleep(ms(wait + u64::from(bytes[0] % 40))).await;
            host.send(peer, u64::from_le_bytes(bytes))?;
        }
        Ok(Draws { host })
    }

    async fn on_message(self: Rc<Self>, from: NodeId, wait: u64) -> Handled {
        let begun = (Instant::now(), tokio::time::Instant::now(), SystemTime::now());
        sleep(ms(wait % 50)).await;
        let slept = ms(wait % 50);
        assert_eq!(
            (begun.0.elapsed(), begun.1.elapsed(), begun.2.elapsed()?),
            (slept, slept, slept)
        );
        Ok(self.host.send(from, wait / 2)?)
    }
}

#[test]
fn clocks_and_random_numbers_are_those_of_the_walk() {
    let cluster = || async_cluster::<Draws>("draws", 4).steps(120, 0);
    let run = |jobs| run_with(cluster(), walks(640), jobs);
    let (one, three) = (run(1), run(3));
    assert!(one.found.is_empty() && one.broken.is_empty(), "{one:?}");
    assert_eq!(one.counts(), three.counts());
    assert!(one.summary.choices.0 > 640u32.into(), "{one:?}");
}
