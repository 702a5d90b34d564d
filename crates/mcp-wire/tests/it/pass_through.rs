//! What we do not own passes through byte for byte, and setting one member touches no other.

use mcp_wire::{CallResult, Frame, Object, Outcome, Raw, Tool, meta};
use proptest::prelude::*;

use crate::any_json::{members, object, value};

fn read(text: &str) -> Object {
    Raw::parse(text).unwrap().object().unwrap()
}

fn line(text: &str) -> String {
    let line = Frame::parse(text.as_bytes()).unwrap().to_line();
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

/// The members that are not called `name`, as they are spelled.
fn others(members: &[(String, String)], name: &str) -> Vec<(String, String)> {
    let is_other = |(spelled, _): &&(String, String)| {
        Raw::parse(spelled).unwrap().string().as_deref() != Some(name)
    };
    members.iter().filter(is_other).cloned().collect()
}

proptest! {
    #[test]
    fn a_value_is_printed_as_it_was_spelled(text in value()) {
        let raw = Raw::parse(&text).unwrap();
        prop_assert_eq!(raw.as_str(), &text);
        if let Ok(object) = raw.object() {
            let printed = Raw::from(object);
            prop_assert_eq!(printed.as_str(), &text);
        }
        if let Ok(elements) = raw.array() {
            let printed = Raw::of(&elements);
            prop_assert_eq!(printed.as_str(), &text);
        }
    }

    #[test]
    fn a_request_passes_through_whole(params in members(), extra in members()) {
        prop_assume!(!params.is_empty());
        let comma = if extra.is_empty() { "" } else { "," };
        let rest = &object(&extra)[1..];
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}{comma}{rest}"#, object(&params));
        prop_assert_eq!(line(&text), text);
    }

    #[test]
    fn an_answer_passes_through_whole(result in value(), extra in members()) {
        let comma = if extra.is_empty() { "" } else { "," };
        let rest = &object(&extra)[1..];
        let text = format!(r#"{{"jsonrpc":"2.0","id":"a","result":{result}{comma}{rest}"#);
        prop_assert_eq!(line(&text), text);
    }

    #[test]
    fn an_error_passes_through_whole(data in value(), extra in members()) {
        let others = others(&others(&others(&extra, "code"), "message"), "data");
        let comma = if others.is_empty() { "" } else { "," };
        let rest = &object(&others)[1..];
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-1,"message":"m","data":{data}{comma}{rest}}}"#);
        prop_assert_eq!(line(&text), text);
    }

    #[test]
    fn setting_a_member_leaves_the_others_as_they_were(all in members(), set in value()) {
        let mut changed = read(&object(&all));
        changed.set("a", Raw::parse(&set).unwrap());
        let mut kept = changed.clone();
        prop_assert_eq!(kept.remove("a").map(|raw| raw.to_string()), Some(set));
        let kept = Raw::from(kept);
        let expected = object(&others(&all, "a"));
        prop_assert_eq!(kept.as_str(), &expected);
        // At the place where it was first.
        let first = all.iter().position(|(name, _)| Raw::parse(name).unwrap().string().as_deref() == Some("a"));
        let at = changed.iter().position(|(name, _)| name == "a");
        prop_assert_eq!(at, Some(first.unwrap_or(others(&all, "a").len())));
    }

    #[test]
    fn setting_a_key_of_meta_leaves_the_other_keys_and_members(all in members(), keys in members()) {
        let mut params = others(&all, "_meta");
        let others = params.clone();
        params.push((r#""_meta""#.to_owned(), object(&keys)));
        let mut params = read(&object(&params));
        meta::set(&mut params, meta::PROGRESS_TOKEN, 7);
        let changed = params.remove("_meta").unwrap();
        let left = Raw::from(params);
        prop_assert_eq!(left.as_str(), &object(&others));
        let mut changed = changed.object().unwrap();
        prop_assert_eq!(changed.remove(meta::PROGRESS_TOKEN).map(|raw| raw.to_string()), Some("7".to_owned()));
        let changed = Raw::from(changed);
        prop_assert_eq!(changed.as_str(), &object(&keys));
    }

    #[test]
    fn a_result_and_a_tool_keep_what_they_do_not_know(extra in members(), block in value(), schema in members()) {
        let rest = &object(&extra)[1..];
        let comma = if extra.is_empty() { "" } else { "," };
        let result = format!(r#"{{"content":[{block}],"structuredContent":{block}{comma}{rest}"#);
        let Ok(Outcome::Complete(read)) = Outcome::parse(&Raw::parse(&result).unwrap()) else {
            return Err(TestCaseError::fail("it is complete"));
        };
        let kept = Raw::from(CallResult::parse(read).unwrap().into_raw());
        prop_assert_eq!(kept.as_str(), &result);

        let schema = object(&others(&schema, "type"));
        let tool = format!(r#"{{"name":"t","inputSchema":{schema}{comma}{rest}"#);
        let read = Tool::parse(&Raw::parse(&tool).unwrap()).unwrap();
        let kept = Raw::from(read.raw().clone());
        prop_assert_eq!(kept.as_str(), &tool);
        let schema_kept = read.input_schema();
        prop_assert_eq!(schema_kept.as_str(), &schema);
    }
}
