//! A node: openraft with its log on the host's disk.

use std::rc::Rc;
use std::sync::Arc;

use explode_cluster::prelude::*;
use openraft::error::{ClientWriteError, RaftError};
use openraft::{Config, EmptyNode, Raft, SnapshotPolicy};

use super::Types;
use super::log::Log;
use super::machine::Machine;
use super::network::{Links, Msg};

pub struct Server<const SYNCS_VOTES: bool> {
    host: AsyncHost<Self>,
    raft: Raft<Types>,
    pub log: Log<SYNCS_VOTES>,
}

impl<const SYNCS_VOTES: bool> AsyncNode for Server<SYNCS_VOTES> {
    type Msg = Msg;
    type Call = u64;
    type Reply = ();

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        let config = Config { snapshot_policy: SnapshotPolicy::Never, ..Config::default() };
        let config = Arc::new(config.validate()?);
        let log = Log::open(host)?;
        let id = host.id().0.into();
        let raft = Raft::new(id, config, Links(host), log.clone(), Machine::default()).await?;
        if host.id() == NodeId(1) && !raft.is_initialized().await? {
            let members = host.nodes().map(|node| (u64::from(node.0), EmptyNode {}));
            raft.initialize(members.collect::<std::collections::BTreeMap<_, _>>()).await?;
        }
        Ok(Server { host, raft, log })
    }

    async fn on_request(self: Rc<Self>, _: NodeId, msg: Msg) -> Handled<Msg> {
        Ok(match msg {
            Msg::Append(rpc) => Msg::Appended(self.raft.append_entries(rpc).await.map(Arc::new)),
            Msg::Vote(rpc) => Msg::Voted(self.raft.vote(rpc).await),
            other => return Err(format!("{other:?} is no request").into()),
        })
    }

    async fn on_call(self: Rc<Self>, call: CallId, value: u64) -> Handled {
        match self.raft.client_write(value).await {
            Ok(_) => self.host.reply(call, ()),
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(_))) => {
                tokio::time::sleep(ms(20)).await;
                self.host.refuse(call);
            }
            // The write may still take effect: the client waits.
            Err(_) => {}
        }
        Ok(())
    }
}
