-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS reactions_tenant_id_reader_id_idx;
