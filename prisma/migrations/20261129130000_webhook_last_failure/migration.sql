ALTER TABLE "webhook_endpoints" ADD COLUMN "last_failure_at" TIMESTAMPTZ(3),
ADD COLUMN "last_failure" TEXT;
