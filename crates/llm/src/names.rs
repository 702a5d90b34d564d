//! Names and ids as every wire takes them.
//!
//! A model may call a tool that is not there by a name that no provider takes back, and a conversation may go on at
//! another provider than the one whose ids it holds. One refused name would end the session for good, so what a wire
//! does not take is written in another way, always the same one.

use std::borrow::Cow;

/// Longest name or id that every provider takes.
const MAX: usize = 64;

/// Returns the name of a called tool as a wire takes it: letters, digits, `_` and `-`, never empty.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    plain(name, "unnamed")
}

/// Returns the id of a call as a wire takes it. Two ids stay two.
pub(crate) fn call_id(id: &str) -> Cow<'_, str> {
    match plain(id, "call") {
        Cow::Borrowed(id) => Cow::Borrowed(id),
        Cow::Owned(mut plain) => {
            plain.truncate(MAX - 17);
            Cow::Owned(format!("{plain}-{:016x}", hash(id)))
        }
    }
}

fn plain<'a>(text: &'a str, if_empty: &str) -> Cow<'a, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !text.is_empty() && text.len() <= MAX && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let text: String = text
        .chars()
        .take(MAX)
        .map(|character| match u8::try_from(character) {
            Ok(byte) if is_plain(byte) => character,
            _ => '_',
        })
        .collect();
    Cow::Owned(if text.is_empty() {
        if_empty.to_owned()
    } else {
        text
    })
}

/// 64-bit FNV-1a. Tells ids apart, protects nothing.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_a_wire_takes_stay_as_they_are() {
        #[track_caller]
        fn check(name: &str, expect: &str) {
            assert_eq!(tool_name(name), expect);
        }
        check("apply_patch", "apply_patch");
        check("", "unnamed");
        check("read file!", "read_file_");
        check("größe", "gr__e");
        check(&"x".repeat(80), &"x".repeat(64));
    }

    proptest! {
        #[test]
        fn ids_are_plain_and_two_stay_two(one in ".{0,80}", other in ".{0,80}") {
            let (a, b) = (call_id(&one), call_id(&other));
            prop_assert!(!a.is_empty() && a.len() <= MAX, "{}", a);
            prop_assert!(a.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')), "{}", a);
            prop_assert_eq!(a == b, one == other);
        }
    }
}
