-- Earlier imports have written some letters beside a mark as codes, such as &#x662F;. Workers write these texts again
-- (src/transfer/import/encoded-letters.ts). It stays open without an import: the release before may still import.
INSERT INTO backfills (name) VALUES ('20261129120400_encoded_letters');
