-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS deliveries_in_order ON deliveries (tenant_id, endpoint_id, discussion_id, seq, id) WHERE status IN ('pending', 'delivering', 'held');
