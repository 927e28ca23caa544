-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS reports_by_time ON reports (tenant_id, comment_id, created_at, reader_id);
