-- CreateEnum
CREATE TYPE "discussion_state" AS ENUM ('open', 'locked', 'archived');

-- CreateEnum
CREATE TYPE "comment_status" AS ENUM ('pending', 'approved', 'rejected', 'deleted');

-- CreateEnum
CREATE TYPE "endpoint_state" AS ENUM ('unverified', 'verified', 'disabled');

-- CreateEnum
CREATE TYPE "delivery_status" AS ENUM ('pending', 'delivering', 'delivered', 'failed', 'held');

-- CreateTable
CREATE TABLE "tenants" (
    "id" UUID NOT NULL,
    "slug" TEXT NOT NULL,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tenants_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "admins" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "admins_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "label" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "capabilities" TEXT[],
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "identity_secrets" (
    "tenant_id" UUID NOT NULL,
    "kid" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "identity_secrets_pkey" PRIMARY KEY ("tenant_id","kid")
);

-- CreateTable
CREATE TABLE "identity_key_sets" (
    "tenant_id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "jwks" JSONB,
    "fetched_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "error" TEXT,

    CONSTRAINT "identity_key_sets_pkey" PRIMARY KEY ("tenant_id")
);

-- CreateTable
CREATE TABLE "readers" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "external_id" TEXT NOT NULL,
    "name" TEXT,
    "avatar_url" TEXT,
    "profile_url" TEXT,
    "profile_issued_at" TIMESTAMPTZ(3) NOT NULL,
    "banned_at" TIMESTAMPTZ(3),
    "banned_until" TIMESTAMPTZ(3),
    "ban_reason" TEXT,
    "shadow_banned" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "readers_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "discussions" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "external_id" TEXT NOT NULL,
    "title" TEXT,
    "url" TEXT,
    "state" "discussion_state" NOT NULL DEFAULT 'open',
    "comment_count" INTEGER NOT NULL DEFAULT 0,
    "seq" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_commented_at" TIMESTAMPTZ(3),
    "active_at" TIMESTAMPTZ(3) NOT NULL DEFAULT date_trunc('minute', now()),

    CONSTRAINT "discussions_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "comments" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "discussion_id" UUID NOT NULL,
    "parent_id" UUID,
    "depth" INTEGER NOT NULL DEFAULT 0,
    "author_id" UUID,
    "body" TEXT,
    "body_html" TEXT,
    "status" "comment_status" NOT NULL,
    "pinned_at" TIMESTAMPTZ(3),
    "edited_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "revision" INTEGER NOT NULL DEFAULT 1,
    "reply_count" INTEGER NOT NULL DEFAULT 0,
    "reaction_counts" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "comments_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "comment_revisions" (
    "tenant_id" UUID NOT NULL,
    "comment_id" UUID NOT NULL,
    "revision" INTEGER NOT NULL,
    "body" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "comment_revisions_pkey" PRIMARY KEY ("tenant_id","comment_id","revision")
);

-- CreateTable
CREATE TABLE "reactions" (
    "tenant_id" UUID NOT NULL,
    "comment_id" UUID NOT NULL,
    "reader_id" UUID NOT NULL,
    "type" TEXT,
    "previous_type" TEXT,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reactions_pkey" PRIMARY KEY ("tenant_id","comment_id","reader_id")
);

-- CreateTable
CREATE TABLE "reports" (
    "tenant_id" UUID NOT NULL,
    "comment_id" UUID NOT NULL,
    "reader_id" UUID NOT NULL,
    "reason" TEXT NOT NULL,
    "note" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reports_pkey" PRIMARY KEY ("tenant_id","comment_id","reader_id")
);

-- CreateTable
CREATE TABLE "events" (
    "tenant_id" UUID NOT NULL,
    "discussion_id" UUID NOT NULL,
    "seq" BIGINT NOT NULL,
    "id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "audience" TEXT NOT NULL,
    "recipient_id" UUID,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "actor" JSON NOT NULL,
    "data" JSON NOT NULL,

    CONSTRAINT "events_pkey" PRIMARY KEY ("tenant_id","discussion_id","seq")
);

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT,
    "event_types" TEXT[],
    "state" "endpoint_state" NOT NULL DEFAULT 'unverified',
    "disabled_reason" TEXT,
    "consecutive_failures" INTEGER NOT NULL DEFAULT 0,
    "circuit_open_until" TIMESTAMPTZ(3),
    "policy" JSONB NOT NULL DEFAULT '{}',
    "challenge" TEXT,
    "verification_due_at" TIMESTAMPTZ(3),
    "last_verification_at" TIMESTAMPTZ(3),
    "last_verification_ok" BOOLEAN,
    "last_verification_error" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "webhook_secrets" (
    "tenant_id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "kid" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("tenant_id","endpoint_id","kid")
);

-- CreateTable
CREATE TABLE "deliveries" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "event_id" UUID NOT NULL,
    "event_type" TEXT NOT NULL,
    "discussion_id" UUID NOT NULL,
    "seq" BIGINT NOT NULL,
    "status" "delivery_status" NOT NULL DEFAULT 'pending',
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
    "lease_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "delivered_at" TIMESTAMPTZ(3),

    CONSTRAINT "deliveries_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "attempts" (
    "tenant_id" UUID NOT NULL,
    "delivery_id" UUID NOT NULL,
    "n" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "status_code" INTEGER,
    "error" TEXT,
    "response_snippet" TEXT,

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("tenant_id","delivery_id","n")
);

-- CreateTable
CREATE TABLE "audit_log" (
    "tenant_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_id" UUID,
    "action" TEXT NOT NULL,
    "target_type" TEXT NOT NULL,
    "target_id" TEXT,
    "before" JSONB,
    "after" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "idempotency_records" (
    "tenant_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "request_digest" BYTEA NOT NULL,
    "status" INTEGER,
    "body" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("tenant_id","key")
);

-- CreateIndex
CREATE UNIQUE INDEX "tenants_slug_key" ON "tenants"("slug");

-- CreateIndex
CREATE UNIQUE INDEX "admins_email_key" ON "admins"("email");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_digest_key" ON "api_keys"("digest");

-- CreateIndex
CREATE INDEX "identity_key_sets_due_at_idx" ON "identity_key_sets"("due_at");

-- CreateIndex
CREATE UNIQUE INDEX "readers_tenant_id_external_id_key" ON "readers"("tenant_id", "external_id");

-- CreateIndex
CREATE INDEX "discussions_tenant_id_active_at_id_idx" ON "discussions"("tenant_id", "active_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "discussions_tenant_id_external_id_key" ON "discussions"("tenant_id", "external_id");

-- CreateIndex
CREATE INDEX "comments_in_view" ON "comments"("tenant_id", "discussion_id", "parent_id", "id") WHERE (status IN ('approved', 'deleted'));

-- CreateIndex
CREATE INDEX "comments_to_moderate" ON "comments"("tenant_id", "status", "id") WHERE (status IN ('pending', 'rejected'));

-- CreateIndex
CREATE INDEX "comments_tenant_id_author_id_id_idx" ON "comments"("tenant_id", "author_id", "id");

-- CreateIndex
CREATE INDEX "reactions_tenant_id_reader_id_idx" ON "reactions"("tenant_id", "reader_id");

-- CreateIndex
CREATE INDEX "events_tenant_id_occurred_at_idx" ON "events"("tenant_id", "occurred_at");

-- CreateIndex
CREATE INDEX "endpoints_to_verify" ON "webhook_endpoints"("verification_due_at") WHERE (verification_due_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "deliveries_due" ON "deliveries"("tenant_id", "endpoint_id", "next_attempt_at") WHERE (status IN ('pending', 'delivering'));

-- CreateIndex
CREATE INDEX "deliveries_tenant_id_endpoint_id_id_idx" ON "deliveries"("tenant_id", "endpoint_id", "id");

-- CreateIndex
CREATE INDEX "idempotency_records_expires_at_idx" ON "idempotency_records"("expires_at");

-- AddForeignKey
ALTER TABLE "admins" ADD CONSTRAINT "admins_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "identity_secrets" ADD CONSTRAINT "identity_secrets_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "identity_key_sets" ADD CONSTRAINT "identity_key_sets_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "readers" ADD CONSTRAINT "readers_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "discussions" ADD CONSTRAINT "discussions_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "comments" ADD CONSTRAINT "comments_tenant_id_discussion_id_fkey" FOREIGN KEY ("tenant_id", "discussion_id") REFERENCES "discussions"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "comments" ADD CONSTRAINT "comments_tenant_id_parent_id_fkey" FOREIGN KEY ("tenant_id", "parent_id") REFERENCES "comments"("tenant_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "comments" ADD CONSTRAINT "comments_tenant_id_author_id_fkey" FOREIGN KEY ("tenant_id", "author_id") REFERENCES "readers"("tenant_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "comment_revisions" ADD CONSTRAINT "comment_revisions_tenant_id_comment_id_fkey" FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reactions" ADD CONSTRAINT "reactions_tenant_id_comment_id_fkey" FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reactions" ADD CONSTRAINT "reactions_tenant_id_reader_id_fkey" FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "readers"("tenant_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "reports" ADD CONSTRAINT "reports_tenant_id_comment_id_fkey" FOREIGN KEY ("tenant_id", "comment_id") REFERENCES "comments"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reports" ADD CONSTRAINT "reports_tenant_id_reader_id_fkey" FOREIGN KEY ("tenant_id", "reader_id") REFERENCES "readers"("tenant_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "events" ADD CONSTRAINT "events_tenant_id_discussion_id_fkey" FOREIGN KEY ("tenant_id", "discussion_id") REFERENCES "discussions"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_tenant_id_endpoint_id_fkey" FOREIGN KEY ("tenant_id", "endpoint_id") REFERENCES "webhook_endpoints"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_tenant_id_endpoint_id_fkey" FOREIGN KEY ("tenant_id", "endpoint_id") REFERENCES "webhook_endpoints"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_tenant_id_delivery_id_fkey" FOREIGN KEY ("tenant_id", "delivery_id") REFERENCES "deliveries"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "idempotency_records" ADD CONSTRAINT "idempotency_records_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- Rules that guard themselves.
ALTER TABLE "discussions"
  ADD CONSTRAINT "discussions_counts" CHECK (comment_count >= 0 AND seq >= 0),
  ADD CONSTRAINT "discussions_external_id" CHECK (char_length(external_id) BETWEEN 1 AND 255);
ALTER TABLE "comments"
  ADD CONSTRAINT "comments_counts" CHECK (depth >= 0 AND reply_count >= 0 AND revision >= 1),
  ADD CONSTRAINT "comments_root_depth" CHECK ((parent_id IS NULL) = (depth = 0)),
  ADD CONSTRAINT "comments_pin" CHECK (pinned_at IS NULL OR status = 'approved'),
  ADD CONSTRAINT "comments_deleted" CHECK ((status = 'deleted') = (deleted_at IS NOT NULL)),
  ADD CONSTRAINT "comments_body" CHECK (status = 'deleted' OR (body IS NOT NULL AND body_html IS NOT NULL));
ALTER TABLE "events"
  ADD CONSTRAINT "events_seq" CHECK (seq >= 1),
  ADD CONSTRAINT "events_audience" CHECK (audience IN ('public', 'tenant', 'recipient')),
  ADD CONSTRAINT "events_recipient" CHECK ((audience = 'recipient') = (recipient_id IS NOT NULL));
ALTER TABLE "reports"
  ADD CONSTRAINT "reports_reason" CHECK (reason IN ('spam', 'abuse', 'off_topic', 'other'));
ALTER TABLE "webhook_endpoints"
  ADD CONSTRAINT "webhook_endpoints_failures" CHECK (consecutive_failures >= 0),
  ADD CONSTRAINT "webhook_endpoints_event_types" CHECK (cardinality(event_types) >= 1);
ALTER TABLE "deliveries"
  ADD CONSTRAINT "deliveries_due" CHECK (status NOT IN ('pending', 'delivering') OR next_attempt_at IS NOT NULL),
  ADD CONSTRAINT "deliveries_lease" CHECK ((status = 'delivering') = (lease_id IS NOT NULL)),
  ADD CONSTRAINT "deliveries_delivered" CHECK ((status = 'delivered') = (delivered_at IS NOT NULL));
ALTER TABLE "api_keys"
  ADD CONSTRAINT "api_keys_digest" CHECK (octet_length(digest) = 32);

-- A UUIDv7 for rows that a statement makes by itself. PostgreSQL has one of its own only from version 18.
CREATE FUNCTION "new_id"() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

-- Rows whose counters change all the time keep room for their next version on their page (HOT updates).
ALTER TABLE "discussions" SET (fillfactor = 60);
ALTER TABLE "comments" SET (fillfactor = 85);
