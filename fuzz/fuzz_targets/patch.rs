//! Reads any text as a patch and applies it to any bytes: nothing panics, and what is applied keeps to its places.
#![no_main]

use cox_workspace::patch::{Action, Patch, apply};
use libfuzzer_sys::fuzz_target;

// The patch, and the file after the first NUL byte. The same body as the property in `cox-workspace`.
fuzz_target!(|data: &[u8]| {
    let (patch, file) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b"a\nb\r\na\n"[..]),
    };
    let Ok(patch) = Patch::parse(&String::from_utf8_lossy(patch)) else {
        return;
    };
    for operation in &patch.operations {
        let Action::Update { hunks, .. } = &operation.action else {
            continue;
        };
        let Ok(patched) = apply(file, hunks) else {
            continue;
        };
        let (mut before, mut after) = (0, 0);
        for place in &patched.places {
            assert_eq!(
                &file[before..place.old.start],
                &patched.bytes[after..place.new.start]
            );
            before = place.old.end;
            after = place.new.end;
        }
        assert_eq!(&file[before..], &patched.bytes[after..]);
    }
});
