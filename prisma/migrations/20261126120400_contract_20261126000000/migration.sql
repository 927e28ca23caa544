-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS comments_pinned;
