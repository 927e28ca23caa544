-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS analytics_activity_tenant_id_reader_id_idx;
