ALTER TABLE "attempts" ADD COLUMN "headers" JSONB;
