-- Rows whose search the locale of the database has made.
WITH batch AS (
  SELECT tenant_id, id,
    search IS DISTINCT FROM search_terms(tenant_id, search_fold(external_id), search_split(search_fold(title))) AS is_other
  FROM discussions
  WHERE (tenant_id, id) > (coalesce($1::jsonb ->> 0, '00000000-0000-0000-0000-000000000000')::uuid, coalesce($1::jsonb ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
  ORDER BY tenant_id, id LIMIT $2
),
changed AS (
  UPDATE discussions t SET title = t.title FROM batch b
  WHERE b.is_other AND t.tenant_id = b.tenant_id AND t.id = b.id
  RETURNING 1
)
SELECT (SELECT jsonb_build_array(tenant_id, id) FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1) AS last,
  (SELECT count(*)::int FROM changed) AS changed
