ALTER TABLE "webhook_endpoints" ADD COLUMN "counts_from" TIMESTAMPTZ(3);
