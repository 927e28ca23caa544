CREATE TYPE "member_role" AS ENUM ('owner', 'admin', 'editor', 'moderator', 'developer', 'analyst');

CREATE TABLE "accounts" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "accounts_email_key" ON "accounts"("email");

CREATE TABLE "members" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT,
    "role" "member_role" NOT NULL,
    "account_id" UUID,
    "invitation_digest" BYTEA,
    "invitation_expires_at" TIMESTAMPTZ(3),
    "disabled_at" TIMESTAMPTZ(3),
    "last_seen_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "members_pkey" PRIMARY KEY ("tenant_id", "id")
);

CREATE UNIQUE INDEX "members_tenant_id_email_key" ON "members"("tenant_id", "email");

CREATE UNIQUE INDEX "members_invitation_digest_key" ON "members"("invitation_digest");

CREATE INDEX "members_account_id_idx" ON "members"("account_id");

ALTER TABLE "members" ADD CONSTRAINT "members_tenant_id_fkey"
    FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "members" ADD CONSTRAINT "members_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "sign_ins" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "member_id" UUID NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sign_ins_pkey" PRIMARY KEY ("tenant_id", "id")
);

CREATE INDEX "sign_ins_tenant_id_member_id_idx" ON "sign_ins"("tenant_id", "member_id");

ALTER TABLE "sign_ins" ADD CONSTRAINT "sign_ins_tenant_id_member_id_fkey"
    FOREIGN KEY ("tenant_id", "member_id") REFERENCES "members"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
