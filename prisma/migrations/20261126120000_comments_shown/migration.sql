-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS comments_shown ON comments (tenant_id, discussion_id, parent_id, pinned_at NULLS FIRST, id) WHERE status = 'approved' OR reply_count > 0;
