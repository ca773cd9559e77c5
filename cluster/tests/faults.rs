//! Faults of disks, networks and clocks, each with a node that a fault breaks and a twin that it
//! does not.

mod common;

use std::collections::BTreeMap;

use explode_cluster::prelude::*;

/// Sends numbers to the other host, and counts what arrives.
struct Numbers<const LINKS: bool> {
    sent: u64,
    /// The last number that arrived, and the last but one.
    heard: [u64; 2],
    broken: u32,
}

impl<const LINKS: bool> Node for Numbers<LINKS> {
    type Msg = u64;
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        host.timer(Timer(0), ms(10));
        Ok(Numbers { sent: 0, heard: [0; 2], broken: 0 })
    }

    fn on_timer(&mut self, timer: Timer, host: &mut Host<'_, Self>) -> Handled {
        host.timer(timer, ms(10));
        self.sent += 1;
        Ok(host.broadcast(&self.sent)?)
    }

    fn on_message(&mut self, _from: NodeId, number: u64, _host: &mut Host<'_, Self>) -> Handled {
        self.heard = [number, self.heard[0]];
        Ok(())
    }

    fn on_broken_link(&mut self, _peer: NodeId, _host: &mut Host<'_, Self>) -> Handled {
        self.broken += 1;
        self.heard = [0; 2];
        Ok(())
    }
}

fn numbers<const LINKS: bool>(faults: FaultBudget) -> Cluster<Numbers<LINKS>> {
    let network = if LINKS { Network::Links } else { Network::Datagrams };
    cluster::<Numbers<LINKS>>("numbers", 2)
        .network(network)
        .faults(faults)
        .steps(40, 5)
        .always("numbers arrive in order", |world| {
            world.up().all(|node| node.heard[0] >= node.heard[1])
        })
}

#[test]
fn links_keep_the_order_whatever_is_lost() {
    let faults =
        FaultBudget { drops: 3, duplicates: 2, partitions: 1, crashes: 1, ..FaultBudget::NONE };
    let links = numbers::<true>(faults)
        .sometimes("a link broke", |world| world.up().any(|node| node.broken > 0))
        .sometimes("a number was lost", |world| world.did(FaultKind::Drop));
    let ran = common::run_with(links, walks(2000), 1);
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    for name in ["a link broke", "a number was lost"] {
        assert!(ran.tally("reached", name) > 100, "{name}: {ran:?}");
    }
    let datagrams = common::run_with(numbers::<false>(FaultBudget::NONE), walks(200), 1);
    assert!(datagrams.found[0].contains("/numbers-arrive-in-order"), "{datagrams:?}");
}

/// Tells its peer that a number is on its disk before it is.
struct Early;

impl Node for Early {
    type Msg = u64;
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let files = host.files();
        let stored = files.read_file("/number").unwrap_or_default();
        host.fact("stored", &[u64::from(host.id().0), stored.first().copied().unwrap_or(0).into()]);
        if host.id() == NodeId(1) && stored.is_empty() {
            host.broadcast(&7)?;
            let fd = files.open("/number", OpenFlags::CREATE)?;
            files.pwrite(fd, 0, &[7])?;
            files.fsync(fd)?;
            files.close(fd)?;
            files.sync_dir("/")?;
        }
        Ok(Early)
    }

    fn on_message(&mut self, from: NodeId, number: u64, host: &mut Host<'_, Self>) -> Handled {
        host.fact("heard", &[u64::from(from.0), number]);
        Ok(())
    }
}

/// Allows no number on a disk that is smaller than one that a peer has heard of.
#[derive(Default)]
struct Stored {
    heard: BTreeMap<u64, u64>,
}

impl FactMonitor for Stored {
    fn on(&mut self, _node: NodeId, fact: &'static str, values: &[u64]) -> Result<(), String> {
        let [node, number] = [values[0], values[1]];
        match fact {
            "heard" => drop(self.heard.insert(node, number)),
            _ if number < self.heard.get(&node).copied().unwrap_or(0) => {
                return Err(format!("n{node} has lost what others have received"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A message of the handler that a crash cuts may arrive, on links as well.
#[test]
fn a_message_before_a_cut_arrives_on_links() {
    for network in [Network::Datagrams, Network::Links] {
        let cluster = cluster::<Early>("early", 2)
            .network(network)
            .faults(FaultBudget { crashes: 1, ..FaultBudget::NONE })
            .steps(8, 2)
            .monitor("stored", Stored::default);
        let ran = common::run_with(cluster, walks(500), 1);
        assert!(ran.found[0].starts_with("early/check-failed/stored "), "{network:?}: {ran:?}");
    }
}

/// A full queue refuses a message, and a node that does not handle it fails.
#[test]
fn a_full_queue_refuses_messages() {
    let ran = common::run_with(numbers::<true>(FaultBudget::NONE).queues_of(2), walks(200), 1);
    assert!(ran.found[0].starts_with("numbers/check-failed/error "), "{ran:?}");
    assert!(ran.traces[0].message.contains("the queue of the link is full"), "{ran:?}");
}

const TAKES: Timer = Timer(0);
const ACTS: Timer = Timer(1);

/// A lease of 100 ms: n1 acts while it holds it. n2 takes it `MARGIN` ms after that time.
struct Lease<const MARGIN: u64> {
    ends: Time,
}

impl<const MARGIN: u64> Node for Lease<MARGIN> {
    type Msg = ();
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        if host.id() == NodeId(1) {
            host.broadcast(&())?;
            host.timer(ACTS, ms(10));
        }
        Ok(Lease { ends: host.now() + ms(100) })
    }

    fn on_message(&mut self, _from: NodeId, (): (), host: &mut Host<'_, Self>) -> Handled {
        host.timer(TAKES, ms(100 + MARGIN));
        Ok(())
    }

    fn on_timer(&mut self, timer: Timer, host: &mut Host<'_, Self>) -> Handled {
        if timer == TAKES {
            host.fact("taken", &[]);
        } else if !host.has_passed(self.ends) {
            host.fact("acts", &[]);
            host.timer(timer, ms(10));
        }
        Ok(())
    }
}

/// Allows no act after the lease was taken.
struct OneHolder {
    is_taken: bool,
}

impl FactMonitor for OneHolder {
    fn on(&mut self, node: NodeId, fact: &'static str, _values: &[u64]) -> Result<(), String> {
        self.is_taken |= fact == "taken";
        match fact {
            "acts" if self.is_taken => Err(format!("{node} acts, and has lost its lease")),
            _ => Ok(()),
        }
    }
}

fn lease<const MARGIN: u64>(timing: Timing) -> common::Ran {
    let cluster = cluster::<Lease<MARGIN>>("lease", 2)
        .timing(timing)
        .steps(60, 0)
        .monitor("one holder", || OneHolder { is_taken: false });
    common::run_with(cluster, walks(500), 1)
}

/// A lease is as good as the clocks are: with clocks that agree it holds, with a skew of a tenth it
/// needs a margin of a fifth, and without any bound it is worth nothing.
#[test]
fn a_lease_holds_as_far_as_clocks_agree() {
    let latencies = vec![ms(1), ms(20)];
    let found = |ran: &common::Ran| ran.found.iter().any(|found| found.contains("/one-holder"));
    let right = lease::<0>(Timing::Ordered { latencies: latencies.clone() });
    assert!(right.found.is_empty() && right.broken.is_empty(), "{right:?}");
    let skewed = |per_mille| Timing::Skewed { latencies: latencies.clone(), per_mille };
    let late = lease::<0>(skewed(100));
    assert!(found(&late), "{late:?}");
    let with_margin = lease::<25>(skewed(100));
    assert!(with_margin.found.is_empty() && with_margin.broken.is_empty(), "{with_margin:?}");
    let any = lease::<25>(Timing::Any);
    assert!(found(&any), "{any:?}");
}

/// The events of one host by their times: a timer of 5 ms, a message of 10 ms, a timer of 15 ms.
struct Order {
    seen: Vec<u64>,
}

impl Node for Order {
    type Msg = ();
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        host.timer(Timer(15), ms(15));
        host.timer(Timer(5), ms(5));
        host.send(host.id(), ())?;
        Ok(Order { seen: Vec::new() })
    }

    fn on_message(&mut self, _from: NodeId, (): (), host: &mut Host<'_, Self>) -> Handled {
        self.seen.push(host.now().as_millis());
        Ok(())
    }

    fn on_timer(&mut self, _timer: Timer, host: &mut Host<'_, Self>) -> Handled {
        self.seen.push(host.now().as_millis());
        Ok(())
    }
}

/// By deadline there is one order, with the times that were asked for. Without clocks there are all
/// six.
#[test]
fn events_happen_when_they_are_due() {
    let orders = |timing: Timing| {
        let cluster = cluster::<Order>("order", 1)
            .timing(timing)
            .steps(4, 0)
            .strategy("exhaust")
            .sometimes("by deadline", |world| world.up().any(|node| node.seen == [5, 10, 15]))
            .sometimes("all seen", |world| world.up().any(|node| node.seen.len() == 3));
        let ran = common::run_with(cluster, exhausted(), 1);
        assert!(ran.summary.complete && ran.found.is_empty(), "{ran:?}");
        [ran.tally("reached", "by deadline"), ran.tally("reached", "all seen")]
    };
    assert_eq!(orders(Timing::Ordered { latencies: vec![ms(10)] }), [1, 1]);
    assert_eq!(orders(Timing::Any), [0, 6]);
}

/// What a node does after a sync that has failed.
const SYNCS_AGAIN: u8 = 0;
const WRITES_AGAIN: u8 = 1;
const STOPS: u8 = 2;

/// A register on a disk whose syncs may fail.
struct Careful<const AFTER: u8> {
    value: u64,
}

impl<const AFTER: u8> Careful<AFTER> {
    fn store(&self, host: &Host<'_, Self>) -> Handled {
        let files = host.files();
        let fd = files.open("/value", OpenFlags::CREATE)?;
        let write = || files.pwrite(fd, 0, &[self.value as u8]);
        write()?;
        if let Err(error) = files.fsync(fd) {
            match AFTER {
                SYNCS_AGAIN => {}
                WRITES_AGAIN => write()?,
                _ => return Err(error.into()),
            }
            files.fsync(fd)?;
        }
        files.close(fd)?;
        Ok(())
    }
}

impl<const AFTER: u8> Node for Careful<AFTER> {
    type Msg = ();
    type Call = RegisterCall;
    type Reply = RegisterReply;

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let files = host.files();
        let fd = files.open("/value", OpenFlags::CREATE)?;
        if files.fstat(fd)?.size == 0 {
            files.pwrite(fd, 0, &[0])?;
            files.fsync(fd)?;
        }
        files.close(fd)?;
        files.sync_dir("/")?;
        let value = files.read_file("/value")?[0];
        Ok(Careful { value: value.into() })
    }

    fn on_message(&mut self, _from: NodeId, (): (), _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }

    fn on_call(&mut self, call: CallId, what: RegisterCall, host: &mut Host<'_, Self>) -> Handled {
        let reply = match what {
            RegisterCall::Write(value) => {
                self.value = value;
                self.store(host)?;
                RegisterReply::Written
            }
            _ => RegisterReply::Value(self.value),
        };
        host.reply(call, reply);
        Ok(())
    }
}

fn careful<const AFTER: u8>(faults: FaultBudget) -> Cluster<Careful<AFTER>> {
    cluster::<Careful<AFTER>>("careful", 1)
        .clients(1, |next| match next.choose(2) {
            0 => RegisterCall::Read,
            _ => RegisterCall::Write(next.fresh()),
        })
        .faults(faults)
        .steps(20, 4)
        .linearizable::<RegisterSpec>()
}

/// Linux reports the failed write of a file to one sync, and counts the file as written. A second
/// sync works, and writes nothing.
#[test]
fn a_sync_that_failed_is_not_mended_by_another() {
    let faults = FaultBudget { io_errors: 1, crashes: 1, ..FaultBudget::NONE };
    let found = common::run_with(careful::<SYNCS_AGAIN>(faults), walks(3000), 1);
    assert!(found.found[0].starts_with("careful/corrupt/linearizable"), "{found:?}");
    let writes = common::run_with(careful::<WRITES_AGAIN>(faults), walks(3000), 1);
    let stops = common::run_with(careful::<STOPS>(faults), walks(3000), 1);
    for ran in [writes, stops] {
        assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
        assert!(ran.tally("faults", "I/O errors") > 300, "{ran:?}");
    }
}

/// Writes a file again and again, and states whether it could.
struct Stubborn;

impl Node for Stubborn {
    type Msg = ();
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        host.timer(Timer(0), ms(10));
        Ok(Stubborn)
    }

    fn on_message(&mut self, _from: NodeId, (): (), _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }

    fn on_timer(&mut self, timer: Timer, host: &mut Host<'_, Self>) -> Handled {
        host.timer(timer, ms(10));
        let files = host.files();
        let fd = files.open("/file", OpenFlags::CREATE);
        let written = fd.and_then(|fd| files.pwrite(fd, 0, b"x").and_then(|()| files.fsync(fd)));
        host.fact("written", &[u64::from(host.id().0), written.is_ok().into()]);
        Ok(())
    }
}

/// Allows no call that works after one that has failed.
#[derive(Default)]
struct StaysBad(BTreeMap<NodeId, bool>);

impl FactMonitor for StaysBad {
    fn on(&mut self, node: NodeId, _fact: &'static str, values: &[u64]) -> Result<(), String> {
        let works = values[1] == 1;
        match self.0.insert(node, works) {
            Some(false) if works => Err(format!("the disk of {node} works again")),
            _ => Ok(()),
        }
    }
}

fn stubborn(faults: FaultBudget) -> common::Ran {
    let cluster = cluster::<Stubborn>("stubborn", 2)
        .faults(faults)
        .steps(40, 10)
        .monitor("a bad disk stays bad", StaysBad::default);
    common::run_with(cluster, walks(500), 1)
}

#[test]
fn a_disk_that_fails_keeps_failing() {
    let ran = stubborn(FaultBudget { bad_disks: 1, crashes: 2, ..FaultBudget::NONE });
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    assert!(ran.tally("faults", "bad disks") > 100, "{ran:?}");
    // One call that fails says nothing about the next.
    let once = stubborn(FaultBudget { io_errors: 1, ..FaultBudget::NONE });
    assert!(once.found[0].contains("/a-bad-disk-stays-bad"), "{once:?}");
}

/// A node that cannot open on its bad disk stays down, and the others go on.
#[test]
fn a_host_with_a_bad_disk_is_out_of_service() {
    let faults = FaultBudget { bad_disks: 1, ..FaultBudget::NONE };
    let cluster = careful::<STOPS>(faults)
        .eventually("the host is up", |world| world.all_up())
        .sometimes("a disk failed", |world| world.did(FaultKind::BadDisk));
    let ran = common::run_with(cluster, walks(500), 1);
    assert!(ran.tally("reached", "a disk failed") > 20, "{ran:?}");
    assert!(ran.found.iter().all(|found| found.contains("/hang/the-host-is-up")), "{ran:?}");
    assert!(ran.broken.is_empty(), "{ran:?}");
}

#[test]
fn faults_are_read_from_text() {
    let read = |text: &str| text.parse::<FaultBudget>().map_err(|error| error.to_string());
    let expected = FaultBudget { crashes: 2, drops: 3, ..FaultBudget::NONE };
    assert_eq!(read("crashes=2,drops=3"), Ok(expected));
    assert_eq!(read("none"), Ok(FaultBudget::NONE));
    for (text, part) in [
        ("crash=2", "unknown kind of fault 'crash'"),
        ("crashes", "'crashes' names no number of faults; write crashes=2"),
        ("crashes=-1", "'crashes=-1' names no number"),
        ("", "unknown kind of fault ''"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}
