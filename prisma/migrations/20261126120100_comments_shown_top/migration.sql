-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS comments_shown_top ON comments (tenant_id, discussion_id, parent_id, reaction_count, reply_count, id) WHERE status = 'approved' OR reply_count > 0;
