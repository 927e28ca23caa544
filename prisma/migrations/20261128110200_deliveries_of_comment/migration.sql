-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deliveries_of_comment" ON "deliveries" ("tenant_id", "comment_id", "id")
  WHERE comment_id IS NOT NULL;
