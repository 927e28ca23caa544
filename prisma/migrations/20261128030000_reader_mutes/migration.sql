CREATE TABLE "reader_mutes" (
  "tenant_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "reader_id" UUID NOT NULL,
  "muted_id" UUID NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "reader_mutes_pkey" PRIMARY KEY ("tenant_id", "reader_id", "muted_id"),
  FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "readers" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY ("tenant_id", "muted_id") REFERENCES "readers" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "reader_mutes_tenant_id_reader_id_id_idx" ON "reader_mutes" ("tenant_id", "reader_id", "id");
CREATE INDEX "reader_mutes_tenant_id_muted_id_idx" ON "reader_mutes" ("tenant_id", "muted_id");
