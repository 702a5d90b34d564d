//! What waits to be read by the client.

/// Bytes that are kept ready.
const READY: usize = 64 * 1024;

/// The bytes.
#[derive(Debug, Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    at: usize,
}

impl Out {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn unwritten(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn waits(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn written(&mut self, count: usize) {
        self.at += count;
        if self.at >= self.bytes.len() {
            self.at = 0;
            self.bytes.clear();
            // A large answer does not hold its room for ever.
            self.bytes.shrink_to(READY);
        }
    }
}
