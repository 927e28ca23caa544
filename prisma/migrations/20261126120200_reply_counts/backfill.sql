-- The release before counted a pending or rejected comment with replies in view at its parent for as long as it was
-- approved. Pages show other numbers then, without an event: the profile version tells their caches.
WITH batch AS MATERIALIZED (
  SELECT tenant_id, id, discussion_id, reply_count FROM comments
  WHERE (tenant_id, id) > (
    coalesce($1::jsonb ->> 0, '00000000-0000-0000-0000-000000000000')::uuid,
    coalesce($1::jsonb ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
  ORDER BY tenant_id, id LIMIT $2
),
wrong AS MATERIALIZED (
  SELECT b.tenant_id, b.id, b.discussion_id FROM batch b
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM comments r
    WHERE r.tenant_id = b.tenant_id AND r.parent_id = b.id AND (r.status = 'approved' OR r.reply_count > 0)
  ) replies
  WHERE replies.n <> b.reply_count
),
locked AS MATERIALIZED (
  SELECT l.* FROM (SELECT DISTINCT tenant_id, discussion_id FROM wrong ORDER BY 1, 2) w
  CROSS JOIN LATERAL (
    SELECT d.tenant_id, d.id FROM discussions d
    WHERE d.tenant_id = w.tenant_id AND d.id = w.discussion_id FOR NO KEY UPDATE
  ) l
),
mended AS (
  UPDATE comments c SET reply_count = replies_in_view(c.tenant_id, c.id)
  FROM wrong w JOIN locked l ON l.tenant_id = w.tenant_id AND l.id = w.discussion_id
  WHERE c.tenant_id = w.tenant_id AND c.id = w.id AND c.reply_count <> replies_in_view(c.tenant_id, c.id)
  RETURNING c.tenant_id
),
told AS (
  UPDATE tenants t SET profile_version = t.profile_version + 1 WHERE t.id IN (SELECT tenant_id FROM mended)
)
SELECT (SELECT jsonb_build_array(tenant_id, id) FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1) AS last,
  (SELECT count(*)::int FROM mended) AS changed
