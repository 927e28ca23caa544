-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS reports_tenant_id_reader_id_comment_id_idx ON reports (tenant_id, reader_id, comment_id);
