//! A crash of a node: its handler is cut at some moment, and of the pieces that are pending then
//! one legal disk is left.

use explode_runtime::choose::ChoiceKind;
use explode_runtime::crash::{BuiltDisk, DiskNumbers, SampleLimits, SampleSeed};
use explode_runtime::verdict::Violation;
use num_bigint::BigUint;
use tracing::debug_span;

use super::handler::broken_log;
use super::handler_run::HandlerRun;
use super::world::World;
use crate::ask::{Ask, Question};
use crate::disk::{CutDisks, HandlerCut, HostDisk, piece_names};
use crate::fault::FaultKind;
use crate::network::{Network, OnLink};
use crate::node::{Node, NodeId};

impl<N: Node> World<'_, N> {
    /// Crashes a node in a handler, which is cut at a chosen moment.
    pub(super) fn crash(
        &mut self,
        node: NodeId,
        is_open: bool,
        run: HandlerRun<N>,
        ask: &mut dyn Ask,
    ) -> Result<(), Violation> {
        let before: Vec<usize> = run.effects.iter().map(|(before, _)| *before).collect();
        let disk = &self.disks[node.index()];
        let cuts = disk.cuts(&run.events, &before).map_err(broken_log)?;
        let all = disk.count(&cuts, &run.events).map_err(broken_log)?;
        self.counts.crashes += 1;
        self.counts.in_recovery += u64::from(is_open && self.was_open[node.index()]);
        let name = |option: u32| cut_name(&cuts, option);
        let question = Question::data(ChoiceKind::NodeCrash, cuts.len() as u32, "cut");
        let at = ask.ask(&Question { node: Some(&node), name: Some(&name), ..question });
        let place = format!("cut {} of {}", at + 1, cuts.len());
        self.cut(node, run, cuts[at as usize], (&all, &place), ask)
    }

    /// Crashes a node at the end of a handler.
    pub(super) fn crash_at_end(
        &mut self,
        node: NodeId,
        is_open: bool,
        run: HandlerRun<N>,
        ask: &mut dyn Ask,
    ) -> Result<(), Violation> {
        let cut = HandlerCut { events: run.events.len(), effects: run.effects.len() };
        let all = self.disks[node.index()].count(&[cut], &run.events).map_err(broken_log)?;
        self.counts.crashes += 1;
        self.counts.in_recovery += u64::from(is_open && self.was_open[node.index()]);
        self.cut(node, run, cut, (&all, "at its end"), ask)
    }

    /// Crashes a node at a moment of its handler, from which one disk is left. `all` is the number
    /// of disks of all moments.
    fn cut(
        &mut self,
        node: NodeId,
        run: HandlerRun<N>,
        cut: HandlerCut,
        (all, place): (&BigUint, &str),
        ask: &mut dyn Ask,
    ) -> Result<(), Violation> {
        let _span = debug_span!("crash", disks = %all).entered();
        let index = node.index();
        self.counts.disks += all;
        self.faults.push(FaultKind::Crash);
        let disk = &self.disks[index];
        let left = disk.at(cut, &run.events).map_err(broken_log)?;
        let seed = SampleSeed { choices: self.step.into(), ..self.limits.sample.seed };
        let limits = SampleLimits { seed, ..self.limits.sample };
        let numbers = left.disks.numbers(&limits, self.counts.crashes);
        self.counts.left_out += left.disks.count() - numbers.len();
        let question = Question::data(ChoiceKind::CrashDisk, numbers.len() as u32, "disk");
        let option = ask.ask(&Question { node: Some(&node), ..question });
        let built = left.disks.build(&numbers.at(order(option.into(), numbers.len())));
        self.tell_crash(node, &run, &left, (place, option, &numbers), &built);
        self.disks[index].fence();
        let crashed = self.nodes[index].take();
        let rules = self.limits.rules;
        self.disks[index] =
            HostDisk::new(&node.to_string(), built.image, rules).map_err(broken_log)?;
        self.timers[index].clear();
        for client in &mut self.clients {
            if let Some(waits) = client.waits.as_mut().filter(|waits| waits.node == node) {
                waits.is_hopeless = true;
            }
        }
        let mut effects = run.effects;
        effects.truncate(cut.effects);
        for (_, effect) in effects {
            self.effect(node, effect, ask)?;
        }
        self.break_links(node, ask);
        self.crashed = Some((node, crashed));
        Ok(())
    }

    /// Breaks the links of a host that has crashed. Of the messages on each of them a chosen number
    /// of first ones arrives.
    fn break_links(&mut self, node: NodeId, ask: &mut dyn Ask) {
        if self.setup.network == Network::Datagrams {
            return;
        }
        let mut arrive = vec![0; self.nodes.len()];
        for (index, arrive) in arrive.iter_mut().enumerate() {
            let to = NodeId::at(index);
            let OnLink { left, all } = self.network.on_link(node, to);
            if all == 0 || to == node {
                continue;
            }
            let name = |option: u32| format!("{option} of {all} arrive");
            let link = format!("{node} > {to}");
            let question = Question::data(ChoiceKind::NetDrop, left + 1, "link");
            *arrive = ask.ask(&Question { node: Some(&link), name: Some(&name), ..question });
            self.counts.links.cut(*arrive, left, all);
            if let Some(story) = &mut self.story {
                story.say(node, &format!("{arrive} of {all} messages to {to} arrive"));
            }
        }
        self.network.crashed(node, &arrive, self.now);
    }

    fn tell_crash(
        &mut self,
        node: NodeId,
        run: &HandlerRun<N>,
        left: &CutDisks,
        (place, option, numbers): (&str, u32, &DiskNumbers),
        built: &BuiltDisk,
    ) {
        if self.story.is_none() {
            return;
        }
        self.tell_effects(node, run, Some(left.cut));
        let lost = self.disks[node.index()].lost(left, &piece_names(&built.kept));
        let lost = if lost.is_empty() {
            "nothing lost".to_owned()
        } else {
            format!("lost {}", lost.join(", "))
        };
        let disks = numbers.len();
        if let Some(story) = &mut self.story {
            story.say(node, &format!("CRASH, {place}; disk {} of {disks}: {lost}", option + 1));
        }
    }
}

/// Returns the place of an option in the order of disks: everything kept first, then nothing kept,
/// then the others in order.
fn order(option: u64, disks: u64) -> u64 {
    match option {
        0 => disks - 1,
        later => later - 1,
    }
}

fn cut_name(cuts: &[HandlerCut], option: u32) -> String {
    let HandlerCut { events, effects } = cuts[option as usize];
    if option == 0 {
        return "at its end".to_owned();
    }
    format!("after {events} events on the disk and {effects} other effects")
}
