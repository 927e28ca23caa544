-- Folds case by search_case. The previous release goes on beside it: it calls this function to store as well as to search.
-- The backfills of this folder and of the one before make the stored searches again.
CREATE OR REPLACE FUNCTION search_fold(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN search_case(regexp_replace(normalize(coalesce(said, ''), NFKD), '[\u0300-\u036F]+', '', 'g'));
END
$$;
