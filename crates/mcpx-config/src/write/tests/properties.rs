//! Whatever the layout of a file: a write changes one entry, and can be taken back.

use proptest::prelude::*;
use serde_json::json;

use super::draft;

/// Text of a file with the members `a` to `d`, in some layout.
fn layouts() -> impl Strategy<Value = (Vec<String>, String)> {
    let gap = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n"),
        Just("\n  "),
        Just("\r\n\t"),
        Just(" // note, \"b\": {\n"),
        Just("/* } , */"),
        Just("\n    /* x */ "),
    ];
    let gaps = prop::collection::vec(gap, 24);
    (0_usize..5, gaps, any::<bool>()).prop_map(|(count, gaps, trailing)| {
        let names: Vec<String> = ["a", "b", "c", "d"]
            .iter()
            .take(count)
            .map(|name| (*name).to_owned())
            .collect();
        let mut gaps = gaps.into_iter();
        let mut gap = || gaps.next().unwrap_or(" ");
        let mut text = format!(
            "{}{{{}\"mcpServers\"{}:{}{{{}",
            gap(),
            gap(),
            gap(),
            gap(),
            gap()
        );
        for (at, name) in names.iter().enumerate() {
            text.push_str(&format!(
                "\"{name}\":{}{{\"command\": \"{name}\"}}{}",
                gap(),
                gap()
            ));
            if at + 1 < names.len() || trailing {
                text.push(',');
                text.push_str(gap());
            }
        }
        text.push_str(&format!("}}{}}}{}", gap(), gap()));
        (names, text)
    })
}

/// The comments and every member but one, in their order.
fn around(text: &str, except: &str) -> Vec<String> {
    let pattern =
        regex::Regex::new(r#"//[^\n]*|/\*.*?\*/|"(\w)":[^{]*\{"command": "\w"\}"#).unwrap();
    pattern
        .captures_iter(text)
        .filter(|found| found.get(1).is_none_or(|name| name.as_str() != except))
        .map(|found| found[0].trim_end().to_owned())
        .collect()
}

proptest! {
    #[test]
    fn a_write_changes_no_byte_outside_the_entry((names, text) in layouts(), at in 0_usize..5) {
        let (_folder, mut draft) = draft(&text);
        let name = ["a", "b", "c", "d", "e"][at];
        let is_there = names.iter().any(|other| other == name);
        prop_assert_eq!(draft.put_server(name, &json!({"command": "new"})).unwrap(), is_there);
        let after = draft.text();
        // The text before the entry and behind it, but for one comma, is the same.
        let common = text.bytes().zip(after.bytes()).take_while(|(old, new)| old == new).count();
        let rest = text.len().min(after.len()) - common;
        let tail = text.bytes().rev().zip(after.bytes().rev()).take(rest).take_while(|(old, new)| old == new).count();
        let replaced = &text[common..text.len() - tail];
        if is_there {
            prop_assert!(replaced.len() <= format!("{{\"command\": \"{name}\"}}").len(), "{text:?} {after:?}");
        } else {
            let mut left = after.chars();
            for char in text.chars() {
                prop_assert!(left.by_ref().any(|other| other == char), "{text:?} {after:?}");
            }
        }
    }

    #[test]
    fn what_was_added_can_be_removed_again((names, text) in layouts()) {
        let (_folder, mut draft) = draft(&text);
        draft.put_server("e", &json!({"command": "new"})).unwrap();
        prop_assert!(draft.remove_server("e").unwrap());
        prop_assert_eq!(draft.servers().unwrap().len(), names.len());
        prop_assert_eq!(around(&draft.text(), "e"), around(&text, "e"));
    }

    #[test]
    fn a_removal_takes_nothing_else((names, text) in layouts(), at in 0_usize..4) {
        let (_folder, mut draft) = draft(&text);
        let name = ["a", "b", "c", "d"][at];
        let is_there = names.iter().any(|other| other == name);
        prop_assert_eq!(draft.remove_server(name).unwrap(), is_there);
        let left: Vec<String> = draft.servers().unwrap().into_iter().map(|(name, _)| name).collect();
        let expected: Vec<String> = names.into_iter().filter(|other| other != name).collect();
        prop_assert_eq!(left, expected);
    }
}
