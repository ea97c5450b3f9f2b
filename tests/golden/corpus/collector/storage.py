"""The SQLite store of readings: one writer, many readers."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from collector.readings import Reading

SCHEMA = """
create table if not exists reading (hive text, at integer, weight_kg real, celsius real, humidity real,
  primary key (hive, at)) without rowid;
create table if not exists hourly (hive text, hour integer, mean real, low real, high real, n integer,
  primary key (hive, hour)) without rowid;
"""


class ReadingStore:
    """Opened by the collector, which is the only writer."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute("pragma journal_mode = wal")
        self.connection.executescript(SCHEMA)

    def insert_readings(self, readings: Iterable[Reading]) -> int:
        """Store what is new; a reading sent twice is stored once."""
        rows = [(it.hive, it.at, it.weight_kg, it.celsius, it.humidity) for it in readings]
        with self.connection:
            cursor = self.connection.executemany("insert or ignore into reading values (?, ?, ?, ?, ?)", rows)
        return cursor.rowcount

    def fold_older_than(self, cutoff: int) -> None:
        """Replace raw readings before the cutoff by hourly means."""
        with self.connection:
            self.connection.execute(
                "insert or replace into hourly select hive, at / 3600, avg(weight_kg), min(weight_kg), max(weight_kg),"
                " count(*) from reading where at < ? group by hive, at / 3600",
                (cutoff,),
            )
            self.connection.execute("delete from reading where at < ?", (cutoff,))
