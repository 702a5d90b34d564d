//! The thread that writes: it gathers what waits, and hands it to the system in one write.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering, mpsc::SyncSender},
};

use jiff::Timestamp;

use super::{
    LogOptions, Shared,
    files::{self, Current},
    line,
    queue::{Message, Queue},
    record::{Level, Record, event},
};

/// Most bytes of one write.
const MAX_BATCH_BYTES: usize = 256 << 10;

pub(super) struct Writer {
    folder: PathBuf,
    options: LogOptions,
    shared: Arc<Shared>,
    current: Option<Current>,
    /// Records lost by the queue that a record has told of.
    told_queue: u64,
    /// The same of the disk.
    told_disk: u64,
}

/// What is written at once.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: u64,
    now: Timestamp,
    flushes: Vec<SyncSender<()>>,
}

/// Tells the queue when the writer ends, however it ends.
struct Deafens<'a>(&'a Queue);

impl Drop for Deafens<'_> {
    fn drop(&mut self) {
        self.0.deafen();
    }
}

impl Writer {
    pub(super) fn new(folder: &Path, options: LogOptions, shared: Arc<Shared>) -> Self {
        Self {
            folder: folder.to_owned(),
            options,
            shared,
            current: None,
            told_queue: 0,
            told_disk: 0,
        }
    }

    /// Writes until the queue is closed.
    pub(super) fn run(mut self, queue: &Queue) {
        let _gone = Deafens(queue);
        let mut batch = Batch::default();
        let mut taken = Vec::new();
        while queue.take(&mut taken) {
            let mut waiting = taken.drain(..).peekable();
            while waiting.peek().is_some() {
                self.gather(&mut batch, &mut waiting);
                if batch.records > 0 {
                    self.put(&mut batch);
                }
                for flush in batch.flushes.drain(..) {
                    // Who asked may have given up.
                    let _ = flush.try_send(());
                }
                batch.bytes.clear();
                batch.bytes.shrink_to(MAX_BATCH_BYTES);
                batch.records = 0;
            }
        }
    }

    /// Takes what fits one write.
    fn gather(&self, batch: &mut Batch, waiting: &mut impl Iterator<Item = Message>) {
        let redactor = self.shared.redactor();
        let max = usize::try_from(self.options.max_bytes).unwrap_or(usize::MAX);
        for message in waiting {
            match message {
                Message::Record(record) => {
                    let (ts, record) = *record;
                    line::append(&mut batch.bytes, ts, record, &redactor);
                    batch.records += 1;
                    batch.now = ts;
                }
                Message::Flush(reply) => batch.flushes.push(reply),
            }
            let is_full = batch.bytes.len() >= MAX_BATCH_BYTES.min(max)
                || batch.records >= self.options.max_lines;
            if is_full {
                return;
            }
        }
    }

    fn put(&mut self, batch: &mut Batch) {
        let lost = self.lost(batch.now);
        match self.try_put(batch, &lost) {
            Ok(()) => {
                self.shared
                    .written
                    .fetch_add(batch.records, Ordering::Relaxed);
                self.told_queue = lost.queue;
                self.told_disk = lost.disk;
                self.shared.set_failing(None);
            }
            Err(error) => {
                self.shared
                    .lost_disk
                    .fetch_add(batch.records, Ordering::Relaxed);
                self.shared.set_failing(Some(error.to_string()));
                let may_work_again = matches!(
                    error.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                );
                if !may_work_again {
                    self.current = None;
                }
            }
        }
    }

    fn try_put(&mut self, batch: &Batch, lost: &Lost) -> io::Result<()> {
        let bytes = (batch.bytes.len() + lost.line.len()) as u64;
        let lines = batch.records + u64::from(!lost.line.is_empty());
        let Self {
            folder,
            options,
            current,
            ..
        } = self;
        // A folder that somebody cleared is filled again.
        current.take_if(|current| !current.path.exists());
        let current = match current {
            Some(there) if there.is_full(options, batch.now, bytes, lines) => {
                let next = files::begin(folder, options, batch.now)?;
                current.insert(next)
            }
            Some(there) => there,
            None => {
                let opened = files::open(folder, options, batch.now)?;
                current.insert(opened)
            }
        };
        current.append(&[&lost.line, &batch.bytes], lines)
    }

    /// Makes the record of what was lost since the last one.
    fn lost(&self, now: Timestamp) -> Lost {
        let queue = self.shared.lost_queue.load(Ordering::Relaxed);
        let disk = self.shared.lost_disk.load(Ordering::Relaxed);
        let (new_queue, new_disk) = (queue - self.told_queue, disk - self.told_disk);
        let mut line = Vec::new();
        let lost = new_queue + new_disk;
        if lost > 0 {
            let msg = format!(
                "{lost} records were lost: {new_disk} because the disk took none, {new_queue} because too many waited"
            );
            let mut record = Record::new(Level::Warn, event::LOG_LOST, msg).with("lost", lost);
            record.template = "{lost} records were lost".into();
            line::append(&mut line, now, record, &self.shared.redactor());
        }
        Lost { queue, disk, line }
    }
}

/// What was lost since it was last told.
struct Lost {
    queue: u64,
    disk: u64,
    /// Empty when nothing was.
    line: Vec<u8>,
}

impl Current {
    /// Appends whole lines, or nothing where the system allows it.
    fn append(&mut self, parts: &[&[u8]], lines: u64) -> io::Result<()> {
        let mut all = Vec::new();
        let bytes: &[u8] = match parts {
            [[], only] if !self.ends_torn => only,
            _ => {
                if self.ends_torn {
                    all.push(b'\n');
                }
                parts.iter().for_each(|part| all.extend_from_slice(part));
                &all
            }
        };
        if let Err(error) = self.file.write_all(bytes) {
            self.ends_torn |= self.file.set_len(self.len).is_err();
            return Err(error);
        }
        self.len += bytes.len() as u64;
        self.lines += lines;
        self.ends_torn = false;
        Ok(())
    }
}

#[cfg(test)]
impl Writer {
    /// Lets a test choose what is written to.
    pub(super) fn use_file(&mut self, path: PathBuf, file: std::fs::File, began: Timestamp) {
        self.current = Some(Current {
            path,
            file,
            began,
            len: 0,
            lines: 0,
            ends_torn: false,
        });
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}
