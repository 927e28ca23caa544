ALTER TABLE "comments" ADD COLUMN "decision" JSONB;
