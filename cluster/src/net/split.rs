//! The halves of a TCP stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::tcp::TcpStream;

/// The reading half of a stream, of [`TcpStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a> {
    pub(super) stream: &'a TcpStream,
}

/// The writing half of a stream, of [`TcpStream::split`].
#[derive(Debug)]
pub struct WriteHalf<'a> {
    pub(super) stream: &'a TcpStream,
}

/// The reading half of a stream, of [`TcpStream::into_split`].
#[derive(Debug)]
pub struct OwnedReadHalf {
    pub(super) stream: Arc<TcpStream>,
}

/// The writing half of a stream, of [`TcpStream::into_split`]. The peer reads the end of the stream
/// when this is dropped.
#[derive(Debug)]
pub struct OwnedWriteHalf {
    pub(super) stream: Arc<TcpStream>,
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        // After a crash of the host there is nothing to close.
        self.stream.close().ok();
    }
}

macro_rules! reads {
    ($half:ty) => {
        impl AsyncRead for $half {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                into: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.stream.poll_read_ref(cx, into)
            }
        }
    };
}

macro_rules! writes {
    ($half:ty) => {
        impl AsyncWrite for $half {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                data: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.stream.poll_write_ref(cx, data)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.stream.close())
            }
        }
    };
}

reads!(ReadHalf<'_>);
reads!(OwnedReadHalf);
writes!(WriteHalf<'_>);
writes!(OwnedWriteHalf);
