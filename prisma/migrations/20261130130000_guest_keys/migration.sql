CREATE TABLE "guest_keys" (
  "tenant_id" UUID NOT NULL,
  "kind" TEXT NOT NULL,
  "sealed" BYTEA NOT NULL,

  CONSTRAINT "guest_keys_pkey" PRIMARY KEY ("tenant_id", "kind"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
