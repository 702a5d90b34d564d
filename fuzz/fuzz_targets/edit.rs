//! Replaces any text in any bytes: nothing panics, and every byte outside the replaced places stays.
#![no_main]

use cox_workspace::edit::edit;
use libfuzzer_sys::fuzz_target;

// Whether to replace all, then the old text, the new text and the file, parted by NUL bytes.
fuzz_target!(|data: &[u8]| {
    let Some((all, rest)) = data.split_first() else {
        return;
    };
    let mut parts = rest.splitn(3, |byte| *byte == 0);
    let (Some(old), Some(new), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let all = all % 2 == 1;
    let Ok(edited) = edit(file, &old, &new, all) else {
        return;
    };
    assert!(all || edited.places.len() == 1);
    let (mut before, mut after) = (0, 0);
    for place in &edited.places {
        assert_eq!(
            &file[before..place.old.start],
            &edited.bytes[after..place.new.start]
        );
        before = place.old.end;
        after = place.new.end;
    }
    assert_eq!(&file[before..], &edited.bytes[after..]);
});
