CREATE TABLE "oidc_secrets" (
    "tenant_id" UUID NOT NULL,
    "client_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "oidc_secrets_pkey" PRIMARY KEY ("tenant_id", "client_id")
);

ALTER TABLE "oidc_secrets" ADD CONSTRAINT "oidc_secrets_tenant_id_fkey"
    FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE;
