ALTER TABLE "comments" ADD COLUMN "reviewed_at" TIMESTAMPTZ(3);
