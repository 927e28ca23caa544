-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS reactions_tenant_id_reader_id_comment_id_idx ON reactions (tenant_id, reader_id, comment_id);
