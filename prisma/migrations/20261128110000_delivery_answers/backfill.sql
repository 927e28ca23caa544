WITH batch AS (
  SELECT tenant_id, id, discussion_id, seq, attempt_count FROM deliveries
  WHERE (tenant_id, id) > (
    coalesce($1::jsonb ->> 0, '00000000-0000-0000-0000-000000000000')::uuid,
    coalesce($1::jsonb ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
  ORDER BY tenant_id, id LIMIT $2
),
found AS (
  SELECT b.tenant_id, b.id, b.attempt_count,
    (SELECT coalesce(v.data #>> '{comment,id}', v.data ->> 'commentId')::uuid FROM events v
     WHERE v.tenant_id = b.tenant_id AND v.discussion_id = b.discussion_id AND v.seq = b.seq) AS comment_id,
    (SELECT least(coalesce(a.status_code, 0) / 100, 5) FROM attempts a
     WHERE a.tenant_id = b.tenant_id AND a.delivery_id = b.id AND a.n = b.attempt_count) AS last_answer
  FROM batch b
),
-- One that has been attempted meanwhile is left to the next pass.
changed AS (
  UPDATE deliveries d
  SET comment_id = coalesce(d.comment_id, f.comment_id), last_answer = coalesce(f.last_answer, d.last_answer)
  FROM found f
  WHERE d.tenant_id = f.tenant_id AND d.id = f.id AND d.attempt_count = f.attempt_count
    AND (d.comment_id IS NULL AND f.comment_id IS NOT NULL
      OR f.last_answer IS NOT NULL AND d.last_answer IS DISTINCT FROM f.last_answer)
  RETURNING 1
)
SELECT (SELECT jsonb_build_array(tenant_id, id) FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1) AS last,
  (SELECT count(*)::int FROM changed) AS changed
