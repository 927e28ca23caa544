-- Without tenant_id: the keys outlive the tenant.
CREATE TABLE "ended_site_keys" (
  "public_key" TEXT NOT NULL,
  "owner_id" UUID NOT NULL,
  "ended_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "ended_site_keys_pkey" PRIMARY KEY ("public_key")
);

CREATE INDEX "ended_site_keys_owner_id_ended_at_idx" ON "ended_site_keys" ("owner_id", "ended_at");
