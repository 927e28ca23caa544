-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_log_of_readers ON audit_log (tenant_id, target_id, id) WHERE target_type = 'reader' AND (before IS NOT NULL OR after IS NOT NULL);
