-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "tenants_to_remove" ON "tenants" ("removal_due_at")
  WHERE removal_due_at IS NOT NULL;
