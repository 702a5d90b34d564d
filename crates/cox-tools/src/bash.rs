//! `bash`: runs a shell line in the sandbox.
