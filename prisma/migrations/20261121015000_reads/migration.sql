-- How many reactions a comment has, from its counts by type. IMMUTABLE: a stored column may rest on it.
CREATE FUNCTION "reaction_total"("counts" jsonb) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT coalesce(sum(value::integer), 0)::integer FROM jsonb_each_text(counts)
$$;

-- AlterTable
-- A strict function is not called with null: that spares each new comment, which has no reactions, its cost.
ALTER TABLE "comments" ADD COLUMN     "reaction_count" INTEGER NOT NULL
  GENERATED ALWAYS AS (coalesce(reaction_total(nullif(reaction_counts, '{}')), 0)) STORED;

-- AlterTable
ALTER TABLE "tenants" ADD COLUMN     "profile_version" BIGINT NOT NULL DEFAULT 0;

-- CreateIndex
CREATE INDEX "comments_top" ON "comments"("tenant_id", "discussion_id", "parent_id", "reaction_count", "reply_count", "id") WHERE (status IN ('approved', 'deleted') AND (status = 'approved' OR reply_count > 0));

-- CreateIndex
CREATE INDEX "reactions_held" ON "reactions"("tenant_id", "comment_id", "type", "updated_at", "reader_id") WHERE (type IS NOT NULL);
