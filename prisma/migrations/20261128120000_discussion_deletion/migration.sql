ALTER TABLE "discussions" ADD COLUMN "deleted_at" TIMESTAMPTZ(3), ADD COLUMN "removal_due_at" TIMESTAMPTZ(3);
ALTER TABLE "tenants" ADD COLUMN "discussions_deleted" INTEGER NOT NULL DEFAULT 0;
