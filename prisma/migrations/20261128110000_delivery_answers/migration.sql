ALTER TABLE "deliveries"
  ADD COLUMN "comment_id" UUID,
  ADD COLUMN "last_answer" SMALLINT;
