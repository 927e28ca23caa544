-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "discussions_to_close_by_age" ON "discussions" ("tenant_id", "created_at")
  WHERE auto_closed_at IS NULL AND closes_at IS NULL AND state <> 'archived';
