-- Earlier imports have written some letters beside a mark as codes, such as &#x662F;. Workers write these texts again, if
-- anything was imported (src/transfer/import/encoded-letters.ts).
INSERT INTO backfills (name, completed_at) VALUES
  ('20261129120400_encoded_letters', CASE WHEN EXISTS (SELECT FROM imports) THEN NULL ELSE CURRENT_TIMESTAMP END);
