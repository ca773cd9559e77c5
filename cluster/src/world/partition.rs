//! Partitions: the hosts are parted into two groups for some time.

use explode_runtime::choose::ChoiceKind;

use super::world::World;
use crate::ask::{Ask, Question};
use crate::fault::FaultKind;
use crate::node::{Node, NodeId};

/// The weights of staying parted for another step, and of healing.
const HEALS: [u32; 2] = [63, 1];

impl<N: Node> World<'_, N> {
    /// Begins a partition, or ends the present one. The last steps of a walk have none.
    pub(super) fn change_partition(&mut self, ask: &mut dyn Ask) {
        if self.allowed.partitions == 0 {
            return;
        }
        if self.network.parted().is_some() {
            let name = |option: u32| ["stays", "heals"][option as usize].to_owned();
            let heals = || Question::rarely(ChoiceKind::NetDrop, "partition", &HEALS, &name);
            if self.is_tail() || ask.ask(&heals()) == 1 {
                self.network.heal();
                self.tell_all("the partition ends");
            }
            return;
        }
        let left = self.left.partitions;
        if !self.happens(FaultKind::Partition, left, "partition", ["none", "begins"], ask) {
            return;
        }
        let hosts = self.nodes.len();
        // The last host is always in the second group, and the first group is never empty.
        let groups = (1_u32 << (hosts - 1)) - 1;
        let name = |option: u32| group_name(u64::from(option) + 1, hosts);
        let question = Question::data(ChoiceKind::NetDrop, groups, "groups");
        let group = u64::from(ask.ask(&Question { name: Some(&name), ..question })) + 1;
        self.left.partitions -= 1;
        self.counts.partitions += 1;
        self.faults.push(FaultKind::Partition);
        self.counts.dropped += self.network.part(group) as u64;
        self.tell_all(&format!("PARTITION: {}", group_name(group, hosts)));
    }

    fn tell_all(&mut self, text: &str) {
        let (step, now) = (self.step, self.now);
        if let Some(story) = &mut self.story {
            story.begin(step, now);
            story.say_of_all(text);
        }
    }
}

/// Returns the groups of a partition.
fn group_name(group: u64, hosts: usize) -> String {
    let of = |bit: u64| {
        let members = (0..hosts).filter(|host| group >> host & 1 == bit);
        members.map(|host| NodeId::at(host).to_string()).collect::<Vec<_>>().join(" ")
    };
    format!("{} | {}", of(1), of(0))
}
