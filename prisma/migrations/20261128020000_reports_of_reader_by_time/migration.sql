-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "reports_of_reader_by_time" ON "reports" ("tenant_id", "reader_id", "created_at", "comment_id")
  WHERE created_at >= '-infinity';
