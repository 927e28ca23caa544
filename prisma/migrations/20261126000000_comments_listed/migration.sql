-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS comments_listed ON comments (tenant_id, discussion_id, parent_id, pinned_at NULLS FIRST, id) WHERE status IN ('approved', 'deleted') AND (status = 'approved' OR reply_count > 0);
