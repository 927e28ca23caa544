-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "discussions_to_remove" ON "discussions" ("removal_due_at")
  WHERE removal_due_at IS NOT NULL;
