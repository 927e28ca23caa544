-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS reports_tenant_id_reader_id_idx;
