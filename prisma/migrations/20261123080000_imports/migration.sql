-- What has been moved in, and what of it waits for something that the file has not brought yet.
CREATE TABLE imports (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  source text NOT NULL,
  file_name text NOT NULL,
  counts jsonb NOT NULL DEFAULT '{}',
  refused jsonb NOT NULL DEFAULT '{}',
  changed jsonb NOT NULL DEFAULT '{}',
  removed jsonb NOT NULL DEFAULT '{}',
  started_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  undone_at timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE import_items (
  tenant_id uuid NOT NULL,
  key uuid NOT NULL,
  kind text NOT NULL,
  item_id uuid,
  import_id uuid NOT NULL,
  made boolean NOT NULL,
  touched boolean NOT NULL DEFAULT false,
  latest_at timestamptz(3),
  PRIMARY KEY (tenant_id, key),
  FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT import_items_kind CHECK (kind IN ('reader', 'discussion', 'comment', 'name')),
  CONSTRAINT import_items_item CHECK (item_id IS NOT NULL OR kind IN ('reader', 'name'))
);
CREATE INDEX import_items_readers ON import_items (tenant_id, item_id) WHERE kind = 'reader';
CREATE INDEX import_items_touched ON import_items (tenant_id, item_id) WHERE touched;
CREATE INDEX import_items_names ON import_items (tenant_id, import_id) WHERE kind = 'name';

CREATE TABLE import_waiting (
  tenant_id uuid NOT NULL,
  import_id uuid NOT NULL,
  key uuid NOT NULL,
  comment_key uuid,
  reader_key uuid,
  place text NOT NULL,
  item jsonb NOT NULL,
  PRIMARY KEY (tenant_id, key, import_id),
  FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX import_waiting_comments ON import_waiting (tenant_id, comment_key, import_id);
CREATE INDEX import_waiting_readers ON import_waiting (tenant_id, reader_key);

-- Which import has brought an entry. Entries of a file may say anything.
ALTER TABLE audit_log ADD COLUMN import_id uuid;
