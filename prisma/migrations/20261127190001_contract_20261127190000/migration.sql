-- concurrently
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "members_tenant_id_oidc_issuer_oidc_subject_key" ON "members"("tenant_id", "oidc_issuer", "oidc_subject");
