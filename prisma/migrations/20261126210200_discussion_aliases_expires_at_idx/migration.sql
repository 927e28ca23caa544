-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS discussion_aliases_expires_at_idx ON discussion_aliases (expires_at);
