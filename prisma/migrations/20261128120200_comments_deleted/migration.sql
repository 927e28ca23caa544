-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "comments_deleted_of_discussion" ON "comments" ("tenant_id", "discussion_id", "id")
  WHERE status = 'deleted';
