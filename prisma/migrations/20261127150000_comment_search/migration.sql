-- What a comment is found by: its discussion (after #) and the words of its text (each after a dot), as search_terms does
-- it. A table of its own, because every reaction rewrites the row of its comment, and each of its entries in indexes.
CREATE FUNCTION comment_terms(tenant uuid, discussion uuid, words text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  prefix CONSTANT text := right(tenant::text, 8);
BEGIN
  RETURN array_to_tsvector(array_append(
    CASE WHEN words = '' THEN '{}' ELSE string_to_array(prefix || '.' || replace(words, ' ', ' ' || prefix || '.'), ' ') END,
    prefix || '#' || right(discussion::text, 12)));
END
$$;

-- What a search asks of comment_terms: the discussion, or all of the words, the last one as a beginning, or both. NULL for
-- neither. A text without words finds nothing.
CREATE FUNCTION comment_query(tenant uuid, discussion uuid, words text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  prefix CONSTANT text := right(tenant::text, 8);
BEGIN
  RETURN NULLIF(concat_ws(' & ',
    '''' || prefix || '#' || right(discussion::text, 12) || '''',
    CASE WHEN words = '' THEN '''' || prefix || '!'''
    ELSE '''' || prefix || '.' || replace(words, ' ', ''' & ''' || prefix || '.') || ''':*' END), '')::tsquery;
END
$$;

CREATE TABLE "comment_search" (
  "tenant_id" UUID NOT NULL,
  "comment_id" UUID NOT NULL,
  "terms" tsvector NOT NULL,

  CONSTRAINT "comment_search_pkey" PRIMARY KEY ("tenant_id", "comment_id")
);

-- A write appends its terms to a list, and the one that fills it sorts it into the index: 256 kB take a few milliseconds.
CREATE INDEX "comment_search_terms" ON "comment_search" USING GIN ("terms") WITH (gin_pending_list_limit = 256);

-- Triggers keep the table in step whoever writes, so that it takes no part in the statements of posts, edits, imports and
-- erasures, nor in those of the release before.
CREATE FUNCTION comment_search_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO comment_search (tenant_id, comment_id, terms)
    SELECT tenant_id, id, comment_terms(tenant_id, discussion_id, search_split(search_fold(body)))
    FROM changed WHERE body IS NOT NULL;
  ELSIF TG_OP = 'DELETE' THEN
    DELETE FROM comment_search WHERE tenant_id = OLD.tenant_id AND comment_id = OLD.id;
  ELSIF NEW.body IS NULL THEN
    DELETE FROM comment_search WHERE tenant_id = NEW.tenant_id AND comment_id = NEW.id;
  ELSE
    INSERT INTO comment_search (tenant_id, comment_id, terms)
    VALUES (NEW.tenant_id, NEW.id, comment_terms(NEW.tenant_id, NEW.discussion_id, search_split(search_fold(NEW.body))))
    ON CONFLICT (tenant_id, comment_id) DO UPDATE SET terms = excluded.terms;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER comment_search_created AFTER INSERT ON comments
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION comment_search_follow();
CREATE TRIGGER comment_search_edited AFTER UPDATE OF body ON comments
  FOR EACH ROW WHEN (OLD.body IS DISTINCT FROM NEW.body) EXECUTE FUNCTION comment_search_follow();
CREATE TRIGGER comment_search_gone AFTER DELETE ON comments
  FOR EACH ROW EXECUTE FUNCTION comment_search_follow();
