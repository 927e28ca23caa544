-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "guest_requests_tenant_id_mailbox_digest_created_at_idx"
  ON "guest_requests" ("tenant_id", "mailbox_digest", "created_at");
