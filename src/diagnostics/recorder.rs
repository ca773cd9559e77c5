//! A recorder of spans and events.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use explode_runtime::worker::{Field, Span};
use tracing::field::Visit;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// The field of a span that happens on a simulated host.
const HOST: &str = "host";

/// A layer that keeps each span when it closes, and each event, until they are taken.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The thread of each lane, and the host if the lane is one of a simulated host.
    lanes: Vec<(ThreadId, Option<String>)>,
    spans: Vec<Span>,
}

impl Kept {
    /// Returns the number of a lane.
    fn lane(&mut self, lane: (ThreadId, Option<String>)) -> u32 {
        let known = self.lanes.iter().position(|other| *other == lane);
        known.unwrap_or_else(|| {
            self.lanes.push(lane);
            self.lanes.len() - 1
        }) as u32
    }
}

/// A span that has not closed yet.
struct Open {
    lane: u32,
    begin: u64,
    fields: Vec<(String, Field)>,
}

impl Recorder {
    /// Returns a recorder with this clock, in nanoseconds.
    pub fn new(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Recorder {
        Recorder(Arc::new(Shared { clock: Box::new(clock), kept: Mutex::default() }))
    }

    /// Returns a recorder with the monotonic clock, which starts at zero now.
    pub fn of_now() -> Recorder {
        let begin = Instant::now();
        Recorder::new(move || begin.elapsed().as_nanos() as u64)
    }

    /// Returns the time of its clock, in nanoseconds.
    pub fn now(&self) -> u64 {
        (self.0.clock)()
    }

    /// Returns the spans that have closed since the last call, if there are at least `least`.
    pub fn take(&self, least: usize) -> Vec<Span> {
        let mut kept = self.kept();
        if kept.spans.len() < least { Vec::new() } else { std::mem::take(&mut kept.spans) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a span that begins now. It is in the lane of the span around it, without one in that
    /// of its thread. A simulated host has a lane of its own there.
    fn begin(&self, around: Option<u32>, record: impl FnOnce(&mut Fields<'_>)) -> Open {
        let (begin, mut fields) = (self.now(), Vec::new());
        record(&mut Fields(&mut fields));
        let host = host(&fields).map(str::to_owned);
        let mut kept = self.kept();
        let lane = match (around, host) {
            (Some(lane), None) => lane,
            (around, host) => {
                let thread = around.and_then(|lane| kept.lanes.get(lane as usize));
                let thread = thread.map_or_else(|| thread::current().id(), |(thread, _)| *thread);
                kept.lane((thread, host))
            }
        };
        Open { lane, begin, fields }
    }

    fn keep(&self, name: &str, open: Open, nanos: Option<u64>) {
        let Open { lane, begin, fields } = open;
        self.kept().spans.push(Span { name: name.to_owned(), lane, begin, nanos, fields });
    }
}

/// Returns the simulated host that a span names.
pub fn host(fields: &[(String, Field)]) -> Option<&str> {
    fields.iter().find_map(|(name, value)| match value {
        Field::Text(host) if name == HOST => Some(&**host),
        _ => None,
    })
}

/// Returns the lane of a span that has not closed yet.
fn lane_of<S: for<'a> LookupSpan<'a>>(span: &SpanRef<'_, S>) -> Option<u32> {
    span.extensions().get::<Open>().map(|open| open.lane)
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let around = span.parent().and_then(|around| lane_of(&around));
        let open = self.begin(around, |fields| attributes.record(fields));
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id);
        let mut extensions = span.as_ref().map(|span| span.extensions_mut());
        let open = extensions.as_mut().and_then(|extensions| extensions.get_mut::<Open>());
        open.into_iter().for_each(|open| values.record(&mut Fields(&mut open.fields)));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let around = context.event_span(event).and_then(|around| lane_of(&around));
        let mut open = self.begin(around, |fields| event.record(fields));
        let is_message = |(name, _): &(String, Field)| name == "message";
        let message = open.fields.iter().position(is_message).map(|at| open.fields.remove(at).1);
        let name = match message {
            Some(Field::Text(text)) => text,
            _ => event.metadata().name().to_owned(),
        };
        self.keep(&name, open, None);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let end = self.now();
        let Some(span) = context.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<Open>() else { return };
        let nanos = end.saturating_sub(open.begin);
        self.keep(span.name(), open, Some(nanos));
    }
}

/// Appends recorded values to the fields of a span.
struct Fields<'a>(&'a mut Vec<(String, Field)>);

impl Fields<'_> {
    fn add(&mut self, field: &tracing::field::Field, value: Field) {
        self.0.push((field.name().to_owned(), value));
    }
}

impl Visit for Fields<'_> {
    fn record_u64(&mut self, field: &tracing::field::Field, value: u64) {
        self.add(field, Field::Number(value));
    }

    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        self.add(field, Field::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        self.add(field, Field::Text(format!("{value:?}")));
    }
}
