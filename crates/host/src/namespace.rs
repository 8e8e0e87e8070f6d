//! A real host is a network namespace without a name: it lives as long as somebody holds it, and a process that
//! dies, however it dies, holds nothing.

use crate::error::{Context, HostError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    descriptor: OwnedFd,
}

impl Namespace {
    /// Makes a namespace in which nothing is but a loopback device that is down.
    ///
    /// # Errors
    /// The kernel refuses: no privilege and no user namespaces.
    pub fn new() -> Result<Self, HostError> {
        // Namespaces belong to threads: one that ends takes nothing of ours along.
        let made = thread::spawn(|| {
            // SAFETY: a new network namespace shares no descriptors, memory or credentials with the rest of the
            // process, and the thread that enters it ends here.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
                .context(|| "make a network namespace (sysctl user.max_net_namespaces bounds them)".into())?;
            own().map(|descriptor| Self { descriptor })
        });
        made.join().expect("making a namespace does not panic")
    }

    /// Another hold on it.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn try_clone(&self) -> Result<Self, HostError> {
        let descriptor = self.descriptor.try_clone().context(|| "hold a network namespace".into())?;
        Ok(Self { descriptor })
    }

    /// Runs `work` inside, on a thread of its own.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` fails.
    pub fn inside<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, HostError> + Send,
    ) -> Result<T, HostError> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network))
                    .context(|| "enter a network namespace".into())?;
                work()
            });
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Configures it with a batch of `ip` commands.
    ///
    /// # Errors
    /// There is no `ip`, or a command fails; its own words are the reason.
    pub fn ip(&self, batch: &str) -> Result<(), HostError> {
        self.inside(|| {
            let action = || "run `ip` of iproute2".to_owned();
            let mut ip = Command::new("ip")
                .args(["-batch", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .context(action)?;
            ip.stdin.take().expect("was asked for").write_all(batch.as_bytes()).context(action)?;
            let output = ip.wait_with_output().context(action)?;
            if output.status.success() {
                return Ok(());
            }
            Err(HostError::new("configure a host", String::from_utf8_lossy(&output.stderr).trim()))
        })
    }

    /// TCP ports at which somebody listens.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn listening(&self) -> Result<Vec<u16>, HostError> {
        self.inside(|| {
            let mut ports = Vec::new();
            for path in ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"] {
                // Without IPv6 there is no table of it.
                let table = std::fs::read_to_string(path).unwrap_or_default();
                ports.extend(listening(&table));
            }
            Ok(ports)
        })
    }

    /// Sets keys below `/proc/sys/net`.
    ///
    /// # Errors
    /// There is no such key here, or it does not take the value.
    pub fn sysctl(&self, values: &[(String, String)]) -> Result<(), HostError> {
        self.inside(|| {
            for (key, value) in values {
                // A thread's own namespace decides what /proc/sys/net shows it.
                std::fs::write(format!("/proc/sys/net/{key}"), value)
                    .context(|| format!("set net/{key} to {value:?}"))?;
            }
            Ok(())
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The ports of the sockets in state LISTEN in the kernel's table.
fn listening(table: &str) -> impl Iterator<Item = u16> + '_ {
    const LISTEN: &str = "0A";
    table.lines().filter_map(|line| {
        let mut columns = line.split_whitespace();
        let (local, state) = (columns.nth(1)?, columns.nth(1)?);
        let (_, port) = local.rsplit_once(':')?;
        u16::from_str_radix(port, 16).ok().filter(|_| state == LISTEN)
    })
}

/// The calling thread's network namespace.
fn own() -> Result<OwnedFd, HostError> {
    let path = "/proc/thread-self/ns/net";
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).context(|| format!("open {path}"))
}
