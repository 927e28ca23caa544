-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS analytics_activity_tenant_id_reader_id_interval_at_idx;
