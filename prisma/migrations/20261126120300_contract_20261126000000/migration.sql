-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS comments_in_view;
