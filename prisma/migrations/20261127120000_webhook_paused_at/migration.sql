ALTER TABLE "webhook_endpoints" ADD COLUMN "paused_at" TIMESTAMPTZ(3);
