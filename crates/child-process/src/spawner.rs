//! The one thread that forks.
//!
//! Linux sends the parent-death signal when the *thread* that forked ends, not the process. Threads of a runtime come
//! and go; this one stays as long as the process, so a child lives exactly as long as it may.

use std::{
    io,
    sync::{OnceLock, mpsc},
    thread,
};

use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

struct Job {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts the command from the forking thread.
pub(crate) async fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let gone = || io::Error::other("the thread that starts processes has ended");
    let (reply, answer) = oneshot::channel();
    let jobs = SPAWNER.get_or_init(|| {
        let (jobs, inbox) = mpsc::channel::<Job>();
        // When the thread cannot be started the inbox is dropped, and every send below fails with `gone`.
        let _started = thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                for mut job in inbox {
                    let _runtime = job.runtime.enter();
                    // A caller that has gone drops the child, and a dropped child is killed.
                    let _unheard = job.reply.send(job.command.spawn());
                }
            });
        jobs
    });
    jobs.send(Job {
        command,
        runtime,
        reply,
    })
    .map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}
