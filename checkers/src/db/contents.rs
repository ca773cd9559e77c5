//! The contents of the two tables of the transaction checker, and the SQL that reads and makes
//! them.

use std::collections::BTreeMap;

use explode_components::db::sqlite::rusqlite::Row;
use explode_components::db::sqlite::{Database, SqliteError};

/// The rows of both tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Contents {
    pub a: BTreeMap<i64, String>,
    pub b: BTreeMap<i64, String>,
}

impl Contents {
    /// Reads both tables.
    pub fn read(database: &Database) -> Result<Contents, SqliteError> {
        let table = |name: &str| {
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let rows = database.query(&format!("SELECT id, v FROM {name}"), [], row)?;
            Ok(rows.into_iter().collect())
        };
        Ok(Contents { a: table("a")?, b: table("b")? })
    }

    /// Returns the SQL that turns these contents into `wanted`, one statement per changed row.
    pub fn sql_to(&self, wanted: &Contents) -> String {
        let mut sql = String::new();
        for (name, from, to) in [("a", &self.a, &wanted.a), ("b", &self.b, &wanted.b)] {
            for id in from.keys().filter(|id| !to.contains_key(id)) {
                sql += &format!("DELETE FROM {name} WHERE id = {id};");
            }
            for (id, v) in to.iter().filter(|(id, v)| from.get(id) != Some(v)) {
                sql += &format!("INSERT OR REPLACE INTO {name} VALUES({id}, '{v}');");
            }
        }
        sql
    }
}
