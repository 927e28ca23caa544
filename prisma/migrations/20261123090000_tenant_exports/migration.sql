-- Copies of all that is a tenant's, made by a worker for download, and gone a day later.
CREATE TABLE tenant_exports (
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  id uuid NOT NULL,
  erasures integer NOT NULL DEFAULT 0,
  bytes bigint,
  error text,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  completed_at timestamptz(3),
  expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, id)
);

CREATE INDEX tenant_exports_waiting ON tenant_exports (id) WHERE expires_at IS NULL;

CREATE TABLE tenant_export_pieces (
  tenant_id uuid NOT NULL,
  export_id uuid NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (tenant_id, export_id, n),
  FOREIGN KEY (tenant_id, export_id) REFERENCES tenant_exports (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);
