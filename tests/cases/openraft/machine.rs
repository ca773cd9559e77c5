//! A state machine that keeps only the place up to which it has applied the log. It is in memory:
//! after a crash openraft applies the log again.

use std::io::Cursor;

use openraft::storage::RaftStateMachine;
use openraft::{
    EmptyNode, Entry, EntryPayload, LogId, RaftSnapshotBuilder, Snapshot, SnapshotMeta,
    StorageError, StoredMembership,
};

use super::Types;

#[derive(Clone, Default)]
pub struct Machine {
    applied: Option<LogId<u64>>,
    members: StoredMembership<u64, EmptyNode>,
}

impl RaftSnapshotBuilder<Types> for Machine {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError<u64>> {
        let meta = SnapshotMeta {
            last_log_id: self.applied,
            last_membership: self.members.clone(),
            snapshot_id: String::new(),
        };
        Ok(Snapshot { meta, snapshot: Box::default() })
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotBuilder = Machine;

    async fn applied_state(
        &mut self,
    ) -> Result<(Option<LogId<u64>>, StoredMembership<u64, EmptyNode>), StorageError<u64>> {
        Ok((self.applied, self.members.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<()>, StorageError<u64>>
    where
        I: IntoIterator<Item = Entry<Types>> + Send,
        I::IntoIter: Send,
    {
        let mut count = 0;
        for entry in entries {
            self.applied = Some(entry.log_id);
            if let EntryPayload::Membership(members) = entry.payload {
                self.members = StoredMembership::new(Some(entry.log_id), members);
            }
            count += 1;
        }
        Ok(vec![(); count])
    }

    async fn get_snapshot_builder(&mut self) -> Machine {
        self.clone()
    }

    async fn begin_receiving_snapshot(
        &mut self,
    ) -> Result<Box<Cursor<Vec<u8>>>, StorageError<u64>> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta<u64, EmptyNode>,
        _: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError<u64>> {
        (self.applied, self.members) = (meta.last_log_id, meta.last_membership.clone());
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError<u64>> {
        Ok(None)
    }
}
