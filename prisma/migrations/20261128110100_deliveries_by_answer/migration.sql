-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deliveries_by_answer" ON "deliveries" ("tenant_id", "endpoint_id", "last_answer", "id")
  WHERE last_answer IS NOT NULL;
