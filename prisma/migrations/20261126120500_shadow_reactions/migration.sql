-- What a reader who is banned in shadow has last chosen as their reaction to a comment: only they see it.
CREATE TABLE shadow_reactions (
  tenant_id uuid NOT NULL,
  comment_id uuid NOT NULL,
  reader_id uuid NOT NULL,
  type text,
  updated_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, comment_id, reader_id),
  FOREIGN KEY (tenant_id, comment_id) REFERENCES comments (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (tenant_id, reader_id) REFERENCES readers (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX shadow_reactions_tenant_id_reader_id_idx ON shadow_reactions (tenant_id, reader_id);
