CREATE TYPE "notification_kind" AS ENUM ('reply', 'mention', 'decision');

-- No foreign key to the recipient: it would lock the row of a reader with each reply to them.
CREATE TABLE "notifications" (
  "tenant_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "reader_id" UUID NOT NULL,
  "kind" "notification_kind" NOT NULL,
  "comment_id" UUID NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "read_at" TIMESTAMPTZ(3),
  "handed_out_at" TIMESTAMPTZ(3),

  CONSTRAINT "notifications_pkey" PRIMARY KEY ("tenant_id", "id"),
  FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "notifications_tenant_id_comment_id_reader_id_key" ON "notifications" ("tenant_id", "comment_id", "reader_id");
CREATE INDEX "notifications_tenant_id_reader_id_id_idx" ON "notifications" ("tenant_id", "reader_id", "id");
CREATE INDEX "notifications_unread" ON "notifications" ("tenant_id", "reader_id", "id") WHERE (read_at IS NULL);
CREATE INDEX "notifications_pending" ON "notifications" ("tenant_id", "id") WHERE ((read_at IS NULL) AND (handed_out_at IS NULL));

CREATE TABLE "notification_opt_outs" (
  "tenant_id" UUID NOT NULL,
  "reader_id" UUID NOT NULL,
  "kind" "notification_kind" NOT NULL,

  CONSTRAINT "notification_opt_outs_pkey" PRIMARY KEY ("tenant_id", "reader_id", "kind"),
  FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "readers" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);
