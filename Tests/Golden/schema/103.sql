-- 103 lists of deliveries, ends of groups, and groups and labels of events
CREATE TABLE command (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  session BLOB NOT NULL,
  sealed TEXT NOT NULL
);
CREATE TABLE configuration (
  tenant TEXT NOT NULL,
  key BLOB NOT NULL,
  name BLOB NOT NULL,
  document BLOB NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE TABLE cookie (
  session BLOB NOT NULL,
  key BLOB NOT NULL,
  sealed TEXT NOT NULL,
  PRIMARY KEY (session, key)
);
CREATE TABLE credential (
  session BLOB NOT NULL,
  space BLOB NOT NULL,
  sealed TEXT NOT NULL,
  PRIMARY KEY (session, space)
) WITHOUT ROWID;
CREATE TABLE decision (
  id BLOB PRIMARY KEY NOT NULL,
  session BLOB NOT NULL,
  task BLOB NOT NULL,
  type TEXT NOT NULL,
  state TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  question INTEGER,
  default_answer TEXT NOT NULL,
  arguments BLOB NOT NULL,
  answer BLOB,
  answer_tag BLOB
);
CREATE INDEX decision_by_session ON decision (session, id);
CREATE INDEX decision_by_task ON decision (task);
CREATE INDEX decision_pending ON decision (id) WHERE state = 'pending';
CREATE TABLE delivery (
  id BLOB PRIMARY KEY NOT NULL,
  session BLOB NOT NULL,
  task BLOB,
  decision BLOB,
  type TEXT NOT NULL,
  url BLOB NOT NULL,
  secret TEXT,
  payload BLOB NOT NULL,
  created INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  last_attempt INTEGER NOT NULL,
  next_attempt INTEGER NOT NULL,
  last_status INTEGER,
  last_error BLOB,
  finished INTEGER
, tenant TEXT NOT NULL DEFAULT '', destination BLOB NOT NULL DEFAULT X'', endpoint BLOB, place INTEGER NOT NULL DEFAULT 0, schedule_place INTEGER NOT NULL DEFAULT 0, history BLOB);
CREATE INDEX delivery_by_endpoint ON delivery (endpoint, id) WHERE endpoint IS NOT NULL;
CREATE INDEX delivery_by_endpoint_and_state ON delivery (endpoint, state, id) WHERE endpoint IS NOT NULL;
CREATE INDEX delivery_by_failed ON delivery (tenant, id) WHERE state = 'failed';
CREATE INDEX delivery_by_session ON delivery (session);
CREATE INDEX delivery_by_state ON delivery (tenant, state, id);
CREATE INDEX delivery_by_task ON delivery (task, id) WHERE task IS NOT NULL;
CREATE INDEX delivery_by_tenant ON delivery (tenant, id);
CREATE INDEX delivery_due ON delivery (destination, next_attempt) WHERE state = 'pending' AND place <> 2;
CREATE INDEX delivery_finished ON delivery (finished) WHERE finished IS NOT NULL;
CREATE INDEX delivery_pending_by_task ON delivery (task, destination) WHERE state = 'pending';
CREATE TABLE file (
  id BLOB PRIMARY KEY NOT NULL,
  tenant TEXT NOT NULL,
  created INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  content_type BLOB,
  task BLOB
);
CREATE INDEX file_by_tenant ON file (tenant, id);
CREATE TABLE idempotency (
  tenant TEXT NOT NULL,
  key BLOB NOT NULL,
  name BLOB NOT NULL,
  fingerprint BLOB NOT NULL,
  status INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  location BLOB,
  body BLOB NOT NULL,
  created INTEGER NOT NULL,
  session BLOB,
  PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created);
CREATE TABLE journal (
  first INTEGER PRIMARY KEY NOT NULL,
  last INTEGER NOT NULL,
  tenant TEXT,
  session BLOB NOT NULL,
  task BLOB,
  time INTEGER NOT NULL,
  stream BLOB NOT NULL
, tags BLOB);
CREATE INDEX journal_by_session ON journal (session, first);
CREATE INDEX journal_by_task ON journal (task, first) WHERE task IS NOT NULL;
CREATE INDEX journal_by_tenant ON journal (tenant, first);
CREATE TABLE journal_pruning (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  through INTEGER NOT NULL,
  time INTEGER NOT NULL
);
CREATE TABLE journal_pruning_by_tenant (
  tenant TEXT PRIMARY KEY NOT NULL,
  through INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE key_check (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  sealed TEXT NOT NULL
);
CREATE TABLE news (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  sealed TEXT NOT NULL
);
CREATE TABLE owner (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  epoch INTEGER NOT NULL
);
CREATE TABLE process (
  epoch INTEGER PRIMARY KEY,
  address TEXT NOT NULL,
  retiring INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE sequence_reservation (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  last INTEGER NOT NULL
);
CREATE TABLE session (
  id BLOB PRIMARY KEY NOT NULL,
  tenant TEXT NOT NULL,
  type TEXT NOT NULL,
  created INTEGER NOT NULL,
  state TEXT NOT NULL,
  document BLOB NOT NULL,
  last_identifier INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE shard (
  byte BLOB PRIMARY KEY NOT NULL,
  epoch INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE task (
  id BLOB PRIMARY KEY NOT NULL,
  session BLOB NOT NULL,
  identifier INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  suspend_count INTEGER NOT NULL,
  created INTEGER NOT NULL,
  specification BLOB NOT NULL,
  request_body BLOB,
  outcome BLOB,
  metrics BLOB,
  has_body_file INTEGER NOT NULL DEFAULT 0,
  small_body BLOB,
  completed INTEGER,
  kept_until INTEGER,
  kept_bytes INTEGER,
  is_pruned INTEGER NOT NULL DEFAULT 0
, tenant TEXT, group_key BLOB, result TEXT, sent INTEGER, received INTEGER);
CREATE INDEX task_by_end ON task (completed, kept_bytes) WHERE completed IS NOT NULL;
CREATE INDEX task_by_expiry ON task (kept_until) WHERE kept_until IS NOT NULL;
CREATE INDEX task_by_group ON task (group_key, id, state, result, sent, received)
  WHERE group_key IS NOT NULL;
CREATE INDEX task_by_tenant ON task (tenant, id);
CREATE INDEX task_finished ON task (session, id, kind) WHERE state = 'completed';
CREATE TABLE task_group (
  tenant TEXT NOT NULL,
  key BLOB NOT NULL,
  name BLOB NOT NULL,
  created INTEGER NOT NULL,
  closed INTEGER,
  completed INTEGER,
  counts BLOB,
  PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX task_group_by_age ON task_group (tenant, created, key);
CREATE INDEX task_group_by_end ON task_group (coalesce(completed, created))
  WHERE closed IS NULL OR completed IS NOT NULL;
CREATE INDEX task_group_closed ON task_group (tenant, key) WHERE closed IS NOT NULL AND completed IS NULL;
CREATE TABLE task_label (
  key BLOB NOT NULL,
  task BLOB NOT NULL,
  PRIMARY KEY (key, task)
) WITHOUT ROWID;
CREATE INDEX task_label_by_task ON task_label (task);
CREATE TRIGGER task_label_deletion AFTER DELETE ON task
BEGIN DELETE FROM task_label WHERE task = OLD.id; END;
CREATE INDEX task_unfinished ON task (session, id, state, kind) WHERE state <> 'completed';
CREATE INDEX task_unfinished_by_group ON task (group_key) WHERE group_key IS NOT NULL AND state <> 'completed';
CREATE INDEX task_unfinished_by_tenant ON task (tenant, id) WHERE state <> 'completed';
CREATE INDEX task_unsuccessful ON task (tenant, id) WHERE result <> 'succeeded';
CREATE TABLE webhook_endpoint (
  id BLOB PRIMARY KEY NOT NULL,
  tenant TEXT NOT NULL,
  created INTEGER NOT NULL,
  document BLOB NOT NULL
);
CREATE TABLE work (
  task BLOB PRIMARY KEY NOT NULL,
  session BLOB NOT NULL,
  sealed TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE worker (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  epoch INTEGER NOT NULL
);
