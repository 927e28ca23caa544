ALTER TABLE "tenants" ADD COLUMN "suspended_at" TIMESTAMPTZ(3), ADD COLUMN "suspension_reason" TEXT,
  ADD COLUMN "deleted_at" TIMESTAMPTZ(3), ADD COLUMN "removal_due_at" TIMESTAMPTZ(3);
