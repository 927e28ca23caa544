-- A text as it is compared: without case and accents, compatible forms as one. Punctuation stays.
CREATE FUNCTION "search_fold"("said" text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN lower(regexp_replace(normalize(coalesce(said, ''), NFKD), '[\u0300-\u036F]+', '', 'g'));
END
$$;

-- The words of a folded text with single spaces between them. The separators are listed: which letters a regular
-- expression knows depends on the database's locale. In scripts without spaces each character is a word. 60 characters of
-- a word count: an index takes no longer ones than 2 046 bytes.
CREATE FUNCTION "search_split"("folded" text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN btrim(regexp_replace(regexp_replace(regexp_replace(folded,
    '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2E80-\u2FDF\u3040-\u30FF\u3400-\u9FFF\U00020000-\U0003FFFF])', ' \1 ', 'g'),
    '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00BF\u2000-\u206F\u3000-\u303F]+', ' ', 'g'),
    '([^ ]{60})[^ ]+', '\1', 'g'));
END
$$;

-- What a row is found by: its tenant's key for it (after =) and the words of its name (each after a dot). Every one begins
-- with the random end of the tenant's id, so that a search of the index reads little of others; which rows are the
-- tenant's is for tenant_id to say.
CREATE FUNCTION "search_terms"("tenant" uuid, "folded_key" text, "words" text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  prefix CONSTANT text := right(tenant::text, 8);
BEGIN
  RETURN array_to_tsvector(array_append(
    CASE WHEN words = '' THEN '{}' ELSE string_to_array(prefix || '.' || replace(words, ' ', ' ' || prefix || '.'), ' ') END,
    prefix || '=' || left(folded_key, 255)));
END
$$;

-- What a search asks of search_terms: a key that begins with it, or all of its words, the last one as a beginning. Quotes
-- and backslashes are doubled, all else within quotes is text; words have neither.
CREATE FUNCTION "search_query"("tenant" uuid, "folded" text, "words" text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  prefix CONSTANT text := right(tenant::text, 8);
BEGIN
  RETURN ('''' || prefix || '=' || replace(replace(left(folded, 255), '\', '\\'), '''', '''''') || ''':*'
    || CASE WHEN words = '' THEN ''
       ELSE ' | (''' || prefix || '.' || replace(words, ' ', ''' & ''' || prefix || '.') || ''':*)' END)::tsquery;
END
$$;

-- AlterTable
ALTER TABLE "discussions" ADD COLUMN     "search" tsvector NOT NULL
  GENERATED ALWAYS AS (search_terms(tenant_id, search_fold(external_id), search_split(search_fold(title)))) STORED;

-- AlterTable
ALTER TABLE "readers" ADD COLUMN     "search" tsvector NOT NULL
  GENERATED ALWAYS AS (search_terms(tenant_id, search_fold(external_id), search_split(search_fold(name)))) STORED;

-- CreateIndex
CREATE INDEX "discussions_search" ON "discussions" USING GIN ("search");

-- CreateIndex
CREATE INDEX "readers_search" ON "readers" USING GIN ("search");
