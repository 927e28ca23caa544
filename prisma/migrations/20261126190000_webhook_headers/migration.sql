-- An endpoint's own headers, and the discussions that it is limited to (none: all).
ALTER TABLE webhook_endpoints ADD COLUMN discussion_ids uuid[] NOT NULL DEFAULT '{}';

CREATE TABLE webhook_headers (
  tenant_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  name text NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (tenant_id, endpoint_id, name),
  FOREIGN KEY (tenant_id, endpoint_id) REFERENCES webhook_endpoints (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);
