-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "discussions_closing_idx" ON "discussions" ("closes_at")
  WHERE closes_at IS NOT NULL AND auto_closed_at IS NULL AND state <> 'archived';
