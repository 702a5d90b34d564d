use proptest::prelude::*;

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[track_caller]
fn made(typed: &[&str], schema: &str) -> String {
    let schema = Schema::of(Some(&Raw::parse(schema).unwrap()));
    let object = match read(&words(typed)).unwrap() {
        Arguments::Whole(object) => object,
        Arguments::Pairs(pairs) => by_schema(&pairs, &schema).unwrap(),
        Arguments::Listed(values) => by_order(values, &schema).unwrap(),
    };
    Raw::from(object).as_str().to_owned()
}

const SCHEMA: &str = r##"{"type":"object","$defs":{"size":{"type":"integer"}},"properties":{
  "s":{"type":"string"}, "n":{"type":"integer"}, "f":{"type":"number"}, "b":{"type":"boolean"},
  "o":{"type":["string","null"]}, "u":{"anyOf":[{"type":"string"},{"type":"integer"}]},
  "tags":{"type":"array","items":{"type":"string"}}, "ids":{"type":"array","items":{"type":"integer"}},
  "x":{"type":"object"}, "r":{"$ref":"#/$defs/size"}, "e":{"enum":["1",2,"three"]},
  "in":{"$ref":"#/$defs/inner"}, "maybe":{"anyOf":[{"$ref":"#/$defs/inner"},{"type":"null"}]}, "a.b":{"type":"string"}},
  "definitions":{"inner":{"properties":{"n":{"type":"integer"},"s":{"type":"string"},"deep":{"type":"object"}}}}}"##;

#[test]
fn a_value_is_read_by_the_type_of_its_property() {
    #[track_caller]
    fn check(typed: &[&str], expect: &str) {
        assert_eq!(made(typed, SCHEMA), expect, "{typed:?}");
    }
    check(&["s=5", "n=5"], r#"{"s":"5","n":5}"#);
    check(&["s=true", "b=true"], r#"{"s":"true","b":true}"#);
    check(&["s=\"q\"", "s2=a=b"], r#"{"s":"\"q\"","s2":"a=b"}"#);
    check(&["s="], r#"{"s":""}"#);
    check(&["f=1.50"], r#"{"f":1.50}"#);
    check(&["n=1.5"], r#"{"n":1.5}"#);
    check(&["n=many"], r#"{"n":"many"}"#);
    check(&["o=null", "u=7", "u2=x"], r#"{"o":null,"u":7,"u2":"x"}"#);
    check(&["tags=a"], r#"{"tags":["a"]}"#);
    check(&["tags=1", "tags=b"], r#"{"tags":["1","b"]}"#);
    check(&["ids=[1,2]"], r#"{"ids":[1,2]}"#);
    check(&["ids=1", "ids=2"], r#"{"ids":[1,2]}"#);
    check(&["x={\"a\":1}", "r=3"], r#"{"x":{"a":1},"r":3}"#);
    check(&["ids=1, 2", "tags=a,b"], r#"{"ids":[1,2],"tags":["a,b"]}"#);
    check(&["e=THREE"], r#"{"e":"three"}"#);
    check(&["e=1", "n=2"], r#"{"e":"1","n":2}"#);
    check(&["e=2"], r#"{"e":2}"#);
    check(&["s:=5", "tags:=[]"], r#"{"s":5,"tags":[]}"#);
}

#[test]
fn a_member_of_an_object_is_named_behind_a_dot() {
    #[track_caller]
    fn check(typed: &[&str], expect: &str) {
        assert_eq!(made(typed, SCHEMA), expect, "{typed:?}");
    }
    check(
        &["in.n=5", "s=x", "in.s=5"],
        r#"{"in":{"n":5,"s":"5"},"s":"x"}"#,
    );
    check(&["maybe.n=5"], r#"{"maybe":{"n":5}}"#);
    check(&["x.any=5", "x.other=y"], r#"{"x":{"any":5,"other":"y"}}"#);
    check(&["in.deep.a=1"], r#"{"in":{"deep":{"a":1}}}"#);
    // A property of that name is meant by its name, and what is no object has no members.
    check(&["a.b=5"], r#"{"a.b":"5"}"#);
    check(&["s.x=5", "z.y=5"], r#"{"s.x":5,"z.y":5}"#);
    check(&["in.n:=\"5\""], r#"{"in":{"n":"5"}}"#);
}

#[test]
fn values_alone_are_the_arguments_in_their_order_the_required_ones_first() {
    let schema = r#"{"properties":{"a":{},"b":{},"c":{}},"required":["c","b"]}"#;
    let schema = Schema::of(Some(&Raw::parse(schema).unwrap()));
    let values = |json: &str| Raw::parse(json).unwrap().array().unwrap();
    let object = by_order(values(r#"["x",2,null]"#), &schema).unwrap();
    assert_eq!(Raw::from(object).as_str(), r#"{"b":"x","c":2,"a":null}"#);
    let error = by_order(values("[1,2,3,4]"), &schema).unwrap_err();
    assert_eq!(
        error.error.message,
        "4 values were given, and the tool takes 3: b, c, a"
    );
}

#[test]
fn a_colon_between_key_and_value_is_what_others_write() {
    #[track_caller]
    fn check(typed: &[&str], expect: &str) {
        assert_eq!(made(typed, SCHEMA), expect, "{typed:?}");
    }
    check(&["s:hi", "n:5"], r#"{"s":"hi","n":5}"#);
    check(
        &["s:https://x.example/?a=b"],
        r#"{"s":"https://x.example/?a=b"}"#,
    );
    check(&["other:key=5"], r#"{"other:key":5}"#);
    check(&["s=a:b"], r#"{"s":"a:b"}"#);
}

#[test]
fn an_argument_that_the_schema_does_not_have_is_named_with_its_neighbour() {
    let closed = r#"{"properties":{"message":{},"limit":{}},"additionalProperties":false}"#;
    let open = r#"{"properties":{"message":{}},"additionalProperties":{"type":"string"}}"#;
    let strangers = |schema: &str, object: &str| {
        let schema = Schema::of(Some(&Raw::parse(schema).unwrap()));
        schema.strangers(&Raw::parse(object).unwrap().object().unwrap())
    };
    assert_eq!(
        strangers(closed, r#"{"mesage":"x","limit":1,"zzzzzz":1}"#),
        [
            ("mesage".to_owned(), vec!["message".to_owned()]),
            ("zzzzzz".to_owned(), vec![])
        ]
    );
    assert_eq!(strangers(open, r#"{"mesage":"x"}"#), []);
    assert_eq!(strangers("{}", r#"{"mesage":"x"}"#), []);
}

#[test]
fn without_a_schema_json_is_json_and_the_rest_is_text() {
    assert_eq!(
        made(&["a=5", "b=x", "c=a", "c=b"], "{}"),
        r#"{"a":5,"b":"x","c":["a","b"]}"#
    );
}

#[test]
fn a_file_is_text_or_the_whole_object() {
    let home = testkit::TempHome::new();
    let text = home.write("t.txt", "5");
    let whole = home.write("w.json", r#"{"n": 1}"#);
    assert_eq!(
        made(&[&format!("n=@{}", text.display())], SCHEMA),
        r#"{"n":"5"}"#
    );
    assert_eq!(
        made(&[&format!("@{}", whole.display())], SCHEMA),
        r#"{"n":1}"#
    );
    let error = read(&words(&["@/no/such/file"])).unwrap_err();
    assert!(error.error.message.contains("/no/such/file"), "{error:?}");
}

#[test]
fn wrong_json_is_told_with_its_place_and_what_was_expected() {
    #[track_caller]
    fn check(typed: &str, expect: &[&str]) {
        let error = read(&words(&[typed])).unwrap_err();
        let told = format!(
            "{}\n{}",
            error.error.message,
            error.error.hint.unwrap_or_default()
        );
        for part in expect {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    check(
        r#"{"message":"hi" "x":1}"#,
        &["line 1, column 17", "'{\"message\":\"hi\"}'"],
    );
    check("[1]", &["an array", "expected a JSON object"]);
    check("\"text\"", &["a string"]);
    check("5", &["a number, `5`"]);
    check("hello", &["`hello` is no `key=value`", "JSON object"]);
    check(r#"{"a":1,"a":2}"#, &["`a` twice"]);
    check("{'a':1}", &["key must be a string at line 1, column 2"]);
    check("@", &["`@` names no file"]);
    let error = read(&words(&["n=1", "x"])).unwrap_err();
    assert!(error.error.message.contains("`x` is no `key=value`"));
    let error = read(&words(&["a:={"])).unwrap_err();
    assert!(error.error.message.contains("the values of `a`"));
}

#[test]
fn a_key_that_takes_one_value_is_not_given_twice() {
    let Arguments::Pairs(pairs) = read(&words(&["n=1", "n=2"])).unwrap() else {
        panic!("pairs");
    };
    let schema = Schema::of(Some(&Raw::parse(SCHEMA).unwrap()));
    let error = by_schema(&pairs, &schema).unwrap_err();
    assert!(
        error.error.message.contains("`n` was given 2 times"),
        "{error:?}"
    );
}

proptest! {
    #[test]
    fn any_words_are_an_object_or_a_failure(typed in proptest::collection::vec("[^@-]{0,12}|[a-z]{1,3}:?=.{0,6}|\\{.{0,12}", 0..4)) {
        match read(&typed) {
            Ok(Arguments::Whole(object)) => prop_assert!(serde_json::from_str::<serde_json::Value>(Raw::from(object).as_str()).is_ok()),
            Ok(Arguments::Pairs(pairs)) => {
                let schema = Schema::of(Some(&Raw::parse(SCHEMA).unwrap()));
                if let Ok(object) = by_schema(&pairs, &schema) {
                    let text = Raw::from(object).as_str().to_owned();
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
                }
            }
            Ok(Arguments::Listed(_)) => prop_assert!(false, "words are no call"),
            Err(failure) => prop_assert!(!failure.error.message.is_empty()),
        }
    }

    #[test]
    fn a_property_of_strings_keeps_every_text(text in "[^@].{0,20}|") {
        let schema = Schema::of(Some(&Raw::parse(SCHEMA).unwrap()));
        let Arguments::Pairs(pairs) = read(&[format!("s={text}"), "n=1".to_owned()]).unwrap() else { panic!("pairs") };
        prop_assert_eq!(by_schema(&pairs, &schema).unwrap().string("s"), Some(text));
    }
}
