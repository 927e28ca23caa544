CREATE TABLE "comment_claims" (
  "tenant_id" UUID NOT NULL,
  "comment_id" UUID NOT NULL,
  "member_id" UUID NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,

  CONSTRAINT "comment_claims_pkey" PRIMARY KEY ("tenant_id", "comment_id"),
  FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY ("tenant_id", "member_id") REFERENCES "members" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "comment_claims_tenant_id_member_id_idx" ON "comment_claims" ("tenant_id", "member_id");
