CREATE TABLE "posted_texts" (
  "tenant_id" UUID NOT NULL,
  "text_digest" BIGINT NOT NULL,
  "ids" UUID[],
  "expires_at" TIMESTAMPTZ(3) NOT NULL,

  CONSTRAINT "posted_texts_pkey" PRIMARY KEY ("tenant_id", "text_digest"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "posted_texts_tenant_id_expires_at_idx" ON "posted_texts" ("tenant_id", "expires_at");
