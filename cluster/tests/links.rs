//! Ordered links after a crash of a sender: any first part of what it has sent may arrive.

mod common;

use explode_cluster::prelude::*;
use explode_runtime::trace::Trace;

/// The number of messages that n1 sends.
const SENT: u32 = 3;

/// n1 sends numbers when it opens, and n2 counts them.
struct Sender;

impl Node for Sender {
    type Msg = u32;
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        if host.id() == NodeId(1) {
            (1..=SENT).try_for_each(|number| host.send(NodeId(2), number))?;
        }
        Ok(Sender)
    }

    fn on_message(&mut self, _from: NodeId, _number: u32, _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }
}

/// One step from the beginning: n1 or n2 opens, and crashes or not. A crash of n1 cuts its handler
/// before the first, second or third message, or at its end. Each cut has one disk, because
/// nothing was written. After s messages there are s + 1 lengths of what arrives.
#[test]
fn every_length_is_tried_once_and_counted() {
    let run = |network| {
        let cluster = cluster::<Sender>("sender", 2)
            .network(network)
            .faults(FaultBudget { crashes: 1, ..FaultBudget::NONE })
            .steps(1, 0)
            .strategy("exhaust");
        common::run_with(cluster, exhausted(), 1)
    };
    let ran = run(Network::Links);
    assert!(ran.summary.complete && ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    let sent = 0..=u64::from(SENT);
    let of_n1: u64 = sent.clone().map(|sent| sent + 1).sum();
    assert_eq!(of_n1, 1 + 2 + 3 + 4);
    // Each host without a crash, and n2 with one.
    assert_eq!(ran.summary.operations, common::exactly(2 + 1 + of_n1));
    assert_eq!(ran.tally("crashes", "crashes"), 1 + of_n1);
    // A cut before the first message leaves none on the link.
    assert_eq!(ran.tally("links", "cut by crashes"), of_n1 - 1);
    let with_some = sent.filter(|sent| *sent > 0);
    let lengths = with_some.clone().map(|sent| (sent + 1) * (sent + 1)).sum::<u64>();
    assert_eq!(ran.tally("links", "possible lengths"), lengths);
    let in_part = with_some.clone().map(|sent| sent - 1).sum::<u64>();
    assert_eq!(ran.tally("links", "delivered in part"), in_part);
    let lost = with_some.flat_map(|sent| (0..=sent).map(move |arrive| sent - arrive)).sum::<u64>();
    assert_eq!(ran.tally("messages", "lost with their sender"), lost);
    assert_eq!((lengths, in_part, lost), (4 + 9 + 16, 1 + 2, 1 + 3 + 6));
    // Datagrams stay under way, and each may arrive or not later.
    let datagrams = run(Network::Datagrams);
    assert_eq!(datagrams.summary.operations, common::exactly(2 + 1 + 4));
    assert!(datagrams.summary.tallies.iter().all(|group| group.name != "links"), "{datagrams:?}");
}

/// n1 sends a batch of two messages, then notes on its disk that it is sent. If the note is there,
/// n1 never sends it again. n2 keeps what it has of a batch when the link breaks, unless `FORGETS`.
#[derive(Debug)]
struct Batch<const FORGETS: bool> {
    is_noted: bool,
    heard: u32,
    is_broken: bool,
}

impl<const FORGETS: bool> Node for Batch<FORGETS> {
    type Msg = u32;
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let files = host.files();
        let is_noted = files.read_file("/sent").is_ok();
        if host.id() == NodeId(1) && !is_noted {
            host.send(NodeId(2), 1)?;
            host.send(NodeId(2), 2)?;
            files.close(files.open("/sent", OpenFlags::CREATE)?)?;
            files.sync_dir("/")?;
        }
        Ok(Batch { is_noted, heard: 0, is_broken: false })
    }

    fn on_message(&mut self, _from: NodeId, _number: u32, _host: &mut Host<'_, Self>) -> Handled {
        self.heard += 1;
        Ok(())
    }

    fn on_broken_link(&mut self, _peer: NodeId, _host: &mut Host<'_, Self>) -> Handled {
        self.is_broken = true;
        if FORGETS && self.heard < 2 {
            self.heard = 0;
        }
        Ok(())
    }
}

fn batch<const FORGETS: bool>(steps: u32) -> Cluster<Batch<FORGETS>> {
    cluster::<Batch<FORGETS>>("batch", 2)
        .network(Network::Links)
        .faults(FaultBudget { crashes: 1, ..FaultBudget::NONE })
        .steps(steps, 0)
        .strategy("exhaust")
        .always("a batch that is noted is not half there", |world| {
            let is_noted = world.up().any(|node| node.id == NodeId(1) && node.is_noted);
            let is_half = |node: &NodeView<'_, Batch<FORGETS>>| node.is_broken && node.heard == 1;
            !is_noted || !world.up().any(|node| is_half(&node))
        })
}

/// n1 has no other handler than its opening, so only a crash at the end of it is after the note.
/// Then both messages are on the link, and n2 has half of them only if one of them arrives.
#[test]
fn a_part_of_what_was_sent_is_found() {
    let ran = common::run_with(batch::<false>(6), exhausted(), 1);
    assert_eq!(ran.traces.len(), 1, "{ran:?}");
    assert!(ran.found[0].contains("/a-batch-that-is-noted-is-not-half-there "), "{ran:?}");
    let trace: &Trace = &ran.traces[0];
    let link = trace.choices.iter().find(|choice| choice.label.to_string().contains("n1 > n2"));
    assert_eq!(link.unwrap().name.as_deref(), Some("1 of 2 arrive"), "{trace:?}");
    let clean = common::run_with(batch::<true>(6), exhausted(), 1);
    assert!(clean.found.is_empty() && clean.summary.complete, "{clean:?}");
}

/// The story says how much of a link arrives.
#[test]
fn the_story_has_the_part_that_arrives() {
    let text = batch::<false>(6).outcome(exhausted()).expect_err("a batch is half there");
    assert!(text.contains("1 of 2 messages to n2 arrive"), "{text}");
}

/// n1 sends a message at each timer.
struct Ticks {
    sent: u32,
    /// The number of messages before the last handler.
    before: usize,
}

impl Node for Ticks {
    type Msg = ();
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        if host.id() == NodeId(1) {
            host.timer(Timer(0), ms(10));
        }
        Ok(Ticks { sent: 0, before: 0 })
    }

    fn on_timer(&mut self, timer: Timer, host: &mut Host<'_, Self>) -> Handled {
        host.timer(timer, ms(10));
        self.before = self.sent as usize;
        self.sent += 1;
        Ok(host.send(NodeId(2), ())?)
    }

    fn on_message(&mut self, _from: NodeId, (): (), _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }
}

/// A message that was sent across a partition has not left its host, so a crash before the end of
/// the partition loses it. Earlier ones and the news of the crash are under way.
#[test]
fn what_a_partition_holds_dies_with_its_sender() {
    let cluster = cluster::<Ticks>("ticks", 2)
        .network(Network::Links)
        .faults(FaultBudget { crashes: 1, partitions: 1, ..FaultBudget::NONE })
        .steps(6, 0)
        .strategy("exhaust")
        .always("nothing passes a partition", |world| {
            let both = world.did(FaultKind::Partition) && world.did(FaultKind::Crash);
            let before = world.crashed().map_or(0, |node| node.before);
            !both || world.under_way() <= before + 1
        })
        .sometimes("a message was sent in a partition", |world| {
            let sent = world.crashed().is_some_and(|node| node.sent as usize > node.before);
            world.did(FaultKind::Partition) && sent
        });
    let ran = common::run_with(cluster, exhausted(), 1);
    assert!(ran.found.is_empty() && ran.summary.complete, "{ran:?}");
    assert!(ran.tally("reached", "a message was sent in a partition") > 10, "{ran:?}");
}
