//! Properties: what must hold after each step, and at the end of a walk.

use explode_runtime::verdict::{Verdict, Violation};

use super::world::World;
use crate::node::{Node, NodeId};
use crate::view::View;

/// Returns the name of a property as one word, for signatures.
fn word(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

impl<N: Node> World<'_, N> {
    /// Returns the view of this moment.
    pub(super) fn view(&self) -> View<'_, N> {
        View {
            nodes: &self.nodes,
            history: &self.history,
            crashed: self.crashed.as_ref(),
            faults: &self.faults,
            now: self.now,
            under_way: self.network.packets().len(),
            is_parted: self.network.parted().is_some(),
        }
    }

    /// Checks what must hold after each step, and notes what has been reached.
    pub(super) fn check(&mut self) -> Result<(), Violation> {
        for (name, holds) in &self.setup.always {
            if !holds(&self.view()) {
                let message = format!("'{name}' does not hold after step {}", self.step);
                return Err(Violation::new(Verdict::CheckFailed, word(name), message));
            }
        }
        for call in &self.answered {
            let call = &self.history.calls()[call.0 as usize].call;
            for (name, wrong) in &self.setup.histories {
                if let Some(message) = wrong(&self.history, Some(call)) {
                    return Err(Violation::new(Verdict::Corrupt, word(name), message));
                }
            }
        }
        for at in 0..self.reached.len() {
            self.reached[at] = self.reached[at] || self.setup.sometimes[at].1(&self.view());
        }
        Ok(())
    }

    /// Passes a fact to the monitors.
    pub(super) fn fact(
        &mut self,
        node: NodeId,
        fact: &'static str,
        values: &[u64],
    ) -> Result<(), Violation> {
        for ((name, _), monitor) in self.setup.monitors.iter().zip(&mut self.monitors) {
            monitor
                .on(node, fact, values)
                .map_err(|message| Violation::new(Verdict::CheckFailed, word(name), message))?;
        }
        Ok(())
    }

    /// Checks a world in which nothing can happen any more. What must hold in the end, and does
    /// not, never will.
    pub(super) fn stuck(&self) -> Result<(), Violation> {
        for (name, holds) in &self.setup.eventually {
            if !holds(&self.view()) {
                let message = format!(
                    "nothing can happen after step {}, and '{name}' does not hold",
                    self.step - 1
                );
                return Err(Violation::new(Verdict::Hang, word(name), message));
            }
        }
        Ok(())
    }

    /// Returns the names of what must hold in the end, and does not hold now.
    pub fn undecided(&self) -> impl Iterator<Item = &str> {
        let open = self.setup.eventually.iter().filter(|(_, holds)| !holds(&self.view()));
        open.map(|(name, _)| name.as_str())
    }

    /// Returns each `sometimes` by its name, with true if the walk has reached it.
    pub fn reached(&self) -> impl Iterator<Item = (&str, bool)> {
        let names = self.setup.sometimes.iter().map(|(name, _)| name.as_str());
        names.zip(self.reached.iter().copied())
    }
}
