-- Emphasis in Chinese, Japanese and Korean is rendered in more places. Workers render the comments
-- again (src/domains/comments/render-again.ts), if there are any.
INSERT INTO backfills (name, completed_at) VALUES
  ('20261126203600_render_cjk_emphasis', CASE WHEN EXISTS (SELECT FROM comments) THEN NULL ELSE CURRENT_TIMESTAMP END);
