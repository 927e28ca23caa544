CREATE TABLE "mail_secrets" (
  "tenant_id" UUID NOT NULL,
  "kid" TEXT NOT NULL,
  "sealed" BYTEA NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "expires_at" TIMESTAMPTZ(3),

  CONSTRAINT "mail_secrets_pkey" PRIMARY KEY ("tenant_id", "kid"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "guest_requests" (
  "tenant_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "address_digest" BYTEA NOT NULL,
  "name" TEXT,
  "sealed" BYTEA,
  "token_digest" BYTEA,
  "attempts" INTEGER NOT NULL DEFAULT 0,
  "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "guest_requests_pkey" PRIMARY KEY ("tenant_id", "id"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "guest_requests_tenant_id_token_digest_key" ON "guest_requests" ("tenant_id", "token_digest");
CREATE INDEX "guest_requests_tenant_id_address_digest_created_at_idx"
  ON "guest_requests" ("tenant_id", "address_digest", "created_at");
CREATE INDEX "guest_requests_due" ON "guest_requests" ("tenant_id", "due_at") WHERE "sealed" IS NOT NULL;
CREATE INDEX "guest_requests_created_at_idx" ON "guest_requests" ("created_at");

CREATE TABLE "guests" (
  "tenant_id" UUID NOT NULL,
  "reader_id" UUID NOT NULL,
  "address_digest" BYTEA NOT NULL,

  CONSTRAINT "guests_pkey" PRIMARY KEY ("tenant_id", "reader_id"),
  FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "readers" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "guests_tenant_id_address_digest_key" ON "guests" ("tenant_id", "address_digest");

CREATE TABLE "guest_tokens" (
  "tenant_id" UUID NOT NULL,
  "digest" BYTEA NOT NULL,
  "reader_id" UUID NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,

  CONSTRAINT "guest_tokens_pkey" PRIMARY KEY ("tenant_id", "digest"),
  FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "guests" ("tenant_id", "reader_id")
    ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "guest_tokens_tenant_id_reader_id_idx" ON "guest_tokens" ("tenant_id", "reader_id");
CREATE INDEX "guest_tokens_expires_at_idx" ON "guest_tokens" ("expires_at");
