-- Processes of the version before write on while this runs. Their writes wait here until it is over, so that each is
-- counted once, below or by a trigger; they read on. In the order in which all writers take these tables.
LOCK TABLE "reports", "reactions", "comments", "deliveries" IN SHARE ROW EXCLUSIVE MODE;

-- CreateEnum
CREATE TYPE "analytics_metric" AS ENUM ('comments_pending', 'comments_approved', 'comments_rejected', 'comments_deleted', 'reactions', 'reports', 'deliveries_pending', 'deliveries_delivered', 'deliveries_failed', 'deliveries_held', 'deliveries_cancelled');

-- CreateEnum
CREATE TYPE "analytics_interval" AS ENUM ('hour', 'day');

-- CreateTable
CREATE TABLE "analytics_deltas" (
    "tenant_id" UUID NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "discussion_id" UUID,
    "reader_id" UUID,
    "metric" "analytics_metric" NOT NULL,
    "n" INTEGER NOT NULL,

    CONSTRAINT "analytics_deltas_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "analytics_buckets" (
    "tenant_id" UUID NOT NULL,
    "interval" "analytics_interval" NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "comments_pending" INTEGER NOT NULL DEFAULT 0,
    "comments_approved" INTEGER NOT NULL DEFAULT 0,
    "comments_rejected" INTEGER NOT NULL DEFAULT 0,
    "comments_deleted" INTEGER NOT NULL DEFAULT 0,
    "reactions" INTEGER NOT NULL DEFAULT 0,
    "reports" INTEGER NOT NULL DEFAULT 0,
    "deliveries_pending" INTEGER NOT NULL DEFAULT 0,
    "deliveries_delivered" INTEGER NOT NULL DEFAULT 0,
    "deliveries_failed" INTEGER NOT NULL DEFAULT 0,
    "deliveries_held" INTEGER NOT NULL DEFAULT 0,
    "deliveries_cancelled" INTEGER NOT NULL DEFAULT 0,
    "active_readers" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "analytics_buckets_pkey" PRIMARY KEY ("tenant_id","interval","at")
);

-- CreateTable
CREATE TABLE "analytics_activity" (
    "tenant_id" UUID NOT NULL,
    "interval" "analytics_interval" NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "reader_id" UUID NOT NULL,
    "actions" INTEGER NOT NULL,
    "comments_approved" INTEGER NOT NULL,

    CONSTRAINT "analytics_activity_pkey" PRIMARY KEY ("tenant_id","interval","at","reader_id")
);

-- CreateTable
CREATE TABLE "analytics_discussions" (
    "tenant_id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "discussion_id" UUID NOT NULL,
    "comments_approved" INTEGER NOT NULL,

    CONSTRAINT "analytics_discussions_pkey" PRIMARY KEY ("tenant_id","at","discussion_id")
);

-- CreateIndex
CREATE INDEX "analytics_activity_tenant_id_reader_id_idx" ON "analytics_activity"("tenant_id", "reader_id");

-- AddForeignKey
ALTER TABLE "analytics_buckets" ADD CONSTRAINT "analytics_buckets_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "analytics_activity" ADD CONSTRAINT "analytics_activity_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "analytics_discussions" ADD CONSTRAINT "analytics_discussions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- Whoever changes what analytics count appends signed deltas in the same transaction; a worker folds them into the
-- tables above. A column that is not listed costs an update nothing: comments change their counters all the time. For
-- the same reason rows that stay in the same place are left out by WHEN, before anything is queued: a lease, an edit.
CREATE FUNCTION "analytics_count_comments"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_LEVEL = 'STATEMENT' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n)
    SELECT tenant_id, date_trunc('hour', created_at, 'UTC'), discussion_id, author_id,
      ('comments_' || status)::analytics_metric, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END
    FROM changed;
  ELSE
    INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n) VALUES
      (OLD.tenant_id, date_trunc('hour', OLD.created_at, 'UTC'), OLD.discussion_id, OLD.author_id,
        ('comments_' || OLD.status)::analytics_metric, -1),
      (NEW.tenant_id, date_trunc('hour', NEW.created_at, 'UTC'), NEW.discussion_id, NEW.author_id,
        ('comments_' || NEW.status)::analytics_metric, 1);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "analytics_comments_created" AFTER INSERT ON "comments"
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "analytics_count_comments"();
CREATE TRIGGER "analytics_comments_gone" AFTER DELETE ON "comments"
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "analytics_count_comments"();
CREATE TRIGGER "analytics_comments_moved" AFTER UPDATE OF "status", "author_id", "discussion_id", "created_at" ON "comments"
  FOR EACH ROW WHEN (
    (OLD.status, OLD.author_id, OLD.discussion_id, OLD.created_at)
      IS DISTINCT FROM (NEW.status, NEW.author_id, NEW.discussion_id, NEW.created_at))
  EXECUTE FUNCTION "analytics_count_comments"();

-- A reaction counts while it is held, in the hour in which it was last set.
CREATE FUNCTION "analytics_count_reactions"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.type IS NOT NULL THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (OLD.tenant_id, date_trunc('hour', OLD.updated_at, 'UTC'), OLD.reader_id, 'reactions', -1);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.type IS NOT NULL THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (NEW.tenant_id, date_trunc('hour', NEW.updated_at, 'UTC'), NEW.reader_id, 'reactions', 1);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "analytics_reactions_given" AFTER INSERT ON "reactions"
  FOR EACH ROW WHEN (NEW.type IS NOT NULL) EXECUTE FUNCTION "analytics_count_reactions"();
CREATE TRIGGER "analytics_reactions_gone" AFTER DELETE ON "reactions"
  FOR EACH ROW WHEN (OLD.type IS NOT NULL) EXECUTE FUNCTION "analytics_count_reactions"();
CREATE TRIGGER "analytics_reactions_moved" AFTER UPDATE OF "type", "reader_id", "updated_at" ON "reactions"
  FOR EACH ROW WHEN (
    (CASE WHEN OLD.type IS NOT NULL THEN date_trunc('hour', OLD.updated_at, 'UTC') END, OLD.reader_id)
      IS DISTINCT FROM (CASE WHEN NEW.type IS NOT NULL THEN date_trunc('hour', NEW.updated_at, 'UTC') END, NEW.reader_id))
  EXECUTE FUNCTION "analytics_count_reactions"();

CREATE FUNCTION "analytics_count_reports"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (OLD.tenant_id, date_trunc('hour', OLD.created_at, 'UTC'), OLD.reader_id, 'reports', -1);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (NEW.tenant_id, date_trunc('hour', NEW.created_at, 'UTC'), NEW.reader_id, 'reports', 1);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "analytics_reports_made" AFTER INSERT OR DELETE ON "reports"
  FOR EACH ROW EXECUTE FUNCTION "analytics_count_reports"();
CREATE TRIGGER "analytics_reports_moved" AFTER UPDATE OF "reader_id", "created_at" ON "reports"
  FOR EACH ROW WHEN ((OLD.reader_id, OLD.created_at) IS DISTINCT FROM (NEW.reader_id, NEW.created_at))
  EXECUTE FUNCTION "analytics_count_reports"();

-- A delivery that is being attempted is pending still. One that goes away with its time or its endpoint keeps the outcome
-- that it had; where it had none, it is cancelled.
CREATE FUNCTION "analytics_count_deliveries"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, metric, n)
    SELECT tenant_id, date_trunc('hour', created_at, 'UTC'),
      CASE status WHEN 'delivering' THEN 'deliveries_pending' ELSE ('deliveries_' || status)::analytics_metric END, count(*)
    FROM changed GROUP BY 1, 2, 3;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, metric, n)
    SELECT c.tenant_id, date_trunc('hour', c.created_at, 'UTC'), m.metric, sum(m.n)
    FROM changed c CROSS JOIN LATERAL (VALUES
      (CASE c.status WHEN 'held' THEN 'deliveries_held' ELSE 'deliveries_pending' END::analytics_metric, -1),
      ('deliveries_cancelled', 1)
    ) m(metric, n)
    WHERE c.status IN ('pending', 'delivering', 'held')
    GROUP BY 1, 2, 3;
  ELSE
    INSERT INTO analytics_deltas (tenant_id, hour, metric, n) VALUES
      (OLD.tenant_id, date_trunc('hour', OLD.created_at, 'UTC'),
        CASE OLD.status WHEN 'delivering' THEN 'deliveries_pending' ELSE ('deliveries_' || OLD.status)::analytics_metric END, -1),
      (NEW.tenant_id, date_trunc('hour', NEW.created_at, 'UTC'),
        CASE NEW.status WHEN 'delivering' THEN 'deliveries_pending' ELSE ('deliveries_' || NEW.status)::analytics_metric END, 1);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "analytics_deliveries_made" AFTER INSERT ON "deliveries"
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "analytics_count_deliveries"();
CREATE TRIGGER "analytics_deliveries_gone" AFTER DELETE ON "deliveries"
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "analytics_count_deliveries"();
CREATE TRIGGER "analytics_deliveries_moved" AFTER UPDATE OF "status", "created_at" ON "deliveries"
  FOR EACH ROW WHEN (
    (CASE OLD.status WHEN 'delivering' THEN 'pending' ELSE OLD.status END, OLD.created_at)
      IS DISTINCT FROM (CASE NEW.status WHEN 'delivering' THEN 'pending' ELSE NEW.status END, NEW.created_at))
  EXECUTE FUNCTION "analytics_count_deliveries"();

-- What there is already.
WITH happened AS MATERIALIZED (
  SELECT tenant_id, date_trunc('hour', created_at, 'UTC') AS hour, discussion_id, author_id AS reader_id,
    ('comments_' || status)::analytics_metric AS metric
  FROM comments
  UNION ALL
  SELECT tenant_id, date_trunc('hour', updated_at, 'UTC'), NULL, reader_id, 'reactions' FROM reactions WHERE type IS NOT NULL
  UNION ALL
  SELECT tenant_id, date_trunc('hour', created_at, 'UTC'), NULL, reader_id, 'reports' FROM reports
  UNION ALL
  SELECT tenant_id, date_trunc('hour', created_at, 'UTC'), NULL, NULL,
    CASE status WHEN 'delivering' THEN 'deliveries_pending' ELSE ('deliveries_' || status)::analytics_metric END
  FROM deliveries
),
spread AS (
  SELECT h.tenant_id, i.interval, date_trunc(i.interval::text, h.hour, 'UTC') AS at, h.reader_id, h.metric
  FROM happened h CROSS JOIN (VALUES ('hour'::analytics_interval), ('day')) i(interval)
),
discussed AS (
  INSERT INTO analytics_discussions (tenant_id, at, discussion_id, comments_approved)
  SELECT tenant_id, date_trunc('day', hour, 'UTC'), discussion_id, count(*) FROM happened
  WHERE metric = 'comments_approved' GROUP BY 1, 2, 3
),
acted AS (
  INSERT INTO analytics_activity (tenant_id, interval, at, reader_id, actions, comments_approved)
  SELECT tenant_id, interval, at, reader_id, count(*), count(*) FILTER (WHERE metric = 'comments_approved') FROM spread
  WHERE reader_id IS NOT NULL GROUP BY 1, 2, 3, 4
)
INSERT INTO analytics_buckets (tenant_id, interval, at, comments_pending, comments_approved, comments_rejected,
  comments_deleted, reactions, reports, deliveries_pending, deliveries_delivered, deliveries_failed, deliveries_held,
  active_readers)
SELECT tenant_id, interval, at,
  count(*) FILTER (WHERE metric = 'comments_pending'), count(*) FILTER (WHERE metric = 'comments_approved'),
  count(*) FILTER (WHERE metric = 'comments_rejected'), count(*) FILTER (WHERE metric = 'comments_deleted'),
  count(*) FILTER (WHERE metric = 'reactions'), count(*) FILTER (WHERE metric = 'reports'),
  count(*) FILTER (WHERE metric = 'deliveries_pending'), count(*) FILTER (WHERE metric = 'deliveries_delivered'),
  count(*) FILTER (WHERE metric = 'deliveries_failed'), count(*) FILTER (WHERE metric = 'deliveries_held'),
  count(DISTINCT reader_id)
FROM spread GROUP BY 1, 2, 3;

-- Deltas come and go: their dead rows are cleared away long before a fifth of the table is dead.
ALTER TABLE "analytics_deltas" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
-- Rows whose numbers change all the time keep room for their next version on their page (HOT updates).
ALTER TABLE "analytics_buckets" SET (fillfactor = 70);
ALTER TABLE "analytics_activity" SET (fillfactor = 85);
