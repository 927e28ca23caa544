-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS analytics_activity_tenant_id_reader_id_interval_at_idx ON analytics_activity (tenant_id, reader_id, interval, at);
