//! What SQL of a person may do.

use super::*;

#[test]
fn sql_reads_and_nothing_else() {
    let bench = Bench::new();
    let records: Vec<_> = (0..20)
        .map(|n| (n, call("files", "read", 1.0, true)))
        .collect();
    bench.put("a.jsonl", &records);
    let mut index = bench.index();
    let limits = SqlLimits {
        rows: 10,
        time: Duration::from_secs(20),
    };
    for text in [
        "SELECT tool, count(*) AS n FROM records GROUP BY tool",
        " -- a remark\n/* and one */ select 'read' AS tool, 20 AS n;",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20) SELECT 'read' AS tool, max(x) AS n FROM c",
    ] {
        let table = index.sql(text, limits).unwrap();
        assert_eq!(table.columns, ["tool", "n"], "{text}");
        assert_eq!(
            (table.rows, table.cut),
            (vec![vec![json!("read"), json!(20)]], false)
        );
    }
    assert!(
        !index
            .sql("EXPLAIN QUERY PLAN SELECT * FROM records", limits)
            .unwrap()
            .rows
            .is_empty()
    );
    let many = index.sql("SELECT * FROM records", limits).unwrap();
    assert_eq!((many.rows.len(), many.cut), (10, true));
    assert_eq!(
        index.sql("SELECT x'00ff', NULL, 1.5", limits).unwrap().rows[0],
        [json!("(2 bytes)"), json!(null), json!(1.5)]
    );
    let other = bench.state.path("other.db");
    for text in [
        "DELETE FROM records",
        "INSERT INTO records DEFAULT VALUES",
        "UPDATE records SET msg = ''",
        "DROP TABLE records",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        &format!("ATTACH '{}' AS o", other.display()),
        &format!("VACUUM INTO '{}'", other.display()),
        "PRAGMA user_version = 0",
        "PRAGMA journal_mode = DELETE",
        "SELECT 1; DELETE FROM records",
        "SELECT 1; SELECT 2",
        "WITH x AS (SELECT 1) DELETE FROM records",
        "WITH x AS (SELECT 1) INSERT INTO records SELECT * FROM records",
        "EXPLAIN DELETE FROM records",
        "SELECT load_extension('x')",
        "SELECT * FROM pragma_table_info('records')",
        "BEGIN",
        "",
        "-- only a remark",
    ] {
        assert!(
            matches!(index.sql(text, limits), Err(SqlError::Refused(_))),
            "{text}: {:?}",
            index.sql(text, limits)
        );
    }
    for text in [
        "SELECT",
        "SELECT nope FROM records",
        "SELECT randomblob(2000000000)",
        "SELECT 'a\0b",
    ] {
        assert!(
            matches!(index.sql(text, limits), Err(SqlError::Failed(_))),
            "{text}: {:?}",
            index.sql(text, limits)
        );
    }
    assert!(!other.exists());
    assert_eq!(index.query(&Query::default()).unwrap().len(), 20);
}

#[test]
fn a_query_without_end_is_ended() {
    let bench = Bench::new();
    let mut index = bench.index();
    let limits = SqlLimits {
        rows: 10,
        time: Duration::from_millis(50),
    };
    let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    assert!(matches!(
        index.sql(endless, limits),
        Err(SqlError::TooLong(_))
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_as_sql_changes_nothing(text in ".{0,40}", word in "(SELECT|WITH|EXPLAIN|DELETE FROM) (records|\\*|1|x)?") {
        let bench = Bench::new();
        bench.put("a.jsonl", &[(0, record("one"))]);
        let mut index = bench.index();
        drop(index.sql(&format!("{word} {text}"), SqlLimits::default()));
        prop_assert_eq!(index.query(&Query::default()).unwrap().len(), 1);
    }
}
