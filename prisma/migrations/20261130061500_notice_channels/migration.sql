CREATE TABLE "notice_channels" (
  "tenant_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "kind" TEXT NOT NULL,
  "sealed" BYTEA NOT NULL,
  "host" TEXT NOT NULL,
  "causes" TEXT[] NOT NULL,
  "told" JSONB NOT NULL DEFAULT '{}',
  "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "failures" INTEGER NOT NULL DEFAULT 0,
  "last_sent_at" TIMESTAMPTZ(3),
  "last_error" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "notice_channels_pkey" PRIMARY KEY ("tenant_id", "id"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "notice_channels_due_at_idx" ON "notice_channels" ("due_at");
