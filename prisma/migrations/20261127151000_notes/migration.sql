CREATE TABLE "notes" (
  "tenant_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "reader_id" UUID,
  "comment_id" UUID,
  "text" TEXT NOT NULL,
  "actor_kind" TEXT NOT NULL,
  "actor_id" UUID,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "notes_pkey" PRIMARY KEY ("tenant_id", "id"),
  CONSTRAINT "notes_subject" CHECK (num_nonnulls("reader_id", "comment_id") = 1),
  FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "readers" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "notes_of_reader" ON "notes" ("tenant_id", "reader_id", "id") WHERE "reader_id" IS NOT NULL;

CREATE INDEX "notes_of_comment" ON "notes" ("tenant_id", "comment_id", "id") WHERE "comment_id" IS NOT NULL;
