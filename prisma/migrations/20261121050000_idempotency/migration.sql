-- Nothing has ever written to it: made anew, not altered.
DROP TABLE "idempotency_records";

-- CreateTable
CREATE TABLE "idempotency_records" (
    "tenant_id" UUID NOT NULL,
    "key_digest" BYTEA NOT NULL,
    "request_digest" BYTEA NOT NULL,
    "status" INTEGER NOT NULL,
    "content_type" TEXT,
    "body" BYTEA,
    "mentions" UUID[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("tenant_id","key_digest")
);

-- CreateIndex
CREATE INDEX "idempotency_records_expires_at_idx" ON "idempotency_records"("expires_at");

-- CreateIndex
CREATE INDEX "idempotency_records_mentions_idx" ON "idempotency_records" USING GIN ("mentions");

-- AddForeignKey
ALTER TABLE "idempotency_records" ADD CONSTRAINT "idempotency_records_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Rules that guard themselves.
ALTER TABLE "idempotency_records"
  ADD CONSTRAINT "idempotency_records_status" CHECK (status BETWEEN 200 AND 499 AND status <> 429);
