CREATE TABLE "ban_sweeps" (
  "tenant_id" UUID NOT NULL,
  "reader_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "action" TEXT NOT NULL,
  "actor_kind" TEXT NOT NULL,
  "actor_id" UUID,
  "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "position" UUID,
  "total" INTEGER,
  "done" INTEGER NOT NULL DEFAULT 0,
  "leased_until" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "completed_at" TIMESTAMPTZ(3),

  CONSTRAINT "ban_sweeps_pkey" PRIMARY KEY ("tenant_id", "reader_id"),
  FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "readers" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "ban_sweeps_due" ON "ban_sweeps" ("leased_until") WHERE (completed_at IS NULL);
