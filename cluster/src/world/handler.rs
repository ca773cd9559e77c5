//! A handler of a node: it runs to its end, and its effects then happen, unless the node crashes.

use std::rc::Rc;

use explode_runtime::base::catch_panic;
use explode_runtime::choose::ChoiceKind;
use explode_runtime::verdict::{Verdict, Violation};

use super::event::Input;
use super::handler_run::HandlerRun;
use super::story::{MOST, effects_in_words, short};
use super::world::World;
use crate::ask::{Ask, Question};
use crate::clock::Time;
use crate::disk::{CallNote, FailingCalls, HandlerCut};
use crate::fault::{FaultKind, HostDiskCondition};
use crate::network::Packet;
use crate::node::{CallId, Effect, Host, HostParts, Node, NodeId};

/// The number of calls on files in a handler among which one is made to fail.
const CALLS: u32 = 8;

impl<N: Node> World<'_, N> {
    /// Runs a handler, and lets its effects happen. The node may crash in it.
    pub(super) fn handle(
        &mut self,
        node: NodeId,
        input: Input<N>,
        ask: &mut dyn Ask,
    ) -> Result<(), Violation> {
        let _span = ask.has_texts().then(|| input.span(self.step, node).entered());
        let is_open = matches!(input, Input::Open);
        if is_open && !self.was_open[node.index()] {
            self.set_clock(node, ask);
        }
        if let Some(story) = &mut self.story {
            story.say(node, &short(&input.words(), MOST));
        }
        let failing = self.failing_calls(node, ask);
        let crashes = self.left.crashes;
        let crashes = self.happens(FaultKind::Crash, crashes, "node", ["runs", "crashes"], ask);
        let run = self.run_handler(node, input, failing, ask);
        if run.has_failed {
            self.has_failed(node, failing);
        }
        if let Some(refused) = &run.refused {
            let message = format!("{node}: {refused}");
            return Err(Violation::new(Verdict::Broken, "refused", message));
        }
        let failed = match &run.result {
            Ok(Ok(())) => None,
            Ok(Err(error)) if run.has_failed => Some(error.to_string()),
            Ok(Err(error)) => return Err(self.failed(node, is_open, &error.to_string())),
            Err(panic) => return Err(self.panicked(node, panic)),
        };
        if crashes {
            self.left.crashes -= 1;
            return self.crash(node, is_open, run, ask);
        }
        if let Some(error) = failed {
            if let Some(story) = &mut self.story {
                story.say(node, &format!("stops: {error}"));
            }
            if is_open && self.conditions[node.index()] == HostDiskCondition::Fails {
                self.conditions[node.index()] = HostDiskCondition::OutOfService;
            }
            return self.crash_at_end(node, is_open, run, ask);
        }
        self.was_open[node.index()] = true;
        self.take_effect(node, run, ask)
    }

    /// Chooses the calls on files that fail in a handler.
    fn failing_calls(&self, node: NodeId, ask: &mut dyn Ask) -> FailingCalls {
        if self.conditions[node.index()] != HostDiskCondition::Works {
            return FailingCalls::From(0);
        }
        let at = Question::data(ChoiceKind::Input, CALLS, "failing call");
        let errors = self.left.io_errors;
        if self.happens(FaultKind::IoError, errors, "I/O", ["works", "fails"], ask) {
            return FailingCalls::One(ask.ask(&at));
        }
        let disks = self.left.bad_disks;
        if self.happens(FaultKind::BadDisk, disks, "medium", ["works", "fails for good"], ask) {
            return FailingCalls::From(ask.ask(&at));
        }
        FailingCalls::Never
    }

    /// Notes that calls on files have failed in a handler.
    fn has_failed(&mut self, node: NodeId, failing: FailingCalls) {
        let fault = match failing {
            FailingCalls::One(_) => {
                self.left.io_errors -= 1;
                self.counts.io_errors += 1;
                FaultKind::IoError
            }
            _ if self.conditions[node.index()] != HostDiskCondition::Works => return,
            _ => {
                self.conditions[node.index()] = HostDiskCondition::Fails;
                self.left.bad_disks -= 1;
                self.counts.bad_disks += 1;
                FaultKind::BadDisk
            }
        };
        self.faults.push(fault);
        if let Some(story) = &mut self.story {
            story.say(
                node,
                match fault {
                    FaultKind::BadDisk => "the disk fails from here on",
                    _ => "a call on the disk fails",
                },
            );
        }
    }

    /// Runs a handler to its end, in which some calls on files fail.
    fn run_handler(
        &mut self,
        node: NodeId,
        input: Input<N>,
        failing: FailingCalls,
        ask: &mut dyn Ask,
    ) -> HandlerRun<N> {
        let index = node.index();
        let (effects, timers) =
            (std::mem::take(&mut self.effects), std::mem::take(&mut self.set_timers));
        let calls = Rc::clone(self.disks[index].files().calls());
        calls.fail(failing);
        if self.story.is_some() {
            calls.note();
        }
        let parts = HostParts {
            id: node,
            hosts: self.nodes.len(),
            disk: &self.disks[index],
            now: self.now,
            clock: self.clocks[index],
            rule: &self.setup.clock,
            ask,
            room: self.network.room(node, self.nodes.len()),
        };
        let begin = self.disks[index].logged();
        let mut host = Host::new(parts, effects, timers);
        let place = &mut self.nodes[index];
        let handler = || match (input, place.as_mut()) {
            (Input::Open, _) => {
                *place = Some(N::open(&mut host)?);
                Ok(())
            }
            (Input::Message(from, msg), Some(node)) => node.on_message(from, msg, &mut host),
            (Input::BrokenLink(peer), Some(node)) => node.on_broken_link(peer, &mut host),
            (Input::Timer(timer), Some(node)) => node.on_timer(timer, &mut host),
            (Input::Call(_, id, call), Some(node)) => node.on_call(id, call, &mut host),
            (_, None) => Ok(()),
        };
        let (result, refused) = self.disks[index].enter(|| catch_panic(handler));
        let Host { effects, timers, .. } = host;
        let has_failed = calls.has_failed();
        calls.fail(FailingCalls::Never);
        let notes = calls.take_notes();
        let events = self.disks[index].take_log();
        HandlerRun {
            events,
            notes: of_handler(notes, begin),
            effects,
            timers,
            has_failed,
            refused,
            result,
        }
    }

    /// Lets all effects of a handler happen.
    fn take_effect(
        &mut self,
        node: NodeId,
        run: HandlerRun<N>,
        ask: &mut dyn Ask,
    ) -> Result<(), Violation> {
        self.tell_effects(node, &run, None);
        let HandlerRun { events, mut effects, mut timers, .. } = run;
        self.disks[node.index()].add(events).map_err(broken_log)?;
        for (_, effect) in effects.drain(..) {
            self.effect(node, effect, ask)?;
        }
        for (timer, due) in timers.drain(..) {
            let timers = &mut self.timers[node.index()];
            match due {
                Some(due) => timers.insert(timer, due),
                None => timers.remove(&timer),
            };
        }
        (self.effects, self.set_timers) = (effects, timers);
        Ok(())
    }

    /// Lets one effect happen.
    pub(super) fn effect(
        &mut self,
        node: NodeId,
        effect: Effect<N>,
        ask: &mut dyn Ask,
    ) -> Result<(), Violation> {
        match effect {
            Effect::Sent(to, msg) => {
                let due = self.arrival(node, ask);
                self.sent += 1;
                let number = self.sent;
                self.network.send(Packet {
                    from: node,
                    to,
                    due,
                    number,
                    msg: Some(Box::new(msg)),
                    is_held: false,
                });
                if let Some(story) = &mut self.story {
                    story.sends(number);
                }
            }
            Effect::Replied(call, reply) => {
                if let Some(client) = self.history.reply(call, reply) {
                    self.counts.replies += 1;
                    self.answered.push(call);
                    self.goes_on(client, call);
                }
            }
            Effect::Refused(call) => {
                if let Some(client) = self.history.refuse(call) {
                    self.clients[client].left += 1;
                    self.goes_on(client, call);
                }
            }
            Effect::Fact(fact, values) => self.fact(node, fact, &values)?,
        }
        Ok(())
    }

    /// Lets a client go on that waits for this call.
    fn goes_on(&mut self, client: usize, call: CallId) {
        let waits = &mut self.clients[client].waits;
        if waits.as_ref().is_some_and(|waits| waits.call == call) {
            *waits = None;
        }
    }

    /// Returns the time at which a message arrives that is sent now.
    fn arrival(&self, from: NodeId, ask: &mut dyn Ask) -> Time {
        let latencies = self.setup.clock.latencies();
        if latencies.is_empty() {
            return self.now;
        }
        let name = |option: u32| format!("{} ms", latencies[option as usize].as_millis());
        let question = Question::data(ChoiceKind::NetDelivery, latencies.len() as u32, "latency");
        let question = Question { node: Some(&from), name: Some(&name), ..question };
        self.now + latencies[ask.ask(&question) as usize]
    }

    /// Tells what a handler has done, or what of it has happened before a cut.
    pub(super) fn tell_effects(
        &mut self,
        node: NodeId,
        run: &HandlerRun<N>,
        cut: Option<HandlerCut>,
    ) {
        let Some(story) = &mut self.story else { return };
        let sim = self.disks[node.index()].files().sim();
        let describe = |dev, sector| sim.describe_sector(dev, sector);
        let words = effects_in_words(run, &describe, cut);
        words.iter().for_each(|text| story.say(node, text));
    }

    fn failed(&self, node: NodeId, is_open: bool, error: &str) -> Violation {
        let message = format!("{node} failed: {error}");
        if is_open && self.was_open[node.index()] {
            return Violation::new(Verdict::RecoverFailed, "open", message);
        }
        Violation::new(Verdict::CheckFailed, "error", message)
    }

    fn panicked(&self, node: NodeId, panic: &str) -> Violation {
        Violation::new(Verdict::CheckFailed, "panic", format!("{node} {panic}"))
    }
}

/// Returns notes with the numbers of events of the handler that began after `begin` events.
fn of_handler(mut notes: Vec<CallNote>, begin: u64) -> Vec<CallNote> {
    for CallNote { events, .. } in &mut notes {
        *events = events.start - begin..events.end - begin;
    }
    notes
}

/// Returns the violation for a log that contradicts itself, which the files never make.
pub(super) fn broken_log(error: explode_runtime::base::StepError) -> Violation {
    Violation::new(Verdict::Broken, "log", error.to_string())
}
