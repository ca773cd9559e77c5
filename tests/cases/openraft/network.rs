//! The network of openraft on that of the hosts.

use std::sync::Arc;

use explode_cluster::prelude::*;
use openraft::EmptyNode;
use openraft::error::{
    InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable,
};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};

use super::Types;
use super::server::Server;

/// A message.
#[derive(Clone, Debug)]
pub enum Msg {
    Append(AppendEntriesRequest<Types>),
    Appended(Result<Arc<AppendEntriesResponse<u64>>, RaftError<u64>>),
    Vote(VoteRequest<u64>),
    Voted(Result<VoteResponse<u64>, RaftError<u64>>),
}

/// The links of a host.
pub struct Links<const SYNCS_VOTES: bool>(pub AsyncHost<Server<SYNCS_VOTES>>);

/// The link to a host.
pub struct Link<const SYNCS_VOTES: bool> {
    host: AsyncHost<Server<SYNCS_VOTES>>,
    to: NodeId,
}

impl<const SYNCS_VOTES: bool> RaftNetworkFactory<Types> for Links<SYNCS_VOTES> {
    type Network = Link<SYNCS_VOTES>;

    async fn new_client(&mut self, target: u64, _: &EmptyNode) -> Link<SYNCS_VOTES> {
        Link { host: self.0, to: NodeId(target as u32) }
    }
}

/// Returns a copy of an answer, which openraft cannot copy.
fn copy(answer: &AppendEntriesResponse<u64>) -> AppendEntriesResponse<u64> {
    match answer {
        AppendEntriesResponse::Success => AppendEntriesResponse::Success,
        AppendEntriesResponse::PartialSuccess(to) => AppendEntriesResponse::PartialSuccess(*to),
        AppendEntriesResponse::Conflict => AppendEntriesResponse::Conflict,
        AppendEntriesResponse::HigherVote(vote) => AppendEntriesResponse::HigherVote(*vote),
    }
}

type Failed<E> = RPCError<u64, EmptyNode, E>;

impl<const SYNCS_VOTES: bool> Link<SYNCS_VOTES> {
    /// Sends a request, and waits for the answer as long as openraft wants.
    async fn ask(&self, msg: Msg, option: RPCOption) -> Result<Msg, NetworkError> {
        let answer = self.host.request(self.to, msg);
        let answer = tokio::time::timeout(option.hard_ttl(), answer).await;
        let answer = answer.map_err(|late| NetworkError::new(&late))?;
        answer.map_err(|broken| NetworkError::new(&broken))
    }

    fn remote(&self, error: RaftError<u64>) -> Failed<RaftError<u64>> {
        RemoteError::new(self.to.0.into(), error).into()
    }
}

impl<const SYNCS_VOTES: bool> RaftNetwork<Types> for Link<SYNCS_VOTES> {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, Failed<RaftError<u64>>> {
        match self.ask(Msg::Append(rpc), option).await? {
            Msg::Appended(Ok(answer)) => Ok(copy(&answer)),
            Msg::Appended(Err(error)) => Err(self.remote(error)),
            other => unreachable!("{other:?} answers no append"),
        }
    }

    async fn install_snapshot(
        &mut self,
        _: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, Failed<RaftError<u64, InstallSnapshotError>>> {
        Err(Unreachable::new(&std::io::Error::other("there are no snapshots")).into())
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<u64>,
        option: RPCOption,
    ) -> Result<VoteResponse<u64>, Failed<RaftError<u64>>> {
        match self.ask(Msg::Vote(rpc), option).await? {
            Msg::Voted(answer) => answer.map_err(|error| self.remote(error)),
            other => unreachable!("{other:?} answers no vote"),
        }
    }
}
