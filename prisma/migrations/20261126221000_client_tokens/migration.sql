-- The credentials of browsers (`ct_…`). They live for an hour at most.
CREATE TABLE client_tokens (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  digest bytea NOT NULL,
  minter_id uuid NOT NULL,
  reader_id uuid,
  discussion_ids uuid[] NOT NULL DEFAULT '{}',
  external_ids text[] NOT NULL DEFAULT '{}',
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (tenant_id, reader_id) REFERENCES readers (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX client_tokens_digest_key ON client_tokens (digest);
CREATE INDEX client_tokens_tenant_id_expires_at_idx ON client_tokens (tenant_id, expires_at);
CREATE INDEX client_tokens_of_reader ON client_tokens (tenant_id, reader_id, expires_at) WHERE reader_id IS NOT NULL;
