-- GraphQL documents that a tenant's clients run by their ids.
CREATE TABLE documents (
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  id text NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);

CREATE TABLE document_aliases (
  tenant_id uuid NOT NULL,
  alias text NOT NULL,
  document_id text NOT NULL,
  PRIMARY KEY (tenant_id, alias),
  FOREIGN KEY (tenant_id, document_id) REFERENCES documents (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX document_aliases_tenant_id_document_id_idx ON document_aliases (tenant_id, document_id);
