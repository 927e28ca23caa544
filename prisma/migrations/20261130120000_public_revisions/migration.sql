ALTER TABLE "comment_revisions" ADD COLUMN "was_public" BOOLEAN NOT NULL DEFAULT false;
