-- Version 6. Pages, boxes and tables of documents: one compressed JSON value per record.

CREATE TABLE layouts (record INTEGER PRIMARY KEY REFERENCES records (id), body BLOB NOT NULL);
