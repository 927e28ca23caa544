-- AlterTable
ALTER TABLE "discussions" ADD COLUMN     "scrubs" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "readers" ADD COLUMN     "erasing_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "reports" ADD COLUMN     "counted" BOOLEAN NOT NULL DEFAULT true;

-- CreateIndex
CREATE INDEX "audit_log_tenant_id_action_id_idx" ON "audit_log"("tenant_id", "action", "id");

-- CreateIndex
CREATE INDEX "audit_log_tenant_id_actor_id_id_idx" ON "audit_log"("tenant_id", "actor_id", "id");

-- CreateIndex
CREATE INDEX "audit_log_tenant_id_target_id_id_idx" ON "audit_log"("tenant_id", "target_id", "id");

-- CreateIndex
CREATE INDEX "comments_replies" ON "comments"("tenant_id", "parent_id") WHERE (parent_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "deliveries_tenant_id_event_id_idx" ON "deliveries"("tenant_id", "event_id");

-- CreateIndex
CREATE INDEX "events_to_recipient" ON "events"("tenant_id", "recipient_id", "id") WHERE (recipient_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "reports_tenant_id_reader_id_idx" ON "reports"("tenant_id", "reader_id");

-- Which reports were counted was not written down. Those that were not are of readers who were banned in shadow then.
UPDATE "reports" p SET "counted" = false
FROM "comments" c, "readers" r
WHERE c."tenant_id" = p."tenant_id" AND c."id" = p."comment_id" AND r."tenant_id" = p."tenant_id" AND r."id" = p."reader_id"
  AND r."shadow_banned" AND p."created_at" >= r."banned_at"
  AND c."report_count" < (SELECT count(*) FROM "reports" o WHERE o."tenant_id" = c."tenant_id" AND o."comment_id" = c."id");
