-- 1 sessions, tasks, journal, outbox
CREATE TABLE delivery (
  id BLOB PRIMARY KEY NOT NULL,
  session BLOB NOT NULL,
  task BLOB,
  type TEXT NOT NULL,
  url TEXT NOT NULL,
  secret TEXT,
  payload BLOB NOT NULL,
  created INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  next_attempt INTEGER NOT NULL,
  last_status INTEGER,
  last_error TEXT
);
CREATE INDEX delivery_due ON delivery (next_attempt) WHERE state = 'pending';
CREATE TABLE idempotency (
  key TEXT PRIMARY KEY NOT NULL,
  fingerprint BLOB NOT NULL,
  status INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  location TEXT,
  body BLOB NOT NULL,
  created INTEGER NOT NULL
);
CREATE INDEX idempotency_by_age ON idempotency (created);
CREATE TABLE journal (
  first INTEGER PRIMARY KEY NOT NULL,
  last INTEGER NOT NULL,
  session BLOB NOT NULL,
  task BLOB,
  stream TEXT NOT NULL
);
CREATE INDEX journal_by_session ON journal (session, first);
CREATE INDEX journal_by_task ON journal (task, first) WHERE task IS NOT NULL;
CREATE TABLE session (
  id BLOB PRIMARY KEY NOT NULL,
  created INTEGER NOT NULL,
  state TEXT NOT NULL,
  document TEXT NOT NULL,
  last_identifier INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE task (
  id BLOB PRIMARY KEY NOT NULL,
  session BLOB NOT NULL,
  identifier INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  suspend_count INTEGER NOT NULL,
  created INTEGER NOT NULL,
  specification TEXT NOT NULL,
  request_body BLOB,
  outcome TEXT,
  metrics TEXT,
  has_body_file INTEGER NOT NULL DEFAULT 0,
  small_body BLOB
);
CREATE INDEX task_by_session ON task (session, id);
CREATE INDEX task_unfinished ON task (id) WHERE state <> 'completed';
