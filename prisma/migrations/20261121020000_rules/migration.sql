-- AlterTable
ALTER TABLE "comments" ADD COLUMN     "flagged" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "hold_reason" TEXT,
ADD COLUMN     "text_digest" BIGINT;

-- AlterTable
ALTER TABLE "discussions" ADD COLUMN     "auto_closed_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "classifier_requests" (
    "tenant_id" UUID NOT NULL,
    "comment_id" UUID NOT NULL,
    "revision" INTEGER NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "classifier_requests_pkey" PRIMARY KEY ("tenant_id","comment_id")
);

-- CreateTable
CREATE TABLE "classifier_secrets" (
    "tenant_id" UUID NOT NULL,
    "kid" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "classifier_secrets_pkey" PRIMARY KEY ("tenant_id","kid")
);

-- CreateIndex
CREATE INDEX "classifier_requests_tenant_id_due_at_idx" ON "classifier_requests"("tenant_id", "due_at");

-- CreateIndex
CREATE INDEX "discussions_to_close" ON "discussions"("tenant_id", "created_at") WHERE (auto_closed_at IS NULL AND state <> 'archived');

-- Also what a rule has put before moderators after its publication is in this queue.
DROP INDEX "comments_reported";

-- CreateIndex
CREATE INDEX "comments_reported" ON "comments"("tenant_id", "id") WHERE (report_count > reports_answered OR flagged);

-- AddForeignKey
ALTER TABLE "classifier_requests" ADD CONSTRAINT "classifier_requests_tenant_id_comment_id_fkey" FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "classifier_secrets" ADD CONSTRAINT "classifier_secrets_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;
