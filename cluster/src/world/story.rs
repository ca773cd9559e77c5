//! The story of a walk, as a table of hosts by steps.

use explode_ramdisk::Event;
use explode_runtime::events::HostEvent;

use super::handler_run::HandlerRun;
use crate::clock::Time;
use crate::disk::HandlerCut;
use crate::node::{Effect, Node, NodeId};

/// The number of columns of a host. A text may reach into the columns of the hosts after it,
/// because one host acts in a step.
const COLUMN: usize = 10;
/// The largest number of characters of a message or a call.
pub(super) const MOST: usize = 60;
/// The name of the network among the hosts, for events that no host makes.
const NETWORK: &str = "network";
/// The number of columns after which a row continues on a new line.
const ROW: usize = 110;

/// The rows so far.
#[derive(Debug)]
pub(super) struct Story {
    hosts: usize,
    rows: Vec<StoryRow>,
}

#[derive(Debug)]
struct StoryRow {
    step: u32,
    now: Time,
    /// The host that acts, and what it does. `None` before it does anything.
    node: Option<NodeId>,
    texts: Vec<String>,
    /// The number of the message that arrives.
    received: Option<u64>,
    /// The numbers of the messages that are sent.
    sent: Vec<u64>,
}

impl Story {
    pub fn new(hosts: usize) -> Story {
        Story { hosts, rows: Vec::new() }
    }

    /// Begins a step.
    pub fn begin(&mut self, step: u32, now: Time) {
        let (texts, sent) = (Vec::new(), Vec::new());
        self.rows.push(StoryRow { step, now, node: None, texts, received: None, sent });
    }

    /// Adds what a host does in the present step.
    pub fn say(&mut self, node: NodeId, text: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.node = Some(node);
            row.texts.push(text.to_owned());
        }
    }

    /// Adds what happens to all hosts in the present step.
    pub fn say_of_all(&mut self, text: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.texts.push(text.to_owned());
        }
    }

    /// Notes the message that arrives in the present step. A number of 0 is no message.
    pub fn receives(&mut self, number: u64) {
        if let Some(row) = self.rows.last_mut() {
            row.received = (number > 0).then_some(number);
        }
    }

    /// Notes a message that is sent in the present step.
    pub fn sends(&mut self, number: u64) {
        if let Some(row) = self.rows.last_mut() {
            row.sent.push(number);
        }
    }

    /// Returns the steps as events of hosts.
    pub fn events(&self) -> Vec<HostEvent> {
        self.rows.iter().map(StoryRow::event).collect()
    }

    /// Returns the table, with a line of headings.
    pub fn lines(&self) -> Vec<String> {
        let names: String = (0..self.hosts)
            .map(|host| format!("{:COLUMN$}", NodeId::at(host).to_string()))
            .collect();
        let heading = format!("{:>5} {:>6}  {}", "step", "ms", names.trim_end());
        std::iter::once(heading).chain(self.rows.iter().flat_map(StoryRow::lines)).collect()
    }
}

impl StoryRow {
    fn event(&self) -> HostEvent {
        HostEvent {
            host: self.node.map_or_else(|| NETWORK.to_owned(), |node| node.to_string()),
            nanos: self.now.0,
            parts: self.texts.clone(),
            received: self.received,
            sent: self.sent.clone(),
        }
    }

    /// Returns the lines of the row. A text that does not fit begins a new line.
    fn lines(&self) -> Vec<String> {
        let before = self.node.map_or(0, |node| node.index() * COLUMN);
        let head = format!("{:>5} {:>6}  {:before$}", self.step, self.now.as_millis(), "");
        let mut lines = vec![head.clone()];
        let mut is_first = true;
        for text in &self.texts {
            let line = lines.last_mut().expect("there is a first line");
            if !is_first && line.len() + text.len() > ROW {
                lines.push(format!("{:width$}  {text}", "", width = head.len()));
                continue;
            }
            line.push_str(if is_first { "" } else { "; " });
            line.push_str(text);
            is_first = false;
        }
        lines
    }
}

/// The mark of a cut.
const CUT: &str = "| CUT |";

/// Returns a text of at most `most` characters, and an ellipsis.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the effects of a handler in words, in order. `cut` marks the moment of a crash: what is
/// after it did not happen.
pub(super) fn effects_in_words<N: Node>(
    run: &HandlerRun<N>,
    describe: &dyn Fn(u32, u64) -> Option<String>,
    cut: Option<HandlerCut>,
) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut next = run.effects.iter().enumerate().peekable();
    for index in 0..=run.events.len() {
        while let Some((at, (_, effect))) = next.next_if(|(_, (before, _))| *before <= index) {
            if cut == Some(HandlerCut { events: index, effects: at }) {
                words.push(CUT.to_owned());
            }
            words.push(effect_in_words(effect));
        }
        let happened = run.effects.iter().take_while(|(before, _)| *before <= index).count();
        let is_cut = cut == Some(HandlerCut { events: index, effects: happened });
        if is_cut {
            words.push(CUT.to_owned());
        }
        let at = index as u64;
        let text = match run.notes.iter().find(|note| note.events.contains(&at)) {
            Some(note) if note.events.start == at => Some(note.text.clone()),
            // The rest of a call that a crash has cut.
            Some(note) if is_cut => Some(format!("the rest of: {}", note.text)),
            Some(_) => None,
            None => run.events.get(index).and_then(|event| event_in_words(event, describe)),
        };
        words.extend(text.filter(|text| words.last() != Some(text)));
    }
    words
}

fn effect_in_words<N: Node>(effect: &Effect<N>) -> String {
    match effect {
        Effect::Sent(to, msg) => format!("> {} to {to}", short(&format!("{msg:?}"), MOST / 2)),
        Effect::Replied(call, reply) => format!("replies {reply:?} to call {}", call.0),
        Effect::Refused(call) => format!("refuses call {}", call.0),
        Effect::Fact(fact, values) => format!("{fact} {values:?}"),
    }
}

/// Returns an event on the disk in words. `None` if it is part of another.
fn event_in_words(event: &Event, describe: &dyn Fn(u32, u64) -> Option<String>) -> Option<String> {
    match event {
        Event::Dirty { dev, sector, .. } => {
            let place = describe(*dev, *sector).unwrap_or_else(|| format!("device {dev}"));
            Some(format!("writes {place}"))
        }
        Event::Append { dev, sector, .. } => {
            let place = describe(*dev, *sector).unwrap_or_else(|| format!("device {dev}"));
            Some(format!("appends to {place}"))
        }
        Event::Flush { .. } => Some("sync".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_the_column_of_its_host() {
        let mut story = Story::new(3);
        story.begin(7, Time(5_000_000));
        story.say(NodeId(2), "timer");
        story.say(NodeId(2), "sync");
        assert_eq!(
            story.lines(),
            ["step".to_owned(), "7".to_owned()].map(|step| match &*step {
                "7" => "    7      5            timer; sync".to_owned(),
                _ => " step     ms  n1        n2        n3".to_owned(),
            })
        );
    }
}
