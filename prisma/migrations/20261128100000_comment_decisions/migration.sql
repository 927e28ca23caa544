CREATE TABLE "comment_decisions" (
  "tenant_id" UUID NOT NULL,
  "comment_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "actor_kind" TEXT NOT NULL,
  "actor_id" UUID,
  "action" TEXT NOT NULL,
  "rule" TEXT,
  "section" TEXT,
  "wait_seconds" INTEGER,
  "at" TIMESTAMPTZ(3) NOT NULL,

  CONSTRAINT "comment_decisions_pkey" PRIMARY KEY ("tenant_id", "comment_id", "id"),
  FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "comment_decisions_tenant_id_at_idx" ON "comment_decisions" ("tenant_id", "at");
