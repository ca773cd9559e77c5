//! A replicated store as `docs/start/your-cluster.md` shows it: n1 takes the writes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use explode_cluster::prelude::*;

/// A node. Without `SYNCS` it forgets to sync its log.
struct Store<const SYNCS: bool> {
    files: Rc<dyn Files>,
    log: Fd,
    writes: Vec<[u64; 2]>,
    waiting: BTreeMap<u64, CallId>,
}

impl<const SYNCS: bool> Store<SYNCS> {
    fn map(&self) -> BTreeMap<u64, u64> {
        self.writes.iter().map(|[key, value]| (*key, *value)).collect()
    }

    /// Adds a write to the log: 16 bytes, key and value.
    fn add(&mut self, write: [u64; 2]) -> Handled {
        let at = self.writes.len() as u64 * 16;
        self.files.pwrite(self.log, at, &write.map(u64::to_le_bytes).concat())?;
        if SYNCS {
            self.files.fsync(self.log)?;
        }
        self.writes.push(write);
        Ok(())
    }
}

impl<const SYNCS: bool> Node for Store<SYNCS> {
    /// A write with its number, or a number alone: this write and all before it are here.
    type Msg = (u64, Option<[u64; 2]>);
    type Call = MapCall;
    type Reply = MapReply;

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let files = host.files();
        let log = files.open("/log", OpenFlags::CREATE)?;
        files.sync_dir("/")?;
        let bytes = files.read_file("/log")?;
        let word = |at: &[u8]| u64::from_le_bytes(at.try_into().expect("8 bytes"));
        let writes = bytes.chunks_exact(16).map(|write| [word(&write[..8]), word(&write[8..])]);
        // A crash may keep the new size of the log and lose what was written.
        let writes = writes.take_while(|[key, _]| *key > 0).collect();
        host.timer(Timer(0), ms(100));
        Ok(Store { files, log, writes, waiting: BTreeMap::new() })
    }

    fn on_call(&mut self, call: CallId, what: MapCall, host: &mut Host<'_, Self>) -> Handled {
        match what {
            _ if host.id() != NodeId(1) => host.refuse(call),
            MapCall::Get(key) => host.reply(call, MapReply::Value(self.map().get(&key).copied())),
            MapCall::Put(key, value) => {
                self.add([key, value])?;
                let number = self.writes.len() as u64;
                self.waiting.insert(number, call);
                host.broadcast(&(number, Some([key, value])))?;
            }
            MapCall::Remove(_) => host.refuse(call),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, host: &mut Host<'_, Self>) -> Handled {
        match msg {
            (number, Some(write)) => {
                if number == self.writes.len() as u64 + 1 {
                    self.add(write)?;
                }
                host.send(from, (self.writes.len() as u64, None))?;
            }
            // With one backup two of three hosts have the write.
            (number, None) => {
                let later = self.waiting.split_off(&(number + 1));
                for call in std::mem::replace(&mut self.waiting, later).into_values() {
                    host.reply(call, MapReply::Done);
                }
            }
        }
        Ok(())
    }

    /// Sends again what a backup may not have.
    fn on_timer(&mut self, timer: Timer, host: &mut Host<'_, Self>) -> Handled {
        host.timer(timer, ms(100));
        if host.id() == NodeId(1) {
            for (number, write) in (1..).zip(&self.writes) {
                host.broadcast(&(number, Some(*write)))?;
            }
        }
        Ok(())
    }
}

fn store<const SYNCS: bool>() -> Cluster<Store<SYNCS>> {
    cluster::<Store<SYNCS>>("store", 3)
        .clients(2, |next| match next.choose(2) {
            0 => MapCall::Get(1 + u64::from(next.choose(2))),
            _ => MapCall::Put(1 + u64::from(next.choose(2)), next.fresh()),
        })
        .faults(FaultBudget { crashes: 2, drops: 3, partitions: 1, ..FaultBudget::NONE })
        .steps(200, 60)
        .linearizable::<MapSpec>()
        .always("a backup has no write that n1 lacks", |world| {
            let of = |node: &NodeView<'_, Store<SYNCS>>| -> BTreeSet<[u64; 2]> {
                node.writes.iter().copied().collect()
            };
            let first = world.up().find(|node| node.id == NodeId(1)).map(|node| of(&node));
            first.is_none_or(|first| world.up().all(|node| of(&node).is_subset(&first)))
        })
        .sometimes("n1 crashed", |world| world.crashed().is_some_and(|node| node.id == NodeId(1)))
        .eventually("replicas agree", |world| {
            world.all_up() && world.up().map(|node| &node.get().writes).all_equal()
        })
}

#[test]
fn acknowledged_writes_survive() {
    store::<true>().run(walks(2000));
}

#[test]
fn a_log_that_is_not_synced_is_found() {
    let text = store::<false>().outcome(walks(2000)).expect_err("writes are lost");
    assert!(text.contains("FAIL") && text.contains("lost /log at byte 0"), "{text}");
}

/// The page shows this file.
#[test]
fn the_page_shows_this_store() {
    let page = include_str!("../../docs/start/your-cluster.md");
    let file = include_str!("store.rs");
    let shown = file.split("/// The page shows this file.").next().expect("there is a beginning");
    let (_, shown) = shown.split_once("\n\n").expect("there is a head");
    assert!(page.contains(shown.trim_end()), "docs/start/your-cluster.md has another store");
}

#[test]
fn a_test_that_passes_prints_what_it_has_counted() {
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "acknowledged_writes_survive", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{text}");
    let page = include_str!("../../docs/start/your-cluster.md");
    let counts: Vec<&str> = text.lines().filter(|line| line.starts_with("crash test")).collect();
    assert!(counts.iter().any(|line| line.starts_with("crash test 'store': reached: n1 crashed ")));
    assert!(
        page.contains(&counts.join("\n")),
        "docs/start/your-cluster.md has other counts: {text}"
    );
}
