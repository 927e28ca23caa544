-- How many passes over all rows a backfill has made, and since when it is known: the previous release
-- writes on for as long as its processes run beside those of this one.
ALTER TABLE backfills ADD COLUMN passes int NOT NULL DEFAULT 0,
  ADD COLUMN created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- Workers render the comments again (src/domains/comments/render-again.ts), if there are any.
INSERT INTO backfills (name, completed_at) VALUES
  ('20261126110000_render_again', CASE WHEN EXISTS (SELECT FROM comments) THEN NULL ELSE CURRENT_TIMESTAMP END);
