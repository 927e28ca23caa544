-- Readers that were made one with another, and those whose rows are still on their way.
CREATE TABLE reader_merges (
  tenant_id uuid NOT NULL,
  reader_id uuid NOT NULL,
  into_id uuid NOT NULL,
  alias_id uuid NOT NULL,
  merging_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, reader_id),
  FOREIGN KEY (tenant_id, into_id) REFERENCES readers (tenant_id, id),
  FOREIGN KEY (tenant_id, alias_id) REFERENCES readers (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX reader_merges_tenant_id_alias_id_key ON reader_merges (tenant_id, alias_id);
CREATE INDEX reader_merges_tenant_id_into_id_idx ON reader_merges (tenant_id, into_id);
CREATE INDEX reader_merges_under_way ON reader_merges (merging_at) WHERE merging_at IS NOT NULL;
