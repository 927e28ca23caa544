WITH batch AS (
  SELECT tenant_id, id FROM discussions
  WHERE (tenant_id, id) > (
    coalesce($1::jsonb ->> 0, '00000000-0000-0000-0000-000000000000')::uuid,
    coalesce($1::jsonb ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
  ORDER BY tenant_id, id LIMIT $2
),
-- A column that is written makes its generated column again.
changed AS (
  UPDATE discussions r SET title = r.title FROM batch b
  WHERE r.tenant_id = b.tenant_id AND r.id = b.id AND r.search IS DISTINCT FROM
    search_terms(r.tenant_id, search_fold(r.external_id), search_split(search_fold(r.title)))
  RETURNING 1
)
SELECT (SELECT jsonb_build_array(tenant_id, id) FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1) AS last,
  (SELECT count(*)::int FROM changed) AS changed
