-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "comment_revisions_public"
  ON "comment_revisions" ("tenant_id", "comment_id", "revision") WHERE was_public;
