//! What PEs of other hosts write, on its way to the launcher's own output. For everything that is out, the host gets
//! room for more; if nobody reads the launcher's output, the PEs wait.

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::link::frame::Order;
use crate::output::{Stream, complain};

pub(crate) struct Screen {
    lines: mpsc::UnboundedSender<(u32, Stream, Vec<u8>)>,
    writer: JoinHandle<()>,
}

impl Screen {
    /// What the writer has to say to the hosts goes to `orders`.
    pub(crate) fn new(orders: mpsc::UnboundedSender<Order>) -> Screen {
        let (lines, to_write) = mpsc::unbounded_channel();
        Screen { lines, writer: tokio::task::spawn_local(write(to_write, orders)) }
    }

    pub(crate) fn show(&self, host: u32, stream: Stream, bytes: Vec<u8>) {
        // The writer ends after us.
        let _ = self.lines.send((host, stream, bytes));
    }

    /// Waits until everything is out.
    pub(crate) async fn end(self) {
        drop(self.lines);
        // It has no way to fail.
        let _ = self.writer.await;
    }
}

async fn write(mut lines: mpsc::UnboundedReceiver<(u32, Stream, Vec<u8>)>, orders: mpsc::UnboundedSender<Order>) {
    let (mut stdout, mut stderr) = (tokio::io::stdout(), tokio::io::stderr());
    let mut complained = false;
    while let Some((host, stream, bytes)) = lines.recv().await {
        let written = match stream {
            Stream::Stdout => put(&mut stdout, &bytes).await,
            Stream::Stderr => put(&mut stderr, &bytes).await,
        };
        let order = match written {
            Ok(()) => Order::Written { host, stream, bytes: bytes.len() as u32 },
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    complain(&stream.to_string(), &error);
                }
                Order::Closed { stream }
            }
        };
        // After the job's end nobody wants to know.
        let _ = orders.send(order);
    }
}

async fn put(sink: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    sink.write_all(bytes).await?;
    sink.flush().await
}
