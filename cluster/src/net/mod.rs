//! Sockets of hosts whose nodes are tasks (feature `sockets`): [`TcpListener`], [`TcpStream`] and
//! [`UdpSocket`], used like those of `tokio::net`.
//!
//! Each host has a TCP/IP stack of its own, that of the crate `smoltcp`. A packet that leaves a
//! host is a message of the world: it is late, lost, doubled or parted from its receiver like any
//! other, and shown in the story of a finding. The stack sends again what was lost, by timers on
//! the host's clock. A crash ends the sockets of its host without another packet; peers learn it
//! when the next start answers their packets with a reset.
//!
//! Host `n1` has the address 10.0.0.1 and the name `n1`, and so on; 127.0.0.1 and `localhost` are
//! each host itself.
//!
//! ```
//! use std::rc::Rc;
//!
//! use explode_cluster::net::{TcpListener, TcpStream};
//! use explode_cluster::prelude::*;
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! /// Doubles numbers, on port 80.
//! struct Doubles { host: AsyncHost<Doubles> }
//!
//! impl AsyncNode for Doubles {
//!     type Msg = ();
//!     type Call = u32;
//!     type Reply = u32;
//!
//!     async fn open(host: AsyncHost<Doubles>) -> Handled<Doubles> {
//!         let listener = TcpListener::bind("0.0.0.0:80").await?;
//!         tokio::spawn(async move {
//!             while let Ok((mut stream, _)) = listener.accept().await {
//!                 tokio::spawn(async move {
//!                     while let Ok(number) = stream.read_u32().await {
//!                         stream.write_u32(number * 2).await.ok();
//!                     }
//!                 });
//!             }
//!         });
//!         Ok(Doubles { host })
//!     }
//!
//!     async fn on_call(self: Rc<Doubles>, call: CallId, number: u32) -> Handled {
//!         let mut stream = TcpStream::connect("n2:80").await?;
//!         stream.write_u32(number).await?;
//!         self.host.reply(call, stream.read_u32().await?);
//!         Ok(())
//!     }
//! }
//!
//! let summary = async_cluster::<Doubles>("doubles", 2)
//!     .clients(1, |_| 21)
//!     .calls(1)
//!     .faults(FaultBudget { drops: 2, ..FaultBudget::NONE })
//!     .steps(80, 0)
//!     .sometimes("doubled", |world| {
//!         let mut replies = world.history().calls().iter().filter_map(|call| call.replied);
//!         replies.any(|(_, number)| number == 42)
//!     })
//!     .run(walks(20));
//! assert!(summary.findings.is_zero());
//! ```

mod addr;
mod device;
mod host_address;
mod packet;
mod split;
mod stack;
mod tcp;
mod udp;

pub use addr::ToHostAddr;
pub use host_address::address_of;
pub use packet::IpPacket;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;

pub(crate) use stack::HostStack;
