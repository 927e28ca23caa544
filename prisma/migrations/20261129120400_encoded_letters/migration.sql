-- Earlier imports have written some letters beside a mark as codes, such as &#x662F;. Workers write these texts again
-- (src/transfer/import/encoded-letters.ts). Without an import it stays open too: the release before may still import.
-- A new database has none to come.
INSERT INTO backfills (name, completed_at)
VALUES ('20261129120400_encoded_letters', CASE WHEN NOT EXISTS (SELECT FROM tenants) THEN now() END);
