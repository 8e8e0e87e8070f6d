//! A process tree of our own, which ends when the process does that made it.
//!
//! Programs of a run are started in a PID namespace whose first process waits for the end of this process alone.
//! However that comes, by SIGKILL too, the first process ends, and the kernel ends everything else in there.

use crate::error::{Context, HostError};
use crate::namespace::Namespace;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, WaitOptions, getegid, geteuid, pidfd_open, set_dumpable_behavior,
    waitpid,
};
use rustix::thread::{
    CapabilitySet, ThreadNameSpaceType, UnshareFlags, capabilities, configure_capability_in_ambient_set,
    move_into_thread_name_spaces, set_capabilities, unshare_unsafe,
};
use std::ffi::CStr;
use std::fs;
use std::path::Path;

/// What may forbid a user to make a namespace of his own, and what to do then.
const USER_NAMESPACES: &str = "sysctl user.max_user_namespaces must not be 0, nor kernel.unprivileged_userns_clone, \
     and kernel.apparmor_restrict_unprivileged_userns not 1; or run as root";

/// The namespaces that all programs of a run share.
#[derive(Debug)]
pub struct Isolation {
    first_process: i32,
    rootless: bool,
    _alive: OwnedFd,
}

impl Isolation {
    /// Enters a mount namespace and, without root's privileges, a user namespace, and begins a PID namespace.
    ///
    /// # Errors
    /// This process has more than one thread, which the kernel does not let into another user namespace; or
    /// user namespaces are switched off.
    pub fn enter() -> Result<Self, HostError> {
        let (user, group) = (geteuid(), getegid());
        let rootless = !may_administer()?;
        if rootless {
            // SAFETY: no memory or descriptors are unshared.
            unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }
                .context(|| format!("make a user namespace ({USER_NAMESPACES})"))?;
            // New capabilities hide a process from its own user, who has to enter what it made.
            set_dumpable_behavior(DumpableBehavior::Dumpable).context(|| "show ourselves in /proc".into())?;
            // Programs run under the user's own id.
            write("/proc/self/setgroups", "deny").map_err(|error| {
                HostError::new("use a user namespace", format!("{error} ({USER_NAMESPACES})"))
            })?;
            write("/proc/self/uid_map", &format!("{0} {0} 1", user.as_raw()))?;
            write("/proc/self/gid_map", &format!("{0} {0} 1", group.as_raw()))?;
            keep_privileges().context(|| "keep privileges".into())?;
        }
        // SAFETY: no memory or descriptors are unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
            .context(|| "make a mount namespace (sysctl user.max_mnt_namespaces bounds them)".into())?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .context(|| "keep mounts to ourselves".into())?;
        let (first_process, alive) = begin_process_tree()?;
        Ok(Self { first_process, rootless, _alive: alive })
    }

    /// The first process of the PID namespace, as this process sees it.
    pub const fn first_process(&self) -> i32 {
        self.first_process
    }

    /// Whether this is without root's privileges.
    pub const fn rootless(&self) -> bool {
        self.rootless
    }

    /// What programs on a host see mounted: what this process does, but the `/proc` of their processes and the `/sys`
    /// of their network. Where the kernel does not let a user have these, as where the machine's own are covered in
    /// part, programs see the machine's.
    ///
    /// # Errors
    /// A namespace cannot be made or entered, or something cannot be mounted for another reason.
    pub fn mounts(&self, host: &Namespace) -> Result<OwnedFd, HostError> {
        host.inside(|| {
            // SAFETY: no memory or descriptors are unshared, and the thread that enters it ends here.
            unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.context(|| {
                "make a host's mount namespace (sysctl user.max_mnt_namespaces bounds them)".into()
            })?;
            let path = "/proc/thread-self/ns/mnt";
            let made = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .context(|| format!("open {path}"))?;
            mount_sys()?;
            self.mount_proc()?;
            Ok(made)
        })
    }

    /// Mounts the `/proc` of our PID namespace, in this thread's mount namespace.
    ///
    /// The kernel shows the processes of whoever mounts it, and only a child can be in there.
    fn mount_proc(&self) -> Result<(), HostError> {
        let first = Pid::from_raw(self.first_process).expect("the kernel gives no process the number zero");
        let first = pidfd_open(first, PidfdFlags::empty()).context(|| "find our PID namespace".into())?;
        move_into_thread_name_spaces(first.as_fd(), ThreadNameSpaceType::PROCESS_ID)
            .context(|| "enter our PID namespace".into())?;
        // SAFETY: without a stack of its own and without shared memory this is a fork. The child calls nothing but
        // what may be called between fork and exec, and never returns.
        let pid =
            unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0_usize, 0_usize, 0_usize, 0_usize) };
        let action = || "mount a host's /proc".to_owned();
        if pid == 0 {
            // SAFETY: all of these are async-signal-safe, and the names outlive them.
            unsafe {
                let done = libc::mount(PROC.as_ptr(), c"/proc".as_ptr(), PROC.as_ptr(), 0, std::ptr::null());
                libc::_exit(if done == 0 { 0 } else { *libc::__errno_location() })
            }
        }
        // A PID fits `i32`.
        let child = Pid::from_raw(pid as i32)
            .filter(|_| pid > 0)
            .ok_or_else(std::io::Error::last_os_error)
            .context(action)?;
        let (_, status) = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()))
            .context(action)?
            .expect("was waited for");
        allowed(match status.exit_status() {
            Some(0) => Ok(()),
            Some(errno) => Err(Errno::from_raw_os_error(errno)),
            None => Err(Errno::INTR),
        })
        .context(action)
    }

    /// Shows programs `text` where `path` is.
    ///
    /// # Errors
    /// There is no `path`, or nothing can be mounted.
    pub fn replace_file(&self, path: &str, text: &str) -> Result<(), HostError> {
        bind_text(path, text).context(|| format!("show programs another {path}"))?;
        // Nobody is to change it for all.
        mount_remount(path, MountFlags::BIND | MountFlags::RDONLY, c"").context(|| format!("protect {path}"))
    }
}

const PROC: &CStr = c"proc";

/// Mounts the `/sys` of this thread's network, in its mount namespace; what was mounted inside stays, such as control
/// groups, from which programs learn how much they may use.
fn mount_sys() -> Result<(), HostError> {
    let inside: Vec<(String, OwnedFd)> = mounted_in("/sys")?
        .into_iter()
        .map(|path| {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::AT_RECURSIVE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let tree = open_tree(CWD, path.as_str(), flags).context(|| format!("hold {path}"))?;
            Ok((path, tree))
        })
        .collect::<Result<_, HostError>>()?;
    let mounted = mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None);
    if mounted.is_ok() {
        for (path, tree) in inside {
            move_mount(&tree, "", CWD, path.as_str(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
                .context(|| format!("keep {path}"))?;
        }
    }
    allowed(mounted).context(|| "mount a host's /sys".into())
}

/// What is mounted right in what is mounted at `path`.
fn mounted_in(path: &str) -> Result<Vec<String>, HostError> {
    let table = "/proc/thread-self/mountinfo";
    let text = fs::read_to_string(table).context(|| format!("read {table}"))?;
    // proc_pid_mountinfo(5): mount, parent, device, root, mount point, ...
    let mounts: Vec<[&str; 3]> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            Some([fields.next()?, fields.next()?, fields.nth(2)?])
        })
        .collect();
    let Some([top, ..]) = mounts.iter().rfind(|[.., point]| *point == path) else { return Ok(Vec::new()) };
    Ok(mounts.iter().filter(|[_, parent, _]| parent == top).map(|[.., point]| (*point).to_owned()).collect())
}

/// Leaves the machine's where the kernel says no.
fn allowed(mounted: Result<(), Errno>) -> Result<(), Errno> {
    match mounted {
        Err(Errno::PERM | Errno::ACCESS) => Ok(()),
        other => other,
    }
}

/// Mounts a file with `text` over `path`.
///
/// It lies on a file system of its own, which stays without a name as long as it is mounted over `path`. A file that
/// was removed would do for us, but nobody in there could mount another one over it. While it is written, that file
/// system lies over a directory that is there on every machine; nobody else sees our mounts, and no other user can
/// have put something in its place.
fn bind_text(path: &str, text: &str) -> std::io::Result<()> {
    const COVERED: &str = "/proc";
    mount("voxpath", COVERED, "tmpfs", MountFlags::empty(), None)?;
    let file = Path::new(COVERED).join("file");
    let bound = fs::write(&file, text).and_then(|()| Ok(mount_bind(&file, path)?));
    unmount(COVERED, UnmountFlags::DETACH)?;
    bound
}

/// Whether this process may make network namespaces as it is.
fn may_administer() -> Result<bool, HostError> {
    const CAP_NET_ADMIN: u32 = 12;
    const CAP_SYS_ADMIN: u32 = 21;
    let path = "/proc/self/status";
    let status = fs::read_to_string(path).context(|| format!("read {path}"))?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    Ok([CAP_NET_ADMIN, CAP_SYS_ADMIN].iter().all(|capability| mask >> capability & 1 == 1))
}

/// Lets `ip`, which this process starts, have what it needs inside the user namespace: only root's programs have it
/// by themselves. It configures devices, and opens descriptors of this process.
fn keep_privileges() -> rustix::io::Result<()> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_PTRACE;
    let mut sets = capabilities(None)?;
    sets.inheritable |= needed;
    set_capabilities(None, sets)?;
    needed.iter().try_for_each(|capability| configure_capability_in_ambient_set(capability, true))
}

fn write(path: &str, text: &str) -> Result<(), HostError> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .context(|| format!("open {path}"))?;
    rustix::io::write(file, text.as_bytes()).context(|| format!("write {text:?} to {path}"))?;
    Ok(())
}

/// The first process of a new PID namespace, and the pipe's end that keeps it alive.
fn begin_process_tree() -> Result<(i32, OwnedFd), HostError> {
    let (read, alive) = pipe_with(PipeFlags::CLOEXEC).context(|| "make a pipe".into())?;
    // SAFETY: without a stack of its own and without shared memory this is a fork. The child calls nothing but
    // what may be called between fork and exec, and never returns.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone, libc::CLONE_NEWPID | libc::SIGCHLD, 0_usize, 0_usize, 0_usize, 0_usize)
    };
    match pid {
        -1 => Err(HostError::new(
            "make a PID namespace (sysctl user.max_pid_namespaces bounds them)",
            std::io::Error::last_os_error(),
        )),
        0 => {
            // SAFETY: all of these are async-signal-safe, and `byte` outlives the reads.
            unsafe {
                // Whoever is stopped does not see the pipe's end.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // Orphans are reaped by the kernel; what a terminal sends is not for us.
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                libc::signal(libc::SIGINT, libc::SIG_IGN);
                libc::signal(libc::SIGTERM, libc::SIG_IGN);
                libc::setsid();
                // Nothing that a reader elsewhere waits for the end of is kept open here.
                libc::dup2(read.as_raw_fd(), 0);
                libc::syscall(libc::SYS_close_range, 1_u32, u32::MAX, 0_u32);
                let mut byte = 0_u8;
                // Until the last holder of the other end is gone.
                while libc::read(0, (&raw mut byte).cast(), 1) != 0 {}
                libc::_exit(0)
            }
        }
        // A PID fits `i32`.
        pid => Ok((pid as i32, alive)),
    }
}
