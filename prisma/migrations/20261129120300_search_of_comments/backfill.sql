WITH batch AS (
  SELECT tenant_id, id FROM comments
  WHERE (tenant_id, id) > (
    coalesce($1::jsonb ->> 0, '00000000-0000-0000-0000-000000000000')::uuid,
    coalesce($1::jsonb ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
  ORDER BY tenant_id, id LIMIT $2
),
-- SHARE waits for an edit that is not committed yet, and then reads the new text. ASCII stays as it is.
kept AS (
  SELECT c.tenant_id, c.id, c.discussion_id, c.body
  FROM comments c JOIN batch b ON c.tenant_id = b.tenant_id AND c.id = b.id
  WHERE octet_length(c.body) <> char_length(c.body)
  FOR SHARE OF c
),
changed AS (
  UPDATE comment_search s SET terms = k.terms
  FROM (
    SELECT tenant_id, id, comment_terms(tenant_id, discussion_id, search_split(search_fold(body))) AS terms FROM kept
  ) k
  WHERE s.tenant_id = k.tenant_id AND s.comment_id = k.id AND s.terms IS DISTINCT FROM k.terms
  RETURNING 1
)
SELECT (SELECT jsonb_build_array(tenant_id, id) FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1) AS last,
  (SELECT count(*)::int FROM changed) AS changed
