CREATE TABLE "sites" (
  "tenant_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "origins" TEXT[] NOT NULL,
  "public_key" TEXT NOT NULL,
  "posting" BOOLEAN NOT NULL DEFAULT true,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "sites_pkey" PRIMARY KEY ("tenant_id", "id"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "sites_public_key_key" ON "sites" ("public_key");

CREATE INDEX "sites_origins" ON "sites" USING GIN ("origins");
