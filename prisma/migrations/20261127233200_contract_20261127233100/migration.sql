-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS "discussions_to_close";
