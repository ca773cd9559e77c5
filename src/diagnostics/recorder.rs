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
use tracing_subscriber::registry::LookupSpan;

/// A layer that keeps each span when it closes, and each event, until they are taken.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The thread of each lane.
    lanes: Vec<ThreadId>,
    spans: Vec<Span>,
}

/// A span that has not closed yet.
struct Open {
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

    fn keep(&self, name: &str, open: Open, nanos: Option<u64>) {
        let thread = thread::current().id();
        let mut kept = self.kept();
        let known = kept.lanes.iter().position(|lane| *lane == thread);
        let lane = known.unwrap_or_else(|| {
            kept.lanes.push(thread);
            kept.lanes.len() - 1
        }) as u32;
        let Open { begin, fields } = open;
        kept.spans.push(Span { name: name.to_owned(), lane, begin, nanos, fields });
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut open = Open { begin: self.now(), fields: Vec::new() };
        attributes.record(&mut Fields(&mut open.fields));
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(open);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id);
        let mut extensions = span.as_ref().map(|span| span.extensions_mut());
        let open = extensions.as_mut().and_then(|extensions| extensions.get_mut::<Open>());
        open.into_iter().for_each(|open| values.record(&mut Fields(&mut open.fields)));
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut open = Open { begin: self.now(), fields: Vec::new() };
        event.record(&mut Fields(&mut open.fields));
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
