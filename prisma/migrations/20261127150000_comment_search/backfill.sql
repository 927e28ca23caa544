WITH batch AS (
  SELECT tenant_id, id, discussion_id, body FROM comments
  WHERE (tenant_id, id) > (
    coalesce($1::jsonb ->> 0, '00000000-0000-0000-0000-000000000000')::uuid,
    coalesce($1::jsonb ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
  ORDER BY tenant_id, id LIMIT $2
),
-- SHARE waits for an edit or a removal that is not committed yet, and then reads the new text.
kept AS (
  SELECT c.tenant_id, c.id, c.discussion_id, c.body FROM comments c JOIN batch b ON c.tenant_id = b.tenant_id AND c.id = b.id
  WHERE c.body IS NOT NULL
    AND NOT EXISTS (SELECT FROM comment_search s WHERE s.tenant_id = c.tenant_id AND s.comment_id = c.id)
  FOR SHARE OF c
),
changed AS (
  INSERT INTO comment_search (tenant_id, comment_id, terms)
  SELECT tenant_id, id, comment_terms(tenant_id, discussion_id, search_split(search_fold(body))) FROM kept
  ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT (SELECT jsonb_build_array(tenant_id, id) FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1) AS last,
  (SELECT count(*)::int FROM changed) AS changed
