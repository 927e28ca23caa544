-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS deliveries_failed ON deliveries (tenant_id, endpoint_id, id) WHERE status = 'failed';
