ALTER TABLE "comments" ADD COLUMN "hold_details" JSONB;
